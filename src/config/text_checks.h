// SPDX-License-Identifier: Apache-2.0
// The checks of a mount file's textual values. Each gives the spelling to store, or
// kInvalidArgument with the value found and the values expected.
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/base/error.h"

namespace s3rdmafs::config {

[[nodiscard]] Result<std::string> any_text(std::string_view text);
/// A text that goes into a header unchanged: no control characters (RFC 9110 section 5.5).
[[nodiscard]] Result<std::string> check_header_text(std::string_view text);
/// The name of a header, in lower case: letters, digits and "-".
[[nodiscard]] Result<std::string> check_header_name(std::string_view text);
[[nodiscard]] Result<std::string> check_bucket_name(std::string_view text);
/// Appends the "/" that the prefix of a directory ends in.
[[nodiscard]] Result<std::string> check_prefix(std::string_view text);
/// scheme://host[:port]; one "/" at its end is dropped.
[[nodiscard]] Result<std::string> check_endpoint_url(std::string_view text);
/// The same, or empty.
[[nodiscard]] Result<std::string> check_optional_endpoint_url(std::string_view text);
/// "auto", "none", or the URL of a proxy in the same form.
[[nodiscard]] Result<std::string> check_proxy(std::string_view text);
/// Empty, or the number of an account.
[[nodiscard]] Result<std::string> check_account(std::string_view text);
/// Empty, or a name such as "STANDARD_IA".
[[nodiscard]] Result<std::string> check_storage_class(std::string_view text);
/// Empty, or 32 bytes in base64 (RFC 4648 section 4). The error does not show the text.
[[nodiscard]] Result<std::string> check_customer_key(std::string_view text);
[[nodiscard]] Result<std::string> check_region(std::string_view text);
/// Empty, or absolute: a daemon has no working directory that a user would know.
[[nodiscard]] Result<std::string> check_path(std::string_view text);
/// "auto" or an absolute path.
[[nodiscard]] Result<std::string> check_folder(std::string_view text);
/// "auto", an absolute path, or "@name" in the abstract name space (unix(7)).
[[nodiscard]] Result<std::string> check_socket(std::string_view text);
/// "auto", or names of RDMA devices ("mlx5_0", "mlx5_0:2" with its port) and IP addresses of
/// theirs, with commas between; spaces are dropped. Whether they exist is the fabric's to find out.
[[nodiscard]] Result<std::string> check_rails(std::string_view text);
/// "auto", or the number of an entry in a GID table: 0 to 255.
[[nodiscard]] Result<std::string> check_gid_index(std::string_view text);
/// A path or pattern relative to the mount point, with "/" in front or not; one at its end is
/// dropped.
[[nodiscard]] Result<std::string> check_glob(std::string_view text);
/// Empty, an IP address with a port ("127.0.0.1:9464", "[::1]:9464"), or "unix:" and an absolute
/// path that fits the address of a socket (unix(7)).
[[nodiscard]] Result<std::string> check_listen_address(std::string_view text);
/// A level that set_up_log (base/log.h) knows.
[[nodiscard]] Result<std::string> check_log_level(std::string_view text);

}  // namespace s3rdmafs::config
