// SPDX-License-Identifier: Apache-2.0
// read(2), writev(2) and ioctl(2) for FakeKernel's devices, in place of the C library's: libfuse,
// as it is built for production, knows no other way to a kernel (its custom I/O is switched off
// there, since a peer that is not a kernel could forge requests). All other descriptors go to the
// real kernel.
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>

#include "fakes/fuse/fake_kernel.h"

namespace {

using s3rdmafs::fakes::FakeKernel;

template <class T>
T with_errno(T result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// A thread that libfuse cancels must not unwind through locks: it ends when the mount does.
class NoCancellation {
 public:
  NoCancellation() { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

}  // namespace

extern "C" {

ssize_t read(int fd, void* buffer, size_t size) {
  FakeKernel* const kernel = FakeKernel::find(fd);
  if (kernel == nullptr) return ::syscall(SYS_read, fd, buffer, size);
  const NoCancellation uncancelled;
  return with_errno(kernel->device_read(fd, {static_cast<char*>(buffer), size}));
}

ssize_t writev(int fd, const struct iovec* parts, int count) {
  FakeKernel* const kernel = FakeKernel::find(fd);
  if (kernel == nullptr) return ::syscall(SYS_writev, fd, parts, count);
  const NoCancellation uncancelled;
  return with_errno(kernel->device_write(fd, {parts, static_cast<std::size_t>(count)}));
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  // Another thread's own way to the device: a copy of it in the place of the one just opened.
  if (request == FUSE_DEV_IOC_CLONE) {
    const int master = static_cast<int>(*static_cast<const std::uint32_t*>(argument));
    if (FakeKernel::find(master) != nullptr) return ::dup3(master, fd, O_CLOEXEC) < 0 ? -1 : 0;
  }
  FakeKernel* const kernel = FakeKernel::find(fd);
  if (kernel == nullptr) return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
  return with_errno(kernel->device_ioctl(request, argument));
}

}  // extern "C"
