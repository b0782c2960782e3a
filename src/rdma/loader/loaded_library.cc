// SPDX-License-Identifier: Apache-2.0
#include "rdma/loader/loaded_library.h"

#include <dlfcn.h>

namespace s3rdmafs::rdma::loader {
namespace {

std::string last_fault() {
  const char* text = ::dlerror();
  return text == nullptr ? "cause unknown" : text;
}

}  // namespace

LoadedLibrary::LoadedLibrary(const char* file, std::span<const char* const> functions,
                             const char* advice)
    : handle_(::dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) {
    fault_ = last_fault() + ": " + advice;
    return;
  }
  for (const char* name : functions) {
    if (::dlsym(handle_, name) != nullptr) continue;
    fault_ = std::string(file) + " is too old, it has no " + name + ": " + advice;
    return;
  }
}

void* LoadedLibrary::function(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace s3rdmafs::rdma::loader
