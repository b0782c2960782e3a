// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

namespace s3rdmafs::rdma::loader {

/// A shared library that the process opened when it first needed it (dlopen(3)). It stays open:
/// device contexts hold pointers into it to the very end. Safe from any thread.
class LoadedLibrary {
 public:
  /// Opens it.
  /// @param file       its name, as the dynamic linker looks for it: "libibverbs.so.1"
  /// @param functions  all that will be asked of it; a library that lacks one counts as unusable
  /// @param advice     what makes it usable, for the error
  LoadedLibrary(const char* file, std::span<const char* const> functions, const char* advice);

  /// Empty: it can be used. Otherwise the cause and the advice.
  const std::string& fault() const { return fault_; }
  /// A function of the constructor's list. Precondition: fault() is empty.
  void* function(const char* name) const;

 private:
  void* handle_ = nullptr;
  std::string fault_;
};

/// libibverbs: opened by the first call, the same for every other.
const LoadedLibrary& verbs_library();
/// libmlx5, likewise.
const LoadedLibrary& mlx5_library();

}  // namespace s3rdmafs::rdma::loader
