// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "memory/arena.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::bench {

/// The object client of a mount, without the mount: registered memory, a fabric, an object store.
/// Signs as s3rdma-target --key bench:bench-secret expects.
class ObjectClient {
 public:
  struct Options {
    std::string url;  ///< http://host:port
    std::string bucket;
    bool over_shm = true;  ///< false: HTTP bodies
    unsigned event_threads = 1;
    unsigned connections_max = 1;
    std::uint64_t memory_bytes = memory::Arena::kSlabBytes;  ///< a multiple of a slab
    rdma::Access access = rdma::Access::kRemoteWrite;        ///< the server's, to the memory
  };

  [[nodiscard]] static Result<std::unique_ptr<ObjectClient>> create(const Options& options);

  [[nodiscard]] s3::ObjectStore& store() noexcept { return store_; }
  [[nodiscard]] s3::ObjectWriter& writer() noexcept { return store_; }
  [[nodiscard]] memory::Arena& arena() noexcept { return *arena_; }
  /// Of an operation that begins now: generous, as nothing here may fail.
  [[nodiscard]] Deadline deadline() const;

  /// Block until the answer is there.
  [[nodiscard]] Result<s3::ObjectInfo> head(const std::string& key);
  [[nodiscard]] Result<std::vector<s3::ObjectInfo>> list(const std::string& prefix);

 private:
  explicit ObjectClient(const Options& options);

  const SystemClock clock_;
  metrics::Registry metrics_;
  std::unique_ptr<rdma::Fabric> fabric_;
  std::unique_ptr<memory::Arena> arena_;
  s3::StaticCredentials credentials_;
  s3::HttpObjectStore store_;  // last: its threads are gone before what they use
};

}  // namespace s3rdmafs::bench
