// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "config/mount_options.h"
#include "daemon/cli/grammar/raw_arguments.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kHelperType = "s3rdma";

}  // namespace

Result<Command> parse_helper(std::vector<std::string> reversed, std::string_view name) {
  RawArguments raw;
  CLI::App app("Mounts the bucket that a mount file describes; mount -t s3rdma calls this.",
               std::string(name));
  app.add_option("FILE", raw.file, "The mount file")->required()->type_name("");
  app.add_option("DIR", raw.mountpoint, "Where to mount")->required()->type_name("");
  add_option_lists(app, raw);
  app.add_option("-t", raw.type, "The file system's type; only s3rdma")->type_name("TYPE");
  app.add_option("-N", raw.mount_namespace, "Mount in this mount namespace")
      ->type_name("NAMESPACE");
  app.add_flag("-s", raw.sloppy, "Ignore unknown mount options");
  app.add_flag("-f", raw.fake, "Check everything, but do not mount");
  app.add_flag("-n", raw.no_mtab, "Do not write /etc/mtab; it is never written");
  app.add_flag("-v", raw.verbose, "Log more: log.level=debug");
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return ShowText{app.help()};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  }

  if (!raw.type.empty() && raw.type != kHelperType) {
    return usage_error(
        app, fmt::format("-t {}: this helper mounts only type {}", raw.type, kHelperType));
  }
  auto options = config::parse_mount_options(raw.option_lists,
                                             {.ignore_unknown = raw.sloppy, .ignore_rw = true});
  if (!options) return usage_error(app, options.error().detail);
  MountCommand command{.file = raw.file,
                       .mountpoint = raw.mountpoint,
                       .foreground = false,
                       .fake = raw.fake,
                       .mount_namespace = raw.mount_namespace,
                       .kernel_options = std::move(options->kernel_options),
                       .overrides = {}};
  // First, so that an explicit -o log.level wins.
  if (raw.verbose) {
    command.overrides.push_back(
        {.key = config::find_key("log", "level"), .text = "debug", .source = "option -v"});
  }
  std::ranges::move(options->overrides, std::back_inserter(command.overrides));
  return command;
}

}  // namespace s3rdmafs::daemon
