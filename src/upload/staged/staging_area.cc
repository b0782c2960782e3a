// SPDX-License-Identifier: Apache-2.0
// A staging file is two files: N.data has its bytes, N.meta is its sidecar. The data comes first
// and goes last, so a sidecar always has its data; data without a sidecar are half of a file that
// was being made or removed.
#include "upload/staged/staging_area.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::upload {
namespace {

constexpr std::string_view kData = ".data";
constexpr std::string_view kMeta = ".meta";

std::optional<std::uint64_t> file_number(std::string_view name) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc{} ||
      !name.substr(static_cast<std::size_t>(end - name.data())).starts_with('.')) {
    return std::nullopt;
  }
  return number;
}

Result<struct stat> stat_of(int folder, const std::string& name) {
  struct stat status{};
  if (::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return fail_errno("stat " + name, errno);
  }
  return status;
}

std::chrono::system_clock::time_point time_of(const struct timespec& time) {
  return std::chrono::system_clock::time_point(std::chrono::seconds(time.tv_sec) +
                                               std::chrono::microseconds(time.tv_nsec / 1000));
}

}  // namespace

// No other file system takes the same lock for a write and for setting a time for certain.
bool is_bounded_tmpfs(int folder, std::uint64_t size_bytes) {
  struct statfs status{};
  if (::fstatfs(folder, &status) != 0 || status.f_type != TMPFS_MAGIC) return false;
  const std::uint64_t all_bytes =
      static_cast<std::uint64_t>(status.f_blocks) * static_cast<std::uint64_t>(status.f_bsize);
  return all_bytes > 0 && all_bytes <= size_bytes;  // 0: unbounded, by tmpfs(5)
}

std::uint64_t allocated_bytes(const struct stat& status) {
  constexpr std::uint64_t kStatBlock = 512;  // stat(2), st_blocks
  return static_cast<std::uint64_t>(status.st_blocks) * kStatBlock;
}

StagingArea::StagingArea(journal::StateFolder folder, const Options& options,
                         metrics::Registry& metrics)
    : folder_(std::move(folder)),
      size_bytes_(options.size_bytes),
      bounds_itself_(options.bounds_itself(folder_.fd(), options.size_bytes)),
      used_gauge_(metrics.gauge("staging_used_bytes",
                                "Local room that staged files take, leftovers included.")) {
  metrics.gauge("staging_size_bytes", "Local room that staged files may take.")
      .set(static_cast<std::int64_t>(options.size_bytes));
}

StagingArea::~StagingArea() = default;

Result<std::unique_ptr<StagingArea>> StagingArea::take(const Options& options, const Clock& clock,
                                                       metrics::Registry& metrics) {
  auto folder = journal::StateFolder::take(options.path, "write.staging_dir", clock);
  if (!folder) return std::unexpected(folder.error());
  const auto names = folder->names();
  if (!names) return std::unexpected(names.error());
  std::unique_ptr<StagingArea> made(new StagingArea(std::move(*folder), options, metrics));
  made->find_leftovers(*names);
  return made;
}

void StagingArea::find_leftovers(const std::vector<std::string>& names) {
  for (const std::string& file : names) {
    const auto number = file_number(file);
    if (!number) continue;
    {
      const MutexLock lock(mutex_);
      next_number_ = std::max(next_number_, *number + 1);
    }
    const std::string name = std::to_string(*number);
    const bool is_whole = std::ranges::count(names, name + std::string(kMeta)) > 0 &&
                          std::ranges::count(names, name + std::string(kData)) > 0;
    if (!is_whole || file.ends_with(".next")) {
      remove_file(file);
    } else if (file.ends_with(kMeta)) {
      find_leftover(name);
    }
  }
  std::ranges::sort(leftovers_, {}, &Leftover::modified);
}

void StagingArea::find_leftover(const std::string& name) {
  const auto meta = stat_of(folder_.fd(), name + std::string(kMeta));
  const auto status = stat_of(folder_.fd(), name + std::string(kData));
  if (meta && meta->st_size == 0 && status && status->st_size == 0) {  // it was being made
    remove_file(name + std::string(kMeta));
    remove_file(name + std::string(kData));
    return;
  }
  auto sidecar = Sidecar::load(folder_.fd(), name + std::string(kMeta));
  if (!sidecar || !status) {
    damaged_.push_back({.path = folder_.path() + "/" + name,
                        .why = sidecar ? status.error().detail : sidecar.error().detail});
    log::warn("staging: {}: {}; it is left as it is", damaged_.back().path, damaged_.back().why);
    return;
  }
  if (sidecar->second.is_whole) sidecar->second.take_from(*status);
  if (!sidecar->second.is_changed()) {
    remove_file(name + std::string(kMeta));
    remove_file(name + std::string(kData));
    return;
  }
  // A mark may have taken the place of the other time.
  const struct timespec& modified = sidecar->second.is_whole ? status->st_ctim : status->st_mtim;
  leftovers_.push_back({.name = name, .state = sidecar->second, .modified = time_of(modified)});
  const MutexLock lock(mutex_);
  used_bytes_ += allocated_bytes(*status);  // also where the mount file allows less now
  used_gauge_.set(static_cast<std::int64_t>(used_bytes_));
}

void StagingArea::remove_file(const std::string& name) const {
  if (::unlinkat(folder_.fd(), name.c_str(), 0) == 0 || errno == ENOENT) return;
  log::warn("staging: {}/{} cannot be removed: {}", folder_.path(), name, std::strerror(errno));
}

Result<std::unique_ptr<StagingFile>> StagingArea::make(StagedIdentity identity, bool is_whole) {
  std::string name;
  {
    const MutexLock lock(mutex_);
    name = std::to_string(next_number_++);
  }
  StagedState state;
  state.identity = std::move(identity);
  state.is_whole = is_whole;
  if (state.identity.base) state.size_bytes = state.identity.base->size_bytes;
  if (auto ok = charge(kSidecarBytes); !ok) return std::unexpected(ok.error());
  UniqueFd data(::openat(folder_.fd(), (name + std::string(kData)).c_str(),
                         O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  auto sidecar = data ? Sidecar::create(folder_.fd(), name + std::string(kMeta), state)
                      : fail_errno("make a staging file in " + folder_.path(), errno);
  if (!sidecar) {
    if (data) {
      remove_file(name + std::string(kMeta));
      remove_file(name + std::string(kData));
    }
    discharge(kSidecarBytes);
    return std::unexpected(sidecar.error());
  }
  return std::unique_ptr<StagingFile>(new StagingFile(*this, std::move(name), std::move(data),
                                                      std::move(*sidecar), std::move(state),
                                                      /*charged_bytes=*/0));
}

Result<std::unique_ptr<StagingFile>> StagingArea::open(const Leftover& leftover) {
  auto sidecar = Sidecar::load(folder_.fd(), leftover.name + std::string(kMeta));
  if (!sidecar) return std::unexpected(sidecar.error());
  UniqueFd data(::openat(folder_.fd(), (leftover.name + std::string(kData)).c_str(),
                         O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!data) return fail_errno("open " + leftover.name + std::string(kData), errno);
  // Of a write that was not acknowledged.
  const auto size = static_cast<off_t>(sidecar->second.size_bytes);
  struct stat status{};
  if (::fstat(data.get(), &status) != 0) return fail_errno("stat a staging file", errno);
  const bool has_more = !sidecar->second.is_whole && status.st_size > size;
  if (has_more && ::ftruncate(data.get(), size) != 0) {
    return fail_errno("truncate a staging file", errno);
  }
  return std::unique_ptr<StagingFile>(
      new StagingFile(*this, leftover.name, std::move(data), std::move(sidecar->first),
                      std::move(sidecar->second), allocated_bytes(status)));
}

Result<void> StagingArea::charge(std::uint64_t bytes) {
  if (bytes == 0) return {};
  const MutexLock lock(mutex_);
  if (used_bytes_ > size_bytes_ || bytes > size_bytes_ - used_bytes_) {
    return fail_with_advice(
        ErrorCode::kNoSpace,
        fmt::format("staged files in {} have all the room that they may take ({})", path(),
                    format_size(size_bytes_)),
        "raise write.staging_size, or look with `s3rdmafs recover` for files of earlier mounts");
  }
  used_bytes_ += bytes;
  used_gauge_.set(static_cast<std::int64_t>(used_bytes_));
  return {};
}

void StagingArea::discharge(std::uint64_t bytes) {
  const MutexLock lock(mutex_);
  used_bytes_ -= std::min(used_bytes_, bytes);
  used_gauge_.set(static_cast<std::int64_t>(used_bytes_));
}

void StagingArea::recharge(std::uint64_t before_bytes, std::uint64_t now_bytes) {
  if (before_bytes == now_bytes) return;
  const MutexLock lock(mutex_);
  used_bytes_ -= std::min(used_bytes_, before_bytes);
  used_bytes_ += now_bytes;
  used_gauge_.set(static_cast<std::int64_t>(used_bytes_));
}

std::uint64_t StagingArea::used_bytes() const {
  const MutexLock lock(mutex_);
  return used_bytes_;
}

}  // namespace s3rdmafs::upload
