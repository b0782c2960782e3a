// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/mount_options.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// `s3rdmafs mount FILE.toml [MOUNTPOINT]`, or mount.s3rdma as mount(8) calls it.
struct MountCommand {
  std::string file;
  std::string mountpoint;   ///< empty: mount.point of the file
  bool foreground = false;  ///< stay attached to the terminal or to systemd
  bool fake = false;        ///< do everything but the mount itself (mount(8) -f)
  /// Enter this mount namespace first, a path for setns(2); empty: stay (mount(8) -N).
  std::string mount_namespace;
  std::vector<std::string> kernel_options;  ///< for libfuse's -o: "noatime", ...
  std::vector<config::Override> overrides;
};

/// `s3rdmafs umount MOUNTPOINT`
struct UmountCommand {
  std::string mountpoint;
  bool lazy = false;  ///< detach now, end with the last user (umount2(2), MNT_DETACH)
};

/// `s3rdmafs stats MOUNTPOINT [--json]`
struct StatsCommand {
  std::string mountpoint;
  bool json = false;
};

/// `s3rdmafs top MOUNTPOINT [--once] [--interval SECONDS]`
struct TopCommand {
  std::string mountpoint;
  bool once = false;  ///< print one frame and end
  std::chrono::milliseconds interval{1000};
  std::size_t columns = 80, rows = 24;  ///< of that frame; a terminal tells its own
};

/// `s3rdmafs explain MOUNTPOINT [PATH] [--seconds N] [--json]`
struct ExplainCommand {
  std::string mountpoint;
  std::string path;  ///< empty: the mount as a whole
  std::chrono::seconds time{5};
  bool json = false;
};

/// `s3rdmafs warm MOUNTPOINT PATH...`; `--from-trace` or `--from-manifest` in place of the paths
struct WarmCommand {
  std::string mountpoint;
  std::vector<std::string> paths;         ///< may be patterns; none: a file names the objects
  std::string trace;                      ///< a file of `--record`; empty: none
  std::string manifest;                   ///< empty: none
  bool cached = false;                    ///< into the read cache; else whole, to stay
  std::uint64_t bytes_per_second = 0;     ///< 0: as many as come
  std::uint64_t requests_per_second = 0;  ///< 0: as many as come
  bool release = false;                   ///< release the objects instead of fetching them
};

/// `s3rdmafs warm MOUNTPOINT --record FILE`
struct RecordCommand {
  std::string mountpoint;
  std::string file;
};

/// `s3rdmafs reload MOUNTPOINT [--dry-run]`
struct ReloadCommand {
  std::string mountpoint;
  bool dry_run = false;  ///< say what would change, and change nothing
};

/// `s3rdmafs run [--report FILE] -- COMMAND [ARGUMENT...]`
struct PastFuseCommand {
  std::string report;              ///< where each process tells what it read; empty: nowhere
  std::vector<std::string> words;  ///< the command and its arguments; not empty
};

/// `s3rdmafs doctor [FILE.toml] [--json] [--measure] [--report FILE]`
struct DoctorCommand {
  std::string file;  ///< empty: check the machine alone
  bool json = false;
  bool measure = false;  ///< measure larger requests, and for longer
  std::string report;    ///< path of the full report, as JSON; empty: none is written
};

/// `s3rdmafs manifest FILE.toml [PREFIX] -o FILE [--from-inventory CSV...] [--jobs N]
/// [--bucket DIRECTORY]`,
/// `s3rdmafs manifest --verify FILE`, or `s3rdmafs manifest --show FILE [KEY]`
struct ManifestCommand {
  enum class Action { kWrite, kVerify, kShow };
  Action action = Action::kWrite;
  std::string manifest;  ///< what is written, verified or shown

  std::string file;                    ///< the mount file; only to write
  std::optional<std::string> prefix;   ///< in place of bucket.prefix
  std::vector<std::string> inventory;  ///< empty: the bucket is listed
  unsigned jobs = 0;                   ///< listings side by side
  std::string bucket;                  ///< directory of a [[bucket]] table; empty: [bucket]

  std::string key;  ///< to show; empty: what the manifest is of
};

/// `s3rdmafs config FILE.toml`
struct ConfigCommand {
  std::string file;
  std::vector<config::Override> overrides;
};

/// --help and --version: print the text and exit with 0.
struct ShowText {
  std::string text;  ///< ends in a newline
};

/// `s3rdmafs recover FILE.toml [MOUNTPOINT] [--send | --discard] [--json]`
struct RecoverCommand {
  std::string file;
  std::string mountpoint;  ///< empty: mount.point of the file
  bool send = false;
  bool discard = false;  ///< not beside send
  bool json = false;
  std::vector<config::Override> overrides;
};

using Command =
    std::variant<MountCommand, UmountCommand, StatsCommand, TopCommand, ExplainCommand, WarmCommand,
                 RecordCommand, ReloadCommand, PastFuseCommand, RecoverCommand, DoctorCommand,
                 ManifestCommand, ConfigCommand, ShowText>;

/// Reads the command line; `arguments` are argv, the program's name first. A name that ends in
/// "mount.s3rdma" selects the form that mount(8) calls helpers in (section EXTERNAL HELPERS).
/// @param version  printed by --version after the program's name
/// Errors: kInvalidArgument; the detail names the mistake and which --help to read.
[[nodiscard]] Result<Command> parse_command_line(std::span<const std::string> arguments,
                                                 std::string_view version);

}  // namespace s3rdmafs::daemon
