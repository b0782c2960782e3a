// SPDX-License-Identifier: Apache-2.0
// The requests of `s3rdmafs warm` and the daemon's answers.
//
//   warm [OPTION...] "" PATH...
//                    accepted; then found OBJECTS BYTES; progress OBJECTS BYTES, again and again;
//                    problem TEXT for each path or object that failed; at the end
//                    fetched OBJECTS BYTES, were_there OBJECTS BYTES,
//                    no_room OBJECTS BYTES ROOM_BYTES, failed COUNT, and end
//   release PATH...  accepted, released OBJECTS BYTES, end
//   anything else    error TEXT
//
// Options of warm: into=cache (the read cache, instead of whole objects that stay);
// bytes_per_second=N and requests_per_second=N; names=versions: instead of PATHs there are
// KEY ETAG BYTES, three words for each version. One that the server has replaced is looked up.
//
// Paths and patterns are relative to the mount point (config/path_glob.h). An answer whose last
// line is neither "end" nor "error" was cut short.
#pragma once

#include "cache/read_cache.h"
#include "cache/whole/object_cache.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/find_objects.h"

namespace s3rdmafs::daemon {

inline constexpr const char* kWarmCommand = "warm";
inline constexpr const char* kReleaseCommand = "release";
inline constexpr const char* kIntoCache = "into=cache";
inline constexpr const char* kNamesAreVersions = "names=versions";
inline constexpr const char* kBytesPerSecond = "bytes_per_second=";
inline constexpr const char* kRequestsPerSecond = "requests_per_second=";

/// Where objects go. Borrows both.
struct WarmTargets {
  cache::ReadCache& blocks;
  cache::ObjectCache* whole = nullptr;  ///< null: this mount keeps no whole objects
};

/// Whether a request with this first word is one of these.
[[nodiscard]] bool is_warm_request(const ControlRequest& request);

/// Answers one request. Blocks until the objects are there, the client is gone or the mount ends.
/// Whole objects that the mount cannot keep are answered with an error.
void answer_warm_request(const Bucket& bucket, const WarmTargets& targets, ControlRequest& request);

}  // namespace s3rdmafs::daemon
