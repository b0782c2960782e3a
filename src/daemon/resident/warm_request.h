// SPDX-License-Identifier: Apache-2.0
// The requests of `s3rdmafs warm`, as the daemon answers them.
//
//   warm PATH...     accepted; then found OBJECTS BYTES; progress OBJECTS BYTES, again and again;
//                    problem TEXT for each that is to be told; at the end
//                    fetched OBJECTS BYTES, were_there OBJECTS BYTES,
//                    no_room OBJECTS BYTES ROOM_BYTES, failed COUNT, and end
//   release PATH...  accepted, released OBJECTS BYTES, end
//   anything else    error TEXT
//
// Paths and patterns are relative to the mount point (config/path_glob.h). An answer that does not
// close with "end" or "error" was cut short.
#pragma once

#include "cache/whole/object_cache.h"
#include "daemon/resident/control_socket.h"
#include "daemon/resident/find_objects.h"

namespace s3rdmafs::daemon {

inline constexpr const char* kWarmCommand = "warm";
inline constexpr const char* kReleaseCommand = "release";

/// @param cache  null: this mount has no whole objects
void answer_request(const Bucket& bucket, cache::ObjectCache* cache, ControlRequest& request);

}  // namespace s3rdmafs::daemon
