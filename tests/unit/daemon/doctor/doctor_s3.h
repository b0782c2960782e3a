// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fakes/rdma/recording_verbs.h"
#include "fakes/s3/scripted_http_server.h"
#include "rdma/mlx5/dc_token.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::daemon::doctor {

/// The fault of a server.
enum class ServerFault {
  kNone,
  kNoHttp,         ///< it cuts every connection
  kWrongClock,     ///< its Date is years off
  kDenied,         ///< it refuses the signature
  kNoBucket,       ///< the bucket is not there
  kNoDelimiter,    ///< listings are flat
  kSameEtags,      ///< an overwrite keeps the ETag
  kNoRdma,         ///< it declines every token
  kNoReplyHeader,  ///< it ignores tokens
  kNoByteCount,    ///< its answers have no count
  kRejectsTokens,  ///< HTTP 400
  kWrongBytes,     ///< one byte changes on the way
  kTooManyBytes,   ///< it writes one byte after the window
  kLateBytes,      ///< the bytes come after the reply
  kNoRdmaWrite,    ///< it declines the tokens of PUT and UploadPart
  kSpoilsWrites,   ///< it reads the wrong bytes
};

/// An S3 server with one bucket, "data", in this process. It finds the memory of a token among the
/// registrations of RecordingVerbs, and copies to it unseen by sanitizers, as a NIC does.
class DoctorS3 {
 public:
  /// Borrows the devices.
  explicit DoctorS3(const fakes::RecordingVerbs& verbs);

  [[nodiscard]] std::string url() const { return http_.url(); }
  void plant(ServerFault fault);
  void store(const std::string& key, const std::string& bytes);
  [[nodiscard]] std::vector<std::string> keys() const;
  /// Delivers late writes.
  void catch_up();

 private:
  using Answer = fakes::ScriptedAnswer;
  struct Object {
    std::string bytes;
    std::string etag;
  };
  struct LateWrite {
    std::string token;
    std::string bytes;
  };

  [[nodiscard]] Answer answer(const fakes::SeenRequest& request);
  [[nodiscard]] Answer answer_unsigned() const REQUIRES(mutex_);
  [[nodiscard]] Answer list(const fakes::SeenRequest& request) REQUIRES(mutex_);
  [[nodiscard]] Answer get(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  [[nodiscard]] Answer get_by_rdma(const std::string& token, const Object& object,
                                   std::size_t length) REQUIRES(mutex_);
  [[nodiscard]] Answer put(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  void put_object(const std::string& key, std::string bytes) REQUIRES(mutex_);
  void write(const std::string& token, const std::string& bytes);
  [[nodiscard]] std::string read(const std::string& token);
  /// The memory that a token opens; null where it opens none.
  [[nodiscard]] std::byte* find(const std::string& token, std::size_t length);

  const fakes::RecordingVerbs& verbs_;
  mutable Mutex mutex_;
  ServerFault fault_ GUARDED_BY(mutex_) = ServerFault::kNone;
  std::map<std::string, Object> objects_ GUARDED_BY(mutex_);
  std::deque<LateWrite> late_ GUARDED_BY(mutex_);
  unsigned next_etag_ GUARDED_BY(mutex_) = 1;
  fakes::ScriptedHttpServer http_;  // last: its threads use all of the above
};

}  // namespace s3rdmafs::daemon::doctor
