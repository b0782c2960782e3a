// SPDX-License-Identifier: Apache-2.0
// The requests of `s3rdmafs warm` and the daemon's answers.
//
//   warm PATH...     accepted; then found OBJECTS BYTES; progress OBJECTS BYTES, again and again;
//                    problem TEXT for each path or object that failed; at the end
//                    fetched OBJECTS BYTES, were_there OBJECTS BYTES,
//                    no_room OBJECTS BYTES ROOM_BYTES, failed COUNT, and end
//   release PATH...  accepted, released OBJECTS BYTES, end
//   anything else    error TEXT
//
// Paths and patterns are relative to the mount point (config/path_glob.h). An answer whose last
// line is neither "end" nor "error" was cut short.
#pragma once

#include "cache/whole/object_cache.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/find_objects.h"

namespace s3rdmafs::daemon {

inline constexpr const char* kWarmCommand = "warm";
inline constexpr const char* kReleaseCommand = "release";

/// Answers one request. Blocks until the objects are resident, the client is gone or the mount
/// ends.
/// @param cache  null: this mount keeps no whole objects, which is answered as an error
void answer_request(const Bucket& bucket, cache::ObjectCache* cache, ControlRequest& request);

}  // namespace s3rdmafs::daemon
