// SPDX-License-Identifier: Apache-2.0
// Nothing is ever synced. A process that is killed loses nothing, since the kernel has the bytes
// that were written. When the machine loses power a record may be there without its bytes: the
// checksums find that.
#include "disk/segment_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::disk {
namespace {

constexpr std::string_view kPrefix = "segment-";
constexpr std::string_view kData = ".data";
constexpr std::string_view kIndex = ".index";

// fail_errno, with the two cases told apart that the caller can do something about.
std::unexpected<Error> fail_file(std::string_view what, int saved_errno) {
  auto failure = fail_errno(what, saved_errno);
  if (saved_errno == ENOSPC || saved_errno == EDQUOT) failure.error().code = ErrorCode::kNoMemory;
  if (saved_errno == ENOENT) failure.error().code = ErrorCode::kNotFound;
  return failure;
}

std::string file_name(std::uint32_t number, std::string_view suffix) {
  return fmt::format("{}{}{}", kPrefix, number, suffix);
}

struct OpenedData {
  UniqueFd fd;
  bool is_direct = true;
};

// Past the page cache, which would hold the bytes a second time beside our own memory. tmpfs and
// some network file systems know no such thing.
Result<OpenedData> open_data(int folder, const std::string& name, int flags) {
  OpenedData opened;
  const int all_flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags;
  opened.fd.reset(::openat(folder, name.c_str(), all_flags | O_DIRECT, 0600));
  if (!opened.fd && errno == EINVAL) {
    opened.is_direct = false;
    // Some have made it before they say no.
    opened.fd.reset(::openat(folder, name.c_str(), all_flags & ~O_EXCL, 0600));
  }
  if (!opened.fd) return fail_file("open " + name, errno);
  return opened;
}

Result<void> write_all(int fd, std::uint64_t position, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(position));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return fail_file("write to the disk cache", written < 0 ? errno : EIO);
    position += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Result<void> read_all(int fd, std::uint64_t position, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::pread(fd, into.data(), into.size(), static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read from the disk cache", errno);
    if (got == 0) return fail(ErrorCode::kCorrupt, "a file of the disk cache ends too early");
    position += static_cast<std::uint64_t>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

// So that a full disk is met here and not in the middle of a write. Where the file system cannot
// promise room the file has its length all the same.
Result<void> take_room(int fd, std::uint64_t size_bytes) {
  if (::fallocate(fd, 0, 0, static_cast<off_t>(size_bytes)) == 0) return {};
  if (errno != EOPNOTSUPP) return fail_file("take room for the disk cache", errno);
  if (::ftruncate(fd, static_cast<off_t>(size_bytes)) == 0) return {};
  return fail_file("take room for the disk cache", errno);
}

}  // namespace

Result<std::unique_ptr<SegmentFile>> SegmentFile::create(int folder, std::uint32_t number,
                                                         std::uint64_t size_bytes) {
  auto data = open_data(folder, file_name(number, kData), O_CREAT | O_EXCL);
  if (!data) return std::unexpected(data.error());
  const std::string index_name = file_name(number, kIndex);
  UniqueFd index(::openat(folder, index_name.c_str(),
                          O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  Result<void> made{};
  if (!index) {
    made = fail_file("make " + index_name, errno);
  } else {
    made = take_room(data->fd.get(), size_bytes);
  }
  if (!made) {
    remove(folder, number);
    return std::unexpected(made.error());
  }
  return std::unique_ptr<SegmentFile>(
      new SegmentFile(std::move(data->fd), std::move(index), size_bytes, data->is_direct));
}

Result<std::unique_ptr<SegmentFile>> SegmentFile::open(int folder, std::uint32_t number) {
  auto data = open_data(folder, file_name(number, kData), 0);
  if (!data) return std::unexpected(data.error());
  const std::string index_name = file_name(number, kIndex);
  UniqueFd index(::openat(folder, index_name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!index) return fail_file("open " + index_name, errno);
  struct stat data_status{};
  struct stat index_status{};
  if (::fstat(data->fd.get(), &data_status) != 0 || ::fstat(index.get(), &index_status) != 0) {
    return fail_errno("stat " + index_name, errno);
  }
  const auto size_bytes = static_cast<std::uint64_t>(data_status.st_size);
  if (!S_ISREG(data_status.st_mode) || !S_ISREG(index_status.st_mode) ||
      static_cast<std::uint64_t>(index_status.st_size) > index_bytes_max(size_bytes)) {
    return fail(ErrorCode::kCorrupt, index_name + " is not an index of ours");
  }
  return std::unique_ptr<SegmentFile>(
      new SegmentFile(std::move(data->fd), std::move(index), size_bytes, data->is_direct));
}

void SegmentFile::remove(int folder, std::uint32_t number) noexcept {
  ::unlinkat(folder, file_name(number, kIndex).c_str(), 0);
  ::unlinkat(folder, file_name(number, kData).c_str(), 0);
}

std::optional<std::uint32_t> SegmentFile::number_in(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  if (error != std::errc{} || (name != kData && name != kIndex)) return std::nullopt;
  return number;
}

Result<std::vector<IndexRecord>> SegmentFile::read_index() const {
  struct stat status{};
  if (::fstat(index_.get(), &status) != 0) return fail_errno("stat a disk cache's index", errno);
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (auto ok = read_all(index_.get(), 0, bytes); !ok) return std::unexpected(ok.error());
  std::vector<IndexRecord> records;
  std::uint64_t end = 0;
  for (std::span<const std::byte> rest = bytes; auto record = decode_next(rest);) {
    // They are appended in order: bytes before the last one's end would be two chunks' at once.
    if (record->position_bytes != end) break;
    end += round_up(record->range.length(), kDiskBlockBytes);
    if (end > size_bytes_) break;
    records.push_back(std::move(*record));
  }
  return records;
}

Result<void> SegmentFile::read(std::uint64_t position_bytes, std::span<std::byte> into) const {
  return read_all(data_.get(), position_bytes, into);
}

Result<void> SegmentFile::write(std::uint64_t position_bytes, std::span<const std::byte> bytes) {
  return write_all(data_.get(), position_bytes, bytes);
}

Result<void> SegmentFile::write_index(std::uint64_t position_bytes,
                                      std::span<const std::byte> bytes) {
  return write_all(index_.get(), position_bytes, bytes);
}

Result<void> SegmentFile::cut_index(std::uint64_t size_bytes) {
  if (::ftruncate(index_.get(), static_cast<off_t>(size_bytes)) == 0) return {};
  return fail_errno("cut a disk cache's index", errno);
}

}  // namespace s3rdmafs::disk
