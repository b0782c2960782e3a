// SPDX-License-Identifier: Apache-2.0
// What the checks move: test objects to the server and their bytes back, one request at a time.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <string_view>

#include "config/mount_config.h"
#include "daemon/doctor/check.h"
#include "daemon/doctor/test_memory.h"
#include "s3/http_object_store.h"

namespace s3rdmafs::daemon::doctor {

struct Context;

using GetResult = std::expected<s3::Path, s3::GetFailure>;

/// A store that asks once and tells at once, by RDMA for everything or for nothing. Borrows the
/// context, whose credentials must be there.
[[nodiscard]] std::unique_ptr<s3::HttpObjectStore> make_store(
    Context& context, config::RdmaMode mode, const config::MountConfig::Endpoint& endpoint);

/// A key that nobody has, in the folder of test objects.
[[nodiscard]] std::string random_key(const Context& context);

/// The first bytes of the test object. Waits, at most kQuestionTimeout.
[[nodiscard]] GetResult get(Context& context, s3::HttpObjectStore& store,
                            const rdma::Window& window);

/// Stores the bytes that TestMemory::expected() of the context holds, and notes the key for its
/// removal. Waits, at most kQuestionTimeout.
[[nodiscard]] s3::PutOutcome put(Context& context, s3::HttpObjectStore& store,
                                 const std::string& key);

/// How a refused or a good answer is judged where rdma.mode decides.
[[nodiscard]] Level if_rdma_fails(const Context& context);

/// What to do about a read by RDMA that failed with this error.
[[nodiscard]] std::string advice_on_refusal(std::string_view detail);

/// Where a read goes: what asks for it, and what the server writes into.
struct ReadPath {
  s3::HttpObjectStore& store;
  TestMemory& memory;
  rdma::MemoryRegion* region = nullptr;  ///< makes the tokens; nothing: the memory's own
};

/// Reads the first `length` bytes of the test object: a pass, the error, or where the bytes are
/// wrong when the reply is there. Every byte of the memory is made wrong before, and those behind
/// the window must stay so. Bytes that come after the reply are told from wrong ones.
/// @param if_refused  the level of an error
[[nodiscard]] Finding read_and_compare(Context& context, const ReadPath& path, std::size_t length,
                                       Level if_refused);

}  // namespace s3rdmafs::daemon::doctor
