// SPDX-License-Identifier: Apache-2.0
// The parts that both grammars share, see command_line.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "daemon/cli/grammar/command_line.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The arguments of any verb as CLI11 stores them, before they become a Command.
struct RawArguments {
  std::string file;
  std::string mountpoint;
  std::vector<std::string> option_lists;
  std::string type;
  std::string mount_namespace;
  bool foreground = false;
  bool lazy = false;
  bool fake = false;
  bool sloppy = false;
  bool no_mtab = false;
  bool verbose = false;
  bool json = false;
  bool measure = false;
  std::string report;
  std::vector<std::string> paths;
  std::string record;
  std::string trace;
  std::string manifest;
  bool cached = false;
  std::string rate;
  std::uint64_t requests = 0;
  bool release = false;
  std::string prefix;
  std::string output;
  std::vector<std::string> inventory;
  unsigned jobs = 16;
  std::string bucket;
  bool once = false;
  double interval_seconds = 1;
  std::string path;
  unsigned seconds = 5;
  std::size_t columns = 80, rows = 24;
  std::string verify;
  std::string show;
  bool send = false;
  bool discard = false;
  bool dry_run = false;
  std::vector<std::string> command;
};

/// The mistake, and which --help to read.
[[nodiscard]] std::unexpected<Error> usage_error(const CLI::App& app, std::string_view what);

/// -o LIST, any number of times.
CLI::Option* add_option_lists(CLI::App& app, RawArguments& raw);

/// The mount(8) helper: mount.s3rdma FILE.toml DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE].
/// @param reversed  the arguments back to front, as CLI11 takes them
[[nodiscard]] Result<Command> parse_helper(std::vector<std::string> reversed,
                                           std::string_view name);

}  // namespace s3rdmafs::daemon
