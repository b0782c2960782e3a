// SPDX-License-Identifier: Apache-2.0
// The headers that a server keeps with an object and gives back, user metadata left out. A copy
// with metadata of its own loses them, so it has to send them again.
#pragma once

#include <string>
#include <string_view>

#include "s3/object_store.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

/// Whether it is one of them: the content's type, encoding, language and disposition, the cache's
/// control and expiry, the storage class. `name` is in lower case.
[[nodiscard]] bool is_stored_header(std::string_view name);

/// Takes one line of an answer. Repeated ones are joined, as RFC 9110 section 5.3 has it.
void take_stored_header(StoredHeaders& headers, std::string_view name, std::string_view value);

/// The storage class among them; empty: the server's standard one.
[[nodiscard]] std::string storage_class_of(const StoredHeaders& headers);

/// Appends them to a request that makes an object. One without a type gets that of bytes.
void add_stored_headers(NameValues& request, const StoredHeaders& headers);

}  // namespace s3rdmafs::s3
