// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/watch_activity.h"

#include <algorithm>
#include <unordered_map>

#include "fuse/process.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon {
namespace {

std::string_view name_of(fuse::Activity::Way way) {
  switch (way) {
    case fuse::Activity::Way::kCached:
      return "cached";
    case fuse::Activity::Way::kDirect:
      return "direct";
    case fuse::Activity::Way::kByKernel:
      return "kernel";
    case fuse::Activity::Way::kPastFuse:
      return "memory";
  }
  return "";
}

std::uint64_t all_bytes(const fuse::Activity::File& file) {
  return file.bytes.read + file.bytes.written;
}

}  // namespace

ActivityReport watch_activity(const fuse::MountContext& mount) {
  fuse::Activity::Snapshot now = mount.activity.snapshot();
  ActivityReport report;
  std::unordered_map<pid_t, pid_t> process_of;
  std::unordered_map<pid_t, ActivityReport::Process> processes;
  for (const auto& thread : now.threads) {
    const pid_t id =
        thread.thread == 0 ? 0 : static_cast<pid_t>(fuse::process_of_thread(thread.thread));
    process_of[thread.thread] = id;
    auto& process = processes[id];
    process.id = id;
    process.opens += thread.opens;
    process.read_bytes += thread.bytes.read;
    process.written_bytes += thread.bytes.written;
  }
  for (auto& [id, process] : processes) {
    if (id != 0) process.name = fuse::name_of_process(static_cast<vfs::ProcessId>(id));
    report.processes.push_back(std::move(process));
  }
  std::ranges::sort(now.files, std::ranges::greater(), all_bytes);
  if (now.files.size() > ActivityReport::kFilesMax) {
    report.files_left_out = now.files.size() - ActivityReport::kFilesMax;
    now.files.resize(ActivityReport::kFilesMax);
  }
  for (const auto& file : now.files) {
    const auto process = process_of.find(file.thread);
    report.files.push_back({.handle = file.handle,
                            .path = printable(mount.file_system_of(file.ino).path_of(file.ino)),
                            .process = process == process_of.end() ? file.thread : process->second,
                            .way = std::string(name_of(file.way)),
                            .read_bytes = file.bytes.read,
                            .written_bytes = file.bytes.written});
  }
  return report;
}

}  // namespace s3rdmafs::daemon
