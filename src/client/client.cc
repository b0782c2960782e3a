// SPDX-License-Identifier: Apache-2.0
// The C interface. No exception leaves it: memory that lacks is ENOMEM.
#include "s3rdmafs/client.h"

#include <cerrno>
#include <memory>
#include <new>
#include <tuple>

#include "client/attached_file.h"
#include "client/mapping.h"

using s3rdmafs::client::AttachedFile;
using s3rdmafs::client::Mapping;

struct s3rdmafs_file {
  std::shared_ptr<AttachedFile> attached;
};

namespace {

namespace sys = s3rdmafs::client::sys;

s3rdmafs_source source_of(bool is_past_fuse) {
  return is_past_fuse ? S3RDMAFS_FROM_MEMORY : S3RDMAFS_FROM_MOUNT;
}

}  // namespace

extern "C" {

int s3rdmafs_attach(int fd, s3rdmafs_file** file) try {
  auto attached = AttachedFile::attach(fd);
  if (!attached) return -errno;
  *file = new s3rdmafs_file{std::move(attached)};
  return 0;
} catch (const std::exception&) {
  return -ENOMEM;
}

int s3rdmafs_open(const char* path, s3rdmafs_file** file) {
  const sys::Descriptor opened(sys::open(path, O_RDONLY | O_CLOEXEC));
  if (!opened) return -errno;
  return s3rdmafs_attach(opened.get(), file);
}

void s3rdmafs_close(s3rdmafs_file* file) { delete file; }

uint64_t s3rdmafs_size(const s3rdmafs_file* file) { return file->attached->size_bytes(); }

int s3rdmafs_fd(const s3rdmafs_file* file) { return file->attached->fd(); }

const char* s3rdmafs_reason(const s3rdmafs_file* file) { return file->attached->reason(); }

ssize_t s3rdmafs_pread(s3rdmafs_file* file, void* buffer, size_t length, off_t offset,
                       s3rdmafs_source* source) try {
  const AttachedFile::Answer answer = file->attached->pread(buffer, length, offset);
  if (source != nullptr) *source = source_of(answer.is_past_fuse);
  return answer.result < 0 ? -errno : answer.result;
} catch (const std::exception&) {
  return -ENOMEM;
}

int s3rdmafs_pread_many(s3rdmafs_file* file, s3rdmafs_range* ranges, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    s3rdmafs_prefetch(file, ranges[i].offset, ranges[i].length);
  }
  int first_error = 0;
  for (size_t i = 0; i < count; ++i) {
    s3rdmafs_range& range = ranges[i];
    range.result = s3rdmafs_pread(file, range.buffer, range.length, range.offset, &range.source);
    if (range.result < 0 && first_error == 0) first_error = static_cast<int>(range.result);
  }
  return first_error;
}

int s3rdmafs_map(s3rdmafs_file* file, off_t offset, size_t length, s3rdmafs_mapping* mapping) try {
  const uint64_t size = file->attached->size_bytes();
  if (offset < 0 || static_cast<uint64_t>(offset) >= size || length == 0) return -EINVAL;
  const uint64_t begin = static_cast<uint64_t>(offset);
  const uint64_t mapped = std::min<uint64_t>(length, size - begin);
  auto made = Mapping::map(file->attached, begin, mapped);
  if (!made) return -errno;
  *mapping = {.bytes = made->bytes(),
              .length = mapped,
              .source = source_of(made->is_past_fuse()),
              .owner = made.get()};
  std::ignore = made.release();
  return 0;
} catch (const std::exception&) {
  return -ENOMEM;
}

void s3rdmafs_unmap(s3rdmafs_mapping* mapping) {
  delete static_cast<Mapping*>(mapping->owner);
  *mapping = {};
}

void s3rdmafs_prefetch(s3rdmafs_file* file, off_t offset, size_t length) {
  if (offset >= 0 && length > 0) {
    file->attached->prefetch(static_cast<uint64_t>(offset), length);
  }
}

}  // extern "C"
