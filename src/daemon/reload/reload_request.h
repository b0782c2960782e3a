// SPDX-License-Identifier: Apache-2.0
// The request of `s3rdmafs reload` and the daemon's answer.
//
//   reload tell|apply     change LIVE KEY BEFORE AFTER for each difference, with LIVE 0 or 1 and
//   the
//                         rest as escaped_field() has it; end
//
// Where the mount file cannot be used the answer is error LINE for each line of its mistakes.
#pragma once

#include "daemon/reload/reloader.h"
#include "daemon/resident/control_socket.h"

namespace s3rdmafs::daemon {

inline constexpr const char* kReloadCommand = "reload";

[[nodiscard]] bool is_reload_request(const ControlRequest& request);
void answer_reload_request(Reloader& reloader, ControlRequest& request);

/// Asks the daemon of a mount. Errors: kNotFound (no daemon listens there), kConfig (with all
/// mistakes of the mount file), kCancelled, kSystem.
[[nodiscard]] Result<std::vector<SettingChange>> ask_for_reload(const std::string& socket_path,
                                                                Reloader::Extent extent);

}  // namespace s3rdmafs::daemon
