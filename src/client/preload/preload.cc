// SPDX-License-Identifier: Apache-2.0
// Names of libc that a program calls to read files, in front of libc's own (LD_PRELOAD). A file of
// a mount is read past FUSE; every other case goes to the function that would have been called.
//
// The offset of a file stays the kernel's. A read moves it by its length first: the position that
// the kernel then tells is the end of the range, which this reader has for itself. So descriptors
// that dup(2), fork(2) and exec(2) have shared, and programs that do not have this library, all see
// one offset. At the end of the file, or after an error, the reader moves it back by what it did
// not read.
//
// Cost of a hit: an lseek(2) and a fcntl(2) (a statx(2) before Linux 6.10), neither of which asks
// the mount; pread(2) the second alone.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>

#include "client/preload/descriptor_table.h"
#include "client/preload/report.h"
#include "client/system_calls.h"

namespace {

using s3rdmafs::client::AttachedFile;
using s3rdmafs::client::DescriptorTable;
using s3rdmafs::client::note_read;

// The kernel reads no more at once (read(2)).
constexpr std::size_t kReadBytesMax = 0x7ffff000;

/// A function of the library that would have been called without this one.
template <class Function>
class Next {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  Function* get() {
    void* found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) found_.store(found = ::dlsym(RTLD_NEXT, name_));
    return reinterpret_cast<Function*>(found);
  }

 private:
  const char* const name_;
  std::atomic<void*> found_{nullptr};
};

DescriptorTable::Use use_of(int fd) try {
  const int kept = errno;
  DescriptorTable::Use use = DescriptorTable::instance().use(fd);
  errno = kept;
  return use;
} catch (const std::exception&) {  // no memory: the mount serves
  return {};
}

ssize_t read_at(AttachedFile& file, void* buffer, std::size_t length, off_t offset) {
  const int kept = errno;
  const AttachedFile::Answer answer = file.pread(buffer, length, offset);
  if (answer.result >= 0) errno = kept;
  note_read(static_cast<std::size_t>(std::max<ssize_t>(answer.result, 0)), answer.is_past_fuse);
  return answer.result;
}

/// -1: nothing was sent, and the kernel is to be asked.
ssize_t send_at(AttachedFile& file, int to, std::size_t length, off_t offset) {
  const int kept = errno;
  const AttachedFile::Answer answer = file.send(to, length, offset);
  errno = kept;
  if (answer.result > 0) note_read(static_cast<std::size_t>(answer.result), true);
  return answer.result > 0 || answer.is_past_fuse ? answer.result : -1;
}

// The kernel refuses sendfile(2) to one that appends.
bool appends(int fd) {
  const int flags = s3rdmafs::client::sys::fcntl(fd, F_GETFL, 0);
  return flags < 0 || (flags & O_APPEND) != 0;
}

// Others get the kernel's error, as reads past the last offset that there is.
bool is_offset(off_t offset) {
  return offset >= 0 && offset <= INT64_MAX - static_cast<off_t>(kReadBytesMax);
}

off_t move_offset(int fd, off_t by) {
  return static_cast<off_t>(::syscall(SYS_lseek, fd, by, SEEK_CUR));
}

/// Reads at the file's offset by `read_range(begin, length)`. False, and the offset is as it was:
/// the kernel is to be asked, also where a read failed, for its own error.
template <class ReadRange>
bool read_at_offset(int fd, AttachedFile& file, std::size_t length, ssize_t& result,
                    ReadRange read_range) {
  const int kept = errno;
  const off_t end = move_offset(fd, static_cast<off_t>(length));
  if (end < 0) {
    errno = kept;
    return false;
  }
  const off_t begin = end - static_cast<off_t>(length);
  const auto size = static_cast<off_t>(file.size_bytes());
  const off_t wanted = std::clamp<off_t>(size - begin, 0, static_cast<off_t>(length));
  result = wanted == 0 ? 0 : read_range(begin, static_cast<std::size_t>(wanted));
  const off_t unread = static_cast<off_t>(length) - std::max<off_t>(result, 0);
  if (unread > 0) move_offset(fd, -unread);
  errno = kept;
  return result >= 0;
}

std::size_t length_of(const iovec* pieces, int count) {
  std::size_t length = 0;
  for (int i = 0; i < count; ++i) {
    if (pieces[i].iov_len > kReadBytesMax - length) return kReadBytesMax + 1;
    length += pieces[i].iov_len;
  }
  return length;
}

ssize_t read_pieces(AttachedFile& file, const iovec* pieces, int count, off_t offset,
                    std::size_t length) {
  ssize_t done = 0;
  for (int i = 0; i < count && length > 0; ++i) {
    const std::size_t wanted = std::min(pieces[i].iov_len, length);
    const ssize_t n = read_at(file, pieces[i].iov_base, wanted, offset + done);
    if (n < 0) return done > 0 ? done : n;
    done += n;
    length -= wanted;
    if (static_cast<std::size_t>(n) < wanted) break;
  }
  return done;
}

int noted(int fd, int flags) {
  const bool may_be_served = fd >= 0 && (flags & O_ACCMODE) == O_RDONLY && (flags & O_PATH) == 0;
  const int kept = errno;
  if (may_be_served) {
    DescriptorTable::instance().opened(fd);
  } else if (fd >= 0) {
    DescriptorTable::instance().closed(fd);
  }
  errno = kept;
  return fd;
}

void forget(int fd) {
  const int kept = errno;
  DescriptorTable::instance().closed(fd);
  errno = kept;
}

mode_t mode_of(int flags, va_list arguments) {
  const bool has_mode = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return has_mode ? va_arg(arguments, mode_t) : 0;
}

// Before a child of vfork(2) can be the first that asks for it, in its parent's memory.
__attribute__((constructor)) void begin() { static_cast<void>(DescriptorTable::instance()); }

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): names of libc
#define EXPORTED extern "C" __attribute__((visibility("default")))

#define DEFINE_OPEN(name)                                \
  EXPORTED int name(const char* path, int flags, ...) {  \
    static Next<int(const char*, int, ...)> next(#name); \
    va_list arguments;                                   \
    va_start(arguments, flags);                          \
    const mode_t mode = mode_of(flags, arguments);       \
    va_end(arguments);                                   \
    return noted(next.get()(path, flags, mode), flags);  \
  }
DEFINE_OPEN(open)
DEFINE_OPEN(open64)

#define DEFINE_OPENAT(name)                                         \
  EXPORTED int name(int folder, const char* path, int flags, ...) { \
    static Next<int(int, const char*, int, ...)> next(#name);       \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    const mode_t mode = mode_of(flags, arguments);                  \
    va_end(arguments);                                              \
    return noted(next.get()(folder, path, flags, mode), flags);     \
  }
DEFINE_OPENAT(openat)
DEFINE_OPENAT(openat64)

// The names of programs built with _FORTIFY_SOURCE.
#define DEFINE_OPEN_2(name)                         \
  EXPORTED int name(const char* path, int flags) {  \
    static Next<int(const char*, int)> next(#name); \
    return noted(next.get()(path, flags), flags);   \
  }
DEFINE_OPEN_2(__open_2)
DEFINE_OPEN_2(__open64_2)

#define DEFINE_OPENAT_2(name)                                  \
  EXPORTED int name(int folder, const char* path, int flags) { \
    static Next<int(int, const char*, int)> next(#name);       \
    return noted(next.get()(folder, path, flags), flags);      \
  }
DEFINE_OPENAT_2(__openat_2)
DEFINE_OPENAT_2(__openat64_2)

EXPORTED ssize_t read(int fd, void* buffer, std::size_t length) {
  static Next<ssize_t(int, void*, std::size_t)> next("read");
  if (const auto use = use_of(fd); use && length > 0) {
    ssize_t result = 0;
    const bool is_read = read_at_offset(
        fd, use.file(), std::min(length, kReadBytesMax), result,
        [&](off_t begin, std::size_t n) { return read_at(use.file(), buffer, n, begin); });
    if (is_read) return result;
  }
  return next.get()(fd, buffer, length);
}

EXPORTED ssize_t __read_chk(int fd, void* buffer, std::size_t length, std::size_t room) {
  static Next<ssize_t(int, void*, std::size_t, std::size_t)> next("__read_chk");
  if (length > room) return next.get()(fd, buffer, length, room);  // which ends the program
  return read(fd, buffer, length);
}

#define DEFINE_PREAD(name)                                                        \
  EXPORTED ssize_t name(int fd, void* buffer, std::size_t length, off_t offset) { \
    static Next<ssize_t(int, void*, std::size_t, off_t)> next(#name);             \
    if (const auto use = use_of(fd); use && is_offset(offset)) {                  \
      const std::size_t wanted = std::min(length, kReadBytesMax);                 \
      const ssize_t n = read_at(use.file(), buffer, wanted, offset);              \
      if (n >= 0) return n;                                                       \
    }                                                                             \
    return next.get()(fd, buffer, length, offset);                                \
  }
DEFINE_PREAD(pread)
DEFINE_PREAD(pread64)

#define DEFINE_PREAD_CHK(name, plain)                                              \
  EXPORTED ssize_t name(int fd, void* buffer, std::size_t length, off_t offset,    \
                        std::size_t room) {                                        \
    static Next<ssize_t(int, void*, std::size_t, off_t, std::size_t)> next(#name); \
    if (length > room) return next.get()(fd, buffer, length, offset, room);        \
    return plain(fd, buffer, length, offset);                                      \
  }
DEFINE_PREAD_CHK(__pread_chk, pread)
DEFINE_PREAD_CHK(__pread64_chk, pread64)

EXPORTED ssize_t readv(int fd, const iovec* pieces, int count) {
  static Next<ssize_t(int, const iovec*, int)> next("readv");
  const bool is_sound = pieces != nullptr && count > 0 && count <= IOV_MAX;
  if (const auto use = is_sound ? use_of(fd) : DescriptorTable::Use()) {
    const std::size_t length = length_of(pieces, count);
    ssize_t result = 0;
    if (length > 0 && length <= kReadBytesMax &&
        read_at_offset(fd, use.file(), length, result, [&](off_t begin, std::size_t n) {
          return read_pieces(use.file(), pieces, count, begin, n);
        })) {
      return result;
    }
  }
  return next.get()(fd, pieces, count);
}

#define DEFINE_PREADV(name)                                                                     \
  EXPORTED ssize_t name(int fd, const iovec* pieces, int count, off_t offset) {                 \
    static Next<ssize_t(int, const iovec*, int, off_t)> next(#name);                            \
    const bool is_sound = pieces != nullptr && count > 0 && count <= IOV_MAX;                   \
    if (const auto use = is_sound && is_offset(offset) ? use_of(fd) : DescriptorTable::Use()) { \
      const std::size_t length = length_of(pieces, count);                                      \
      if (length <= kReadBytesMax) {                                                            \
        const ssize_t n = read_pieces(use.file(), pieces, count, offset, length);               \
        if (n >= 0) return n;                                                                   \
      }                                                                                         \
    }                                                                                           \
    return next.get()(fd, pieces, count, offset);                                               \
  }
DEFINE_PREADV(preadv)
DEFINE_PREADV(preadv64)

#define DEFINE_SENDFILE(name)                                                                  \
  EXPORTED ssize_t name(int to, int from, off_t* offset, std::size_t length) {                 \
    static Next<ssize_t(int, int, off_t*, std::size_t)> next(#name);                           \
    if (const auto use = length > 0 && !appends(to) ? use_of(from) : DescriptorTable::Use()) { \
      const std::size_t wanted = std::min(length, kReadBytesMax);                              \
      ssize_t sent = -1;                                                                       \
      if (offset == nullptr) {                                                                 \
        read_at_offset(from, use.file(), wanted, sent, [&](off_t begin, std::size_t n) {       \
          return send_at(use.file(), to, n, begin);                                            \
        });                                                                                    \
      } else if (is_offset(*offset)) {                                                         \
        sent = send_at(use.file(), to, wanted, *offset);                                       \
        *offset += std::max<ssize_t>(sent, 0);                                                 \
      }                                                                                        \
      if (sent >= 0) return sent;                                                              \
    }                                                                                          \
    return next.get()(to, from, offset, length);                                               \
  }
DEFINE_SENDFILE(sendfile)
DEFINE_SENDFILE(sendfile64)

#define DEFINE_FADVISE(name)                                                                    \
  EXPORTED int name(int fd, off_t offset, off_t length, int advice) {                           \
    static Next<int(int, off_t, off_t, int)> next(#name);                                       \
    if (advice == POSIX_FADV_WILLNEED && offset >= 0 && length >= 0) {                          \
      if (const auto use = use_of(fd)) {                                                        \
        const auto begin = static_cast<std::uint64_t>(offset);                                  \
        use.file().prefetch(                                                                    \
            begin, length == 0 ? use.file().size_bytes() : static_cast<std::uint64_t>(length)); \
        return 0;                                                                               \
      }                                                                                         \
    }                                                                                           \
    return next.get()(fd, offset, length, advice);                                              \
  }
DEFINE_FADVISE(posix_fadvise)
DEFINE_FADVISE(posix_fadvise64)

// Python asks at each open(), and the kernel would ask the mount (FUSE_IOCTL).
EXPORTED int isatty(int fd) noexcept {
  static Next<int(int)> next("isatty");
  const int kept = errno;
  struct statx found{};
  const int flags = s3rdmafs::client::sys::fcntl(fd, F_GETFL, 0);
  if (flags >= 0 && (flags & O_PATH) == 0 && s3rdmafs::client::sys::stat_of(fd, found) == 0 &&
      S_ISREG(found.stx_mode)) {
    errno = ENOTTY;
    return 0;
  }
  errno = kept;
  return next.get()(fd);
}

// Children of fork(2) end so, as the workers of PyTorch.
#define DEFINE_EXIT(name)                                                       \
  EXPORTED void name(int status) {                                              \
    static Next<void(int)> next(#name);                                         \
    if (DescriptorTable::instance().is_own_process()) s3rdmafs::client::tell(); \
    next.get()(status);                                                         \
    __builtin_unreachable();                                                    \
  }
DEFINE_EXIT(_exit)
DEFINE_EXIT(_Exit)

// Closes, and all that puts another file in a descriptor's place.

EXPORTED int close(int fd) {
  static Next<int(int)> next("close");
  forget(fd);
  return next.get()(fd);
}

EXPORTED int dup2(int from, int to) {
  static Next<int(int, int)> next("dup2");
  if (from != to) forget(to);
  return next.get()(from, to);  // the first read of it looks again
}

EXPORTED int dup3(int from, int to, int flags) {
  static Next<int(int, int, int)> next("dup3");
  forget(to);
  return next.get()(from, to, flags);
}

EXPORTED int close_range(unsigned first, unsigned last, int flags) {
  static Next<int(unsigned, unsigned, int)> next("close_range");
  DescriptorTable::instance().closed_range(first, last);
  return next.get()(first, last, flags);
}

EXPORTED void closefrom(int first) {
  static Next<void(int)> next("closefrom");
  if (first >= 0) DescriptorTable::instance().closed_range(static_cast<unsigned>(first), UINT_MAX);
  next.get()(first);
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
