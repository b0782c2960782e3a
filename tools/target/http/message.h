// SPDX-License-Identifier: Apache-2.0
// A request and a response as the S3 side sees them: no trace of the HTTP library.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::target {

using s3::NameValues;

struct Request {
  std::string method;        ///< upper case
  std::string encoded_path;  ///< as sent, from the first "/" to before the "?"
  std::string path;          ///< decoded
  NameValues query;          ///< decoded, in order; a name without "=" has an empty value
  NameValues headers;        ///< names in lower case, in order
  bool from_loopback = false;
  /// Shuts the connection down at once: the client gets no answer, the request is served on. For
  /// injected faults; may be called during Exchange::finish() only.
  std::function<void()> hang_up = [] {};

  /// A header by its lower-case name; repeated ones are joined by "," as RFC 9110 section 5.3 says.
  [[nodiscard]] std::optional<std::string> header(std::string_view name) const;
  [[nodiscard]] std::string header_or(std::string_view name, std::string_view otherwise) const;
  /// A query parameter's first value.
  [[nodiscard]] std::optional<std::string> parameter(std::string_view name) const;
  [[nodiscard]] bool has_parameter(std::string_view name) const {
    return parameter(name).has_value();
  }
};

/// [offset, offset+length) of an open file, sent without a copy.
struct FileBody {
  UniqueFd fd;
  std::uint64_t offset_bytes = 0;
  std::uint64_t length_bytes = 0;
};

struct Response {
  int status = 200;
  NameValues headers;
  std::variant<std::string, FileBody> body;

  void set(std::string_view name, std::string_view value) { headers.emplace_back(name, value); }
  [[nodiscard]] std::uint64_t body_bytes() const;
};

/// One request on its way: takes the body as it arrives, then answers. Used by one thread.
class Exchange {
 public:
  virtual ~Exchange() = default;
  /// True once the answer no longer depends on the body.
  [[nodiscard]] virtual bool is_decided() const = 0;
  virtual void receive(std::span<const std::byte> bytes) = 0;
  /// Called at most once, after the whole body, or before it if is_decided().
  virtual Response finish() = 0;
};

/// The handler of all requests of a server. Thread-safe: every connection has its own thread.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual std::unique_ptr<Exchange> begin(Request request) = 0;
};

/// Splits and decodes "a=1&b" into its parameters. Nothing for a malformed "%".
[[nodiscard]] std::optional<NameValues> parse_query(std::string_view encoded_query);

}  // namespace s3rdmafs::target
