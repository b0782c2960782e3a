// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fakes/rdma/lying_fabric.h"
#include "rdma/fabric.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target_process.h"

namespace s3rdmafs::fault {

/// How an operation ended.
struct Outcome {
  std::optional<Error> error;
  bool by_rdma = false;
  bool by_http = false;

  [[nodiscard]] bool is_good() const { return !error; }
  /// "rdma", "http", "mixed", or the errno that a program would see.
  [[nodiscard]] std::string text() const;
};

/// The object client of a mount over shm, one operation after the other, with the memory rules of
/// its callers: memory that the server may still touch is renewed before it is used again, and then
/// it *is* used again, so that a server that touches it all the same is found out.
class Client {
 public:
  /// Whether renewing a region takes the server's rights away, or only says so.
  enum class Fence { kReal, kLies };

  /// @param patience  how long one request may take, its connection included
  Client(const TargetProcess& target, const s3::RdmaOptions& rdma,
         std::chrono::milliseconds patience, Fence fence);
  ~Client();

  /// Reads into memory of its own; `bytes` gets the bytes that arrived.
  Outcome get(const std::string& key, std::uint64_t offset, std::size_t length, std::string& bytes);
  Outcome put(const std::string& key, const std::string& bytes, s3::Precondition when = {});
  Outcome put_in_parts(const std::string& key, const std::vector<std::string>& parts);
  /// The server copies the object, or the bytes of it that become the one part of another.
  Outcome copy(const std::string& from, const std::string& to);
  Outcome copy_part(const std::string& from, std::uint64_t offset, std::size_t length,
                    const std::string& to);
  /// The version that a key has now, by HEAD.
  std::string etag_of(const std::string& key);
  /// The object's size, by HEAD. Errors: as ObjectStore::head.
  Result<std::uint64_t> size_of(const std::string& key);

  /// Bytes written into memory that the server had lost its right to, or empty.
  [[nodiscard]] std::string trespasses() const;

 private:
  /// Memory in which nothing may change any more.
  struct Settled {
    std::span<std::byte> memory;
    std::string expected;
  };

  rdma::Window take(rdma::MemoryRegion& region, std::size_t& used, std::size_t length);
  s3::PutBody body_of(const std::string& bytes);
  /// The duty of an upload's caller: fence the memory where asked, then use it for something else.
  void reuse(const s3::PutBody& body, bool late_read_possible);
  s3::CopySource source_of(const std::string& key);

  UniqueFd file_;
  std::span<std::byte> memory_;
  std::unique_ptr<rdma::Fabric> fabric_;
  fakes::LyingFabric lying_fabric_;
  std::unique_ptr<rdma::MemoryRegion> gets_, puts_;
  std::size_t gets_used_ = 0, puts_used_ = 0;
  std::vector<Settled> settled_;

  const SystemClock clock_;
  metrics::Registry metrics_;
  s3::StaticCredentials credentials_;
  std::unique_ptr<s3::HttpObjectStore> store_;
};

}  // namespace s3rdmafs::fault
