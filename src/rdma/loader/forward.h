// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <type_traits>

#include "rdma/loader/loaded_library.h"

namespace s3rdmafs::rdma::loader {

/// The library's function of this type and name; nullptr where the library cannot be used.
template <class Function>
Function* find(Function&, const LoadedLibrary& library, const char* name) {
  if (!library.fault().empty()) return nullptr;
  return reinterpret_cast<Function*>(library.function(name));
}

/// The result of a function that cannot be called: its error, nullptr or false; nothing from void.
template <class T>
T not_loaded() {
  errno = ELIBACC;
  if constexpr (std::is_same_v<T, int>) return ELIBACC;
  return T();
}

}  // namespace s3rdmafs::rdma::loader

// NOLINTBEGIN(bugprone-macro-parentheses): types and lists cannot stand in parentheses.
#define S3RDMAFS_FORWARD(library, result, name, parameters, arguments)                \
  result name parameters {                                                            \
    static auto* const function =                                                     \
        s3rdmafs::rdma::loader::find(name, s3rdmafs::rdma::loader::library(), #name); \
    if (function == nullptr) return s3rdmafs::rdma::loader::not_loaded<result>();     \
    return function arguments;                                                        \
  }
// NOLINTEND(bugprone-macro-parentheses)
