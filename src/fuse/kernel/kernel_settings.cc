// SPDX-License-Identifier: Apache-2.0
#include "fuse/kernel/kernel_settings.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fuse {

namespace {

std::optional<unsigned> number_in(const char* path) {
  std::ifstream file(path);
  unsigned number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

}  // namespace

unsigned request_bytes_granted(std::optional<unsigned> pages_limit, unsigned page_bytes) {
  constexpr unsigned kPagesOfOldKernels = 256;
  const std::uint64_t bytes = std::uint64_t{pages_limit.value_or(kPagesOfOldKernels)} * page_bytes;
  return static_cast<unsigned>(std::min<std::uint64_t>(bytes, kRequestBytesMax));
}

unsigned request_bytes_granted() {
  return request_bytes_granted(number_in("/proc/sys/fs/fuse/max_pages_limit"),
                               static_cast<unsigned>(::sysconf(_SC_PAGESIZE)));
}

unsigned background_granted(unsigned asked, bool privileged, std::optional<unsigned> user_limit) {
  return privileged || !user_limit ? asked : std::min(asked, *user_limit);
}

unsigned background_granted(unsigned asked) {
  return background_granted(asked, is_privileged(),
                            number_in("/sys/module/fuse/parameters/max_user_bgreq"));
}

bool is_privileged() {
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data.at(CAP_TO_INDEX(CAP_SYS_ADMIN)).effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

// The kernel's own read-ahead decides how large its buffered reads are (128 KiB unless raised):
// with 2 MiB its requests are of 1 MiB. Only root may raise it, and only after the mount.
void raise_kernel_read_ahead(const std::string& mount_point) {
  constexpr std::string_view kReadAheadKib = "2048";
  struct stat status{};
  if (::stat(mount_point.c_str(), &status) != 0) return;
  const std::string path = fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", ::major(status.st_dev),
                                       ::minor(status.st_dev));
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const bool written = file && ::write(file.get(), kReadAheadKib.data(), kReadAheadKib.size()) > 0;
  if (!written) log::info("fuse: {} not raised: {}", path, std::strerror(errno));
}

}  // namespace s3rdmafs::fuse
