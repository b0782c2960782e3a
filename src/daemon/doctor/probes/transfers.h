// SPDX-License-Identifier: Apache-2.0
// Transfers of the checks: test objects to the server and their bytes back, one request at a time.
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

/// A store that makes one attempt at each request, and uses RDMA for all transfers or for none.
/// Borrows the context, whose credentials must be set.
[[nodiscard]] std::unique_ptr<s3::HttpObjectStore> make_store(
    Context& context, config::RdmaMode mode, const config::MountConfig::Endpoint& endpoint);

/// A random key in the directory of test objects.
[[nodiscard]] std::string random_key(const Context& context);

/// Reads the first bytes of the test object. Blocks for kQuestionTimeout at most.
[[nodiscard]] GetResult get(Context& context, s3::HttpObjectStore& store,
                            const rdma::Window& window);

/// Stores the bytes of the context's TestMemory::expected(), and notes the key for removal. Blocks
/// for kQuestionTimeout at most.
[[nodiscard]] s3::PutOutcome put(Context& context, s3::HttpObjectStore& store,
                                 const std::string& key);

/// The level of a failure of RDMA: kFail where rdma.mode is "require", otherwise kDegraded.
[[nodiscard]] Level if_rdma_fails(const Context& context);

/// The advice for a read by RDMA that failed with this error.
[[nodiscard]] std::string advice_on_refusal(std::string_view detail);

/// The path of a read: the store that requests it, and the memory that the server writes to.
struct ReadPath {
  s3::HttpObjectStore& store;
  TestMemory& memory;
  rdma::MemoryRegion* region = nullptr;  ///< makes the tokens; null: the memory's own
};

/// Reads the first `length` bytes of the test object and compares them: a pass, the error, or the
/// position of the first wrong byte. Every byte of the memory is set to a wrong value before, and
/// those after the window must keep it. Bytes that arrive after the reply are reported as such.
/// @param if_refused  the level of a request that failed
[[nodiscard]] Finding read_and_compare(Context& context, const ReadPath& path, std::size_t length,
                                       Level if_refused);

}  // namespace s3rdmafs::daemon::doctor
