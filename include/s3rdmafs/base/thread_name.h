// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace s3rdmafs {

/// Names the calling thread for `top -H` and debuggers. Cut to the kernel's 15 characters.
void set_thread_name(std::string_view name) noexcept;

}  // namespace s3rdmafs
