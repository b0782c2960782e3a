// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs {

/// The continuation of an asynchronous operation.
///
/// Called exactly once, either on the caller's own thread before the operation returns, or on a
/// thread of the layer below. It must not block, and no lock is held while it is called. It may
/// start further operations. Dropping it uncalled is a bug of the layer that holds it.
template <class T>
using Done = std::move_only_function<void(Result<T>)>;

}  // namespace s3rdmafs
