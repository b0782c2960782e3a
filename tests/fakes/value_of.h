// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <utility>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::fakes {

/// The value, where a test cannot go on without it. Otherwise the test fails with the error's text,
/// which Result's own value() does not tell.
template <typename T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().detail);
  return std::move(*result);
}

}  // namespace s3rdmafs::fakes
