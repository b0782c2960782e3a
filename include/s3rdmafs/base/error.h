// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace s3rdmafs {

/// The kind of a failure: neither an errno nor an HTTP status. Only fuse/errno_map.cc turns these
/// into errno.
enum class ErrorCode {
  kNotFound,         ///< No such key, bucket, file or inode.
  kStale,            ///< The object is no longer the version that was opened (HTTP 412).
  kAccessDenied,     ///< The credentials do not allow it (HTTP 401, 403).
  kThrottled,        ///< The server asked us to slow down (HTTP 429, 503).
  kServerError,      ///< The server failed (HTTP 500, 502, 504).
  kUnreachable,      ///< No connection, or it broke before an answer.
  kTimedOut,         ///< The deadline passed.
  kCancelled,        ///< The mount is ending, or the caller gave up.
  kProtocol,         ///< The peer's answer breaks the protocol.
  kCorrupt,          ///< Bytes arrived that must not be used.
  kInvalidArgument,  ///< The caller's input can never work.
  kConfig,           ///< A mount file, option or environment variable is wrong.
  kUnsupported,      ///< The peer, kernel or machine cannot do this.
  kNoMemory,         ///< Memory, locked memory or the cache's budget is exhausted.
  kExists,           ///< The name exists already.
  kIsDirectory,      ///< A file was expected.
  kNotDirectory,     ///< A directory was expected.
  kNotEmpty,         ///< The directory is not empty.
  kBusy,             ///< Another writer, mount or process holds it.
  kSequentialOnly,   ///< Objects are written whole, from the first byte to the last.
  kTooLarge,         ///< More bytes than an object can have here.
  kNoSpace,          ///< The local room for staged files, or the server, is full.
  kReadOnly,         ///< The mount cannot write.
  kNameTooLong,      ///< No key can be as long as this name needs.
  kNoAttribute,      ///< The file has no extended attribute of this name.
  kTooManyKeys,      ///< More keys than one operation may change.
  kNoCredentials,    ///< The keys have ended, and no new ones came yet.
  kSystem,           ///< A system call failed; the detail names it.
};

/// The code's name without the `k`, for logs and tests: "NotFound".
[[nodiscard]] std::string_view error_code_name(ErrorCode code) noexcept;

/// Whether the same request may succeed if sent again a little later.
[[nodiscard]] bool is_retryable(ErrorCode code) noexcept;

/// A failure: its kind, and one line for a person. Value type, reentrant.
struct Error {
  ErrorCode code;
  std::string detail;       ///< what happened; ends with the advice where there is any
  std::string advice = {};  ///< what the user can do about it; empty: nothing known

  /// `detail` without the advice, for a reader that shows the two apart.
  [[nodiscard]] std::string_view problem() const noexcept;
};

/// The result of everything that can fail.
template <class T>
using Result = std::expected<T, Error>;

/// Makes the failing side of a Result: `return fail(ErrorCode::kNotFound, "no such key");`
[[nodiscard]] inline std::unexpected<Error> fail(ErrorCode code, std::string detail) {
  return std::unexpected<Error>(Error{code, std::move(detail)});
}

/// The failing side where the user can do something about it; `detail` is "problem; advice".
[[nodiscard]] std::unexpected<Error> fail_with_advice(ErrorCode code, std::string_view problem,
                                                      std::string advice);

/// The failing side for a system call that just set errno: "open /x: Permission denied".
[[nodiscard]] std::unexpected<Error> fail_errno(std::string_view what, int saved_errno);

/// Passes a failure on as "context: detail"; its advice stays.
[[nodiscard]] std::unexpected<Error> fail_with_context(std::string_view context, Error error);

}  // namespace s3rdmafs
