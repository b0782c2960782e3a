// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rdma/fabric.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::s3 {

/// User metadata: names without "x-amz-meta-", lower-case, and their values, as
/// s3rdmafs-semantics(7) names them. A name stands once.
using UserMetadata = std::vector<std::pair<std::string, std::string>>;

/// The headers that a server keeps with an object besides (s3/wire/stored_headers.h): names in
/// lower case, and values as received.
using StoredHeaders = std::vector<std::pair<std::string, std::string>>;

/// One version of one object, as HEAD or a listing describes it.
struct ObjectInfo {
  std::string key;   ///< whole key, mount prefix included; any bytes but NUL
  std::string etag;  ///< as received, quotes included; names the version
  std::uint64_t size_bytes = 0;
  std::chrono::system_clock::time_point modified;
  /// Null where it is not known: listings do not have it.
  std::shared_ptr<const UserMetadata> metadata = {};
  /// The same.
  std::shared_ptr<const StoredHeaders> headers = {};
  /// The server's clock when it answered; its epoch where it is not known, as in a listing.
  std::chrono::system_clock::time_point answered_at = {};
};

/// One version as a server describes it to people. An empty text: it does not tell.
struct ObjectDescription {
  ObjectInfo object;
  std::string version_id;
  std::string checksum;  ///< its kind and the value that the server has: "crc64nvme:mWOLM6Ewdy8="
  std::string url;       ///< without credentials
};

/// One page of ListObjectsV2.
struct ListRequest {
  std::string prefix;
  std::string delimiter;           ///< "/" or empty
  std::string continuation_token;  ///< empty: the first page
  std::uint32_t keys_max = 1000;   ///< 1..1000; the server may send fewer
  std::string start_after = {};    ///< only keys that sort after it; not beside a token
};

struct ListPage {
  std::vector<ObjectInfo> objects;  ///< in the server's order: ascending by bytes of the key
  std::vector<std::string> common_prefixes;
  std::string next_token;  ///< empty: this was the last page
};

/// One ranged GET into registered memory.
struct GetRequest {
  std::string key;
  std::string etag;  ///< sent as If-Match (RFC 9110 section 13.1.1); never empty
  std::uint64_t offset_bytes = 0;
  rdma::Window window;  ///< where the bytes go; its length is the range's length, >= 1
  /// After late_write_possible the caller reads again into other memory. Then a read by token that
  /// is slow may be given up and sent to another server.
  bool can_restart = false;
};

/// The path by which the bytes of a GET came; kDisk: from the local disk tier (disk/).
enum class Path { kRdma, kHttp, kDisk };

/// A GET that failed.
struct GetFailure {
  Error error;
  /// The server may still write into the window. It must not be used until its region was fenced
  /// (rdma::MemoryRegion::fence). See s3rdmafs-protocol(7), LATE TRANSFERS.
  bool late_write_possible = false;
  /// It failed only because the server was slow (GetRequest::can_restart): another is faster.
  bool was_hedged = false;
};

using GetDone = std::move_only_function<void(std::expected<Path, GetFailure>)>;

/// The operations of one bucket that a reader needs; ObjectWriter has those of a writer. The real
/// one is HttpObjectStore; tests use tests/fakes/s3/fake_object_store.h.
///
/// All operations are asynchronous, retry what is worth retrying, and end by `deadline` at the
/// latest (no retry begins that could not end by then). Thread-safe.
///
/// Errors of all: kAccessDenied, kThrottled, kServerError, kUnreachable, kTimedOut, kCancelled,
/// kProtocol; kNotFound also if the bucket does not exist.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  /// HeadObject. Errors: kNotFound. `key` must not be empty.
  virtual void head(std::string key, Deadline deadline, Done<ObjectInfo> done) = 0;

  /// As head(), with all that the server tells. By default what head() tells.
  virtual void describe(std::string key, Deadline deadline, Done<ObjectDescription> done);

  /// One page of ListObjectsV2, keys decoded (encoding-type=url on the wire).
  virtual void list(ListRequest request, Deadline deadline, Done<ListPage> done) = 0;

  /// Fills the whole window with the object's bytes from offset_bytes on, or fails. The bytes come
  /// by RDMA token if the rule of s3rdmafs-protocol(7) allows it, otherwise in the HTTP body.
  /// The caller keeps the window's memory alive and untouched until `done`.
  /// Errors: kStale (the version is gone, HTTP 412 or 404), kCorrupt.
  virtual void get(GetRequest request, Deadline deadline, GetDone done) = 0;

  /// Ends every operation in flight with kCancelled, and every later one at once. Returns after the
  /// last `done` was called.
  virtual void shut_down() = 0;
};

}  // namespace s3rdmafs::s3
