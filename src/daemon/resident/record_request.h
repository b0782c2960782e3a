// SPDX-License-Identifier: Apache-2.0
// The requests of `s3rdmafs warm --record` and the daemon's answers. The daemon writes no file: the
// command, which has its user's rights, asks every second.
//
//   record begin          recording NUMBER, end
//   record take NUMBER    opened MILLISECONDS BYTES ETAG KEY for each open since the last question,
//                         ETag and key as escaped_field() has them; lost COUNT; end
//   record end NUMBER     as take, and the recording ends
//
// Each is answered with error TEXT where another recording is under way, or this one has ended.
#pragma once

#include "daemon/resident/control_socket.h"
#include "vfs/files/open_trace.h"

namespace s3rdmafs::daemon {

inline constexpr const char* kRecordCommand = "record";

[[nodiscard]] bool is_record_request(const ControlRequest& request);
void answer_record_request(vfs::OpenTrace& trace, ControlRequest& request);

}  // namespace s3rdmafs::daemon
