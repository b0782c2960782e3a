// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace s3rdmafs::daemon {

/// The reason that an exception gives for the end of a process, for a person: "memory ran out" for
/// std::bad_alloc. @param problem  null: reported as an internal error
[[nodiscard]] std::string reason_of(const std::exception_ptr& problem);

/// Installs a terminate handler: an uncaught exception on any thread is logged, and written to `fd`
/// unless that is negative, before it ends the process. The newest call's descriptor counts;
/// borrowed.
void leave_last_words(int fd) noexcept;

}  // namespace s3rdmafs::daemon
