// SPDX-License-Identifier: Apache-2.0
#include "manifest/writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "manifest/header.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::manifest {
namespace {

std::string partial_name(const std::string& path) { return path + ".partial"; }

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Result<void> write_all(int file, std::span<const std::byte> bytes, off_t offset) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("writing the manifest", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
  return {};
}

}  // namespace

Result<Writer> Writer::create(const std::string& path) {
  const std::string name = partial_name(path);
  UniqueFd file(::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) return fail_errno("creating " + name, errno);
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::kBusy, "another process is writing " + name);
  }
  // An earlier run may have left it, and one that ended just now has given it its name.
  struct stat ours{};
  struct stat named{};
  if (::fstat(file.get(), &ours) != 0 || ::stat(name.c_str(), &named) != 0 ||
      ours.st_ino != named.st_ino || ours.st_dev != named.st_dev) {
    return fail(ErrorCode::kBusy, "another process was writing " + name + "; try again");
  }
  if (::ftruncate(file.get(), 0) != 0) return fail_errno("emptying " + name, errno);
  return Writer(std::move(file), path);
}

Result<Writer> Writer::create_unnamed(const std::string& folder) {
  std::string name = folder + "/s3rdmafs-manifest-XXXXXX";
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return fail_errno("creating a file in " + folder, errno);
  ::unlink(name.c_str());
  return Writer(std::move(file), "");
}

Writer::~Writer() {
  if (file_ && !path_.empty()) ::unlink(partial_name(path_).c_str());
}

Result<void> Writer::write_block() {
  const std::span<const std::byte> block = block_->finish(++blocks_);
  checksum_ = crc64nvme(checksum_, block.first(sizeof(std::uint64_t)));
  return write_all(file_.get(), block, static_cast<off_t>(blocks_ * kBlockBytes));
}

Result<void> Writer::add(const Entry& entry) {
  if (auto ok = check_entry(entry); !ok) return ok;
  const std::string& key = entry.object.key;
  if (key <= last_key_) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("key '{}' does not sort after '{}'", key, last_key_));
  }
  if (!block_->add(entry)) {
    if (auto written = write_block(); !written) return written;
    static_cast<void>(block_->add(entry));  // an empty block has room for any entry
  }
  last_key_ = key;
  ++objects_;
  object_bytes_ += entry.object.size_bytes;
  return {};
}

Result<UniqueFd> Writer::finish(Origin origin, std::chrono::system_clock::time_point now) {
  if (!block_->is_empty()) {
    if (auto written = write_block(); !written) return std::unexpected(written.error());
  }
  BlockBytes header;
  auto encoded = encode_header({.origin = std::move(origin),
                                .objects = objects_,
                                .blocks = blocks_,
                                .object_bytes = object_bytes_,
                                .made_at = now,
                                .checksum = checksum_},
                               header);
  if (encoded) encoded = write_all(file_.get(), header, 0);
  if (encoded && !path_.empty()) encoded = give_name();
  if (!encoded) return std::unexpected(encoded.error());
  return std::move(file_);
}

// The bytes are durable before the name is, so that a crash leaves the old manifest or the new one.
Result<void> Writer::give_name() {
  if (::fsync(file_.get()) != 0) return fail_errno("fsync of " + partial_name(path_), errno);
  if (::rename(partial_name(path_).c_str(), path_.c_str()) != 0) {
    return fail_errno("renaming " + partial_name(path_) + " to " + path_, errno);
  }
  const std::string folder = folder_of(path_);
  const UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::fsync(opened.get()) != 0) return fail_errno("fsync of " + folder, errno);
  return {};
}

}  // namespace s3rdmafs::manifest
