// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

namespace s3rdmafs::daemon {

/// Why a process ends that an exception ends, for a person: "memory ran out" for std::bad_alloc.
/// @param problem  null: the reason is not known
[[nodiscard]] std::string reason_of(const std::exception_ptr& problem);

/// From now on an exception that no thread catches is logged, and written to `fd` besides if that
/// is not negative, before it ends the process. Of the newest call the descriptor counts; it stays
/// the caller's.
void leave_last_words(int fd) noexcept;

}  // namespace s3rdmafs::daemon
