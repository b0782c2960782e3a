// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::memory {

/// A private, detached tmpfs whose files have 2 MiB pages. It lives as long as one of its files.
class HugeTmpfs {
 public:
  /// Holds at most `size_bytes`. Needs CAP_SYS_ADMIN. Errors: kSystem.
  [[nodiscard]] static Result<HugeTmpfs> mount(std::uint64_t size_bytes);
  /// An empty file without a name. Errors: kSystem.
  [[nodiscard]] Result<UniqueFd> make_file() const;

 private:
  explicit HugeTmpfs(UniqueFd root) : root_(std::move(root)) {}
  UniqueFd root_;
};

/// A file that lives in memory alone and has no name.
struct MemoryFile {
  UniqueFd fd;
  bool huge_pages = false;  ///< from a private tmpfs with huge=always
  std::string note;         ///< the reason where it has none
};

/// A file of `size_bytes` on a detached tmpfs of its own with 2 MiB pages, which needs
/// CAP_SYS_ADMIN; without that right a memfd, whose page size the kernel chooses. It has no pages
/// yet.
///
/// Huge pages make direct reads about 1.5 times as fast and filling the memory 14 times as cheap.
/// Errors: kSystem.
[[nodiscard]] Result<MemoryFile> make_memory_file(std::uint64_t size_bytes);

}  // namespace s3rdmafs::memory
