// SPDX-License-Identifier: Apache-2.0
// Two grammars, one per name the program is called by. CLI11 throws; nothing of that leaves here.
#include "daemon/cli/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "config/nearest_name.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kHelperName = "mount.s3rdma";
constexpr std::string_view kHelperType = "s3rdma";

// What a verb's options are read into before they become a Command.
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
  bool release = false;
};

std::unexpected<Error> usage_error(const CLI::App& app, std::string_view what) {
  std::string name = app.get_name();
  for (const CLI::App* verb : app.get_subcommands()) name += " " + verb->get_name();
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}\nTry: {} --help", what, name));
}

CLI::Option* add_option_lists(CLI::App& app, RawArguments& raw) {
  // One value for each -o: otherwise CLI11 would swallow the positionals behind it.
  return app
      .add_option("-o,--options", raw.option_lists,
                  "Mount options, separated by commas: SECTION.KEY=VALUE of the mount file, uid=, "
                  "gid=, allow_other, and those of mount(8)")
      ->allow_extra_args(false)
      ->type_name("LIST");
}

// The mount(8) helper: mount.s3rdma FILE.toml DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE].
Result<Command> parse_helper(std::vector<std::string> reversed) {
  RawArguments raw;
  CLI::App app("Mounts the bucket that a mount file describes; mount -t s3rdma calls this.",
               std::string(kHelperName));
  app.add_option("FILE", raw.file, "The mount file")->required()->type_name("");
  app.add_option("DIR", raw.mountpoint, "Where to mount")->required()->type_name("");
  add_option_lists(app, raw);
  app.add_option("-t", raw.type, "The file system's type; only s3rdma")->type_name("TYPE");
  app.add_option("-N", raw.mount_namespace, "Mount in this mount namespace")
      ->type_name("NAMESPACE");
  app.add_flag("-s", raw.sloppy, "Ignore mount options that nobody knows");
  app.add_flag("-f", raw.fake, "Check everything, but do not mount");
  app.add_flag("-n", raw.no_mtab, "Do not write /etc/mtab; it never is");
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
  // In front, so that an explicit -o log.level wins.
  if (raw.verbose) {
    command.overrides.push_back(
        {.key = config::find_key("log", "level"), .text = "debug", .source = "option -v"});
  }
  std::ranges::move(options->overrides, std::back_inserter(command.overrides));
  return command;
}

// CLI11 would only say that a verb is missing.
Result<void> check_verb(const CLI::App& app, std::span<const std::string> reversed) {
  if (reversed.empty() || reversed.back().starts_with('-')) return {};
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
  if (std::ranges::find(verbs, reversed.back()) != verbs.end()) return {};
  return usage_error(app, fmt::format("'{}' is no verb{}", reversed.back(),
                                      config::did_you_mean(reversed.back(), verbs)));
}

Result<Command> parse_verbs(std::vector<std::string> reversed, std::string_view version) {
  RawArguments raw;
  CLI::App app("Mounts S3 buckets, with bulk data by RDMA where the server can.", "s3rdmafs");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("s3rdmafs {}", version),
                       "Print the version and exit");

  CLI::App& mount = *app.add_subcommand("mount", "Mount a bucket");
  mount.add_option("FILE", raw.file, "The mount file, see s3rdmafs.toml(5)")
      ->required()
      ->type_name("");
  mount
      .add_option("MOUNTPOINT", raw.mountpoint, "Where to mount; default: mount.point of the file")
      ->type_name("");
  mount.add_flag("-f,--foreground", raw.foreground, "Do not become a daemon");
  add_option_lists(mount, raw);

  CLI::App& umount = *app.add_subcommand("umount", "Unmount and end the daemon");
  umount.add_option("MOUNTPOINT", raw.mountpoint, "Where it is mounted")->required()->type_name("");
  umount.add_flag("--lazy", raw.lazy, "Detach now, end when nobody uses it any more");

  CLI::App& stats = *app.add_subcommand("stats", "Print the counters of a mount");
  stats.add_option("MOUNTPOINT", raw.mountpoint, "Where it is mounted")->required()->type_name("");

  CLI::App& warm = *app.add_subcommand("warm", "Make objects resident ahead of time");
  warm.add_option("MOUNTPOINT", raw.mountpoint, "Where it is mounted")->required()->type_name("");
  warm.add_option("PATH", raw.paths,
                  "Files, directories (with all below them) and patterns in the mount")
      ->required()
      ->type_name("");
  warm.add_flag("--release", raw.release, "Let go of what was made resident");

  CLI::App& doctor = *app.add_subcommand("doctor", "Find out what a mount lacks, and what to do");
  doctor
      .add_option("FILE", raw.file,
                  "The mount file, see s3rdmafs.toml(5); default: the machine "
                  "alone is looked at")
      ->type_name("");
  doctor.add_flag("--json", raw.json, "Print what was found as JSON");
  doctor.add_flag("--measure", raw.measure, "Measure longer, and larger requests");
  doctor.add_option("--report", raw.report, "Write all that was found to this file, as JSON")
      ->type_name("FILE");

  CLI::App& config =
      *app.add_subcommand("config", "Check a mount file and print what is in effect");
  config.add_option("FILE", raw.file, "The mount file, see s3rdmafs.toml(5)")
      ->required()
      ->type_name("");
  add_option_lists(config, raw);

  if (Result<void> known = check_verb(app, reversed); !known) return std::unexpected(known.error());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    return ShowText{app.help()};
  } catch (const CLI::CallForVersion& call) {
    return ShowText{std::string(call.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    return usage_error(app, error.what());
  }

  if (umount.parsed()) return UmountCommand{.mountpoint = raw.mountpoint, .lazy = raw.lazy};
  if (doctor.parsed()) {
    return DoctorCommand{
        .file = raw.file, .json = raw.json, .measure = raw.measure, .report = raw.report};
  }
  if (stats.parsed()) return StatsCommand{.mountpoint = raw.mountpoint};
  if (warm.parsed()) {
    return WarmCommand{.mountpoint = raw.mountpoint, .paths = raw.paths, .release = raw.release};
  }
  auto options = config::parse_mount_options(raw.option_lists, {});
  if (!options) return usage_error(app, options.error().detail);
  if (config.parsed()) {
    return ConfigCommand{.file = raw.file, .overrides = std::move(options->overrides)};
  }
  return MountCommand{.file = raw.file,
                      .mountpoint = raw.mountpoint,
                      .foreground = raw.foreground,
                      .fake = false,
                      .mount_namespace = {},
                      .kernel_options = std::move(options->kernel_options),
                      .overrides = std::move(options->overrides)};
}

}  // namespace

Result<Command> parse_command_line(std::span<const std::string> arguments,
                                   std::string_view version) {
  // CLI11 wants its vector back to front.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  const std::string name = reversed.empty() ? "" : reversed.back();
  if (!reversed.empty()) reversed.pop_back();
  return name.ends_with(kHelperName) ? parse_helper(std::move(reversed))
                                     : parse_verbs(std::move(reversed), version);
}

}  // namespace s3rdmafs::daemon
