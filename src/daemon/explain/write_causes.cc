// SPDX-License-Identifier: Apache-2.0
// Causes between programs and the mount, where they write; and the list of all causes.
#include "daemon/explain/causes.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

// Above this share the next large file may find no room.
constexpr double kFullShare = 0.9;

std::optional<Finding> writes_wait(const Look& look) {
  const double waiting = look.now("upload_writes_waiting");
  if (waiting == 0) return std::nullopt;
  return Finding{
      .cause = "writes wait for part buffers",
      .evidence = fmt::format("{} wait; {} go to servers", waiting, format_rate(look.to_servers())),
      .advice =
          "the server takes no more, or write.buffer_size is too small for as many "
          "files at one time"};
}

std::optional<Finding> staging_is_full(const Look& look) {
  const double used = look.now("staging_used_bytes"), size = look.now("staging_size_bytes");
  if (size == 0 || used < kFullShare * size) return std::nullopt;
  return Finding{.cause = "the room for staged files is nearly full",
                 .evidence = format_bytes(used) + " of " + format_bytes(size),
                 .advice =
                     "raise write.staging_size; `s3rdmafs recover FILE.toml` lists what earlier "
                     "mounts have left there"};
}

std::optional<Finding> uploads_linger(const Look& look) {
  const double abandoned = look.now("upload_abandoned");
  if (abandoned == 0) return std::nullopt;
  return Finding{.cause = "the server still holds parts of files that were given up",
                 .evidence = fmt::format("{} uploads", abandoned),
                 .advice = "they are aborted when the server answers; the log names them"};
}

}  // namespace

std::vector<Cause> write_causes() {
  return {{"writes_wait", writes_wait},
          {"staging_is_full", staging_is_full},
          {"uploads_linger", uploads_linger}};
}

std::vector<Cause> all_causes() {
  std::vector<Cause> causes = server_causes();
  for (const auto& room : {read_causes(), write_causes()}) {
    causes.insert(causes.end(), room.begin(), room.end());
  }
  return causes;
}

}  // namespace s3rdmafs::daemon
