// SPDX-License-Identifier: Apache-2.0
// Two grammars, one for each name the program is called by. CLI11 throws; no exception leaves this
// file.
#include "daemon/cli/grammar/command_line.h"

#include <algorithm>
#include <cmath>

#include "config/nearest_name.h"
#include "daemon/cli/grammar/raw_arguments.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::string_view kHelperName = "mount.s3rdma";

// Without this CLI11 would report an unknown command as a missing one.
Result<void> check_verb(const CLI::App& app, std::span<const std::string> reversed) {
  if (reversed.empty() || reversed.back().starts_with('-')) return {};
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands(nullptr)) verbs.push_back(verb->get_name());
  if (std::ranges::find(verbs, reversed.back()) != verbs.end()) return {};
  return usage_error(app, fmt::format("unknown command '{}'{}", reversed.back(),
                                      config::did_you_mean(reversed.back(), verbs)));
}

void add_file(CLI::App& verb, RawArguments& raw) {
  verb.add_option("FILE", raw.file, "The mount file; see s3rdmafs.toml(5)")
      ->required()
      ->type_name("");
}

void add_mountpoint(CLI::App& verb, RawArguments& raw) {
  verb.add_option("MOUNTPOINT", raw.mountpoint, "Where the bucket is mounted")
      ->required()
      ->type_name("");
}

// A verb declares its arguments, and becomes a Command once they are read.
struct Verb {
  const char* name;
  const char* summary;
  void (*declare)(CLI::App& verb, RawArguments& raw);
  Result<Command> (*make)(const CLI::App& app, const RawArguments& raw);
};

void declare_mount(CLI::App& verb, RawArguments& raw) {
  add_file(verb, raw);
  verb.add_option("MOUNTPOINT", raw.mountpoint,
                  "Where to mount the bucket; default: mount.point of the mount file")
      ->type_name("");
  verb.add_flag("-f,--foreground", raw.foreground, "Stay in the foreground");
  add_option_lists(verb, raw);
}

Result<Command> make_mount(const CLI::App& app, const RawArguments& raw) {
  auto options = config::parse_mount_options(raw.option_lists, {});
  if (!options) return usage_error(app, options.error().detail);
  return MountCommand{.file = raw.file,
                      .mountpoint = raw.mountpoint,
                      .foreground = raw.foreground,
                      .fake = false,
                      .mount_namespace = {},
                      .kernel_options = std::move(options->kernel_options),
                      .overrides = std::move(options->overrides)};
}

void declare_umount(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  verb.add_flag("--lazy", raw.lazy, "Detach now; the daemon ends with the last user of the mount");
}

Result<Command> make_umount(const CLI::App&, const RawArguments& raw) {
  return UmountCommand{.mountpoint = raw.mountpoint, .lazy = raw.lazy};
}

void declare_stats(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  verb.add_flag("--json", raw.json, "Print them as JSON, with percentiles of the latencies");
}

Result<Command> make_stats(const CLI::App&, const RawArguments& raw) {
  return StatsCommand{.mountpoint = raw.mountpoint, .json = raw.json};
}

// 0.1 s: a person cannot follow more looks.
void declare_top(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  CLI::Option* const once =
      verb.add_flag("--once", raw.once, "Print one frame as plain text, after one interval");
  verb.add_option("--interval", raw.interval_seconds, "Seconds between two looks; default: 1")
      ->check(CLI::Range(0.1, 3600.0))
      ->type_name("SECONDS");
  verb.add_option("--columns", raw.columns, "Width of that frame; default: 80")
      ->check(CLI::Range(40, 1000))
      ->needs(once)
      ->type_name("N");
  verb.add_option("--rows", raw.rows, "Height of that frame; default: 24")
      ->check(CLI::Range(16, 1000))
      ->needs(once)
      ->type_name("N");
}

Result<Command> make_top(const CLI::App&, const RawArguments& raw) {
  return TopCommand{.mountpoint = raw.mountpoint,
                    .once = raw.once,
                    .interval = std::chrono::milliseconds(std::lround(raw.interval_seconds * 1000)),
                    .columns = raw.columns,
                    .rows = raw.rows};
}

void declare_explain(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  verb.add_option("PATH", raw.path, "A file of the mount; default: the mount as a whole")
      ->type_name("");
  verb.add_option("--seconds", raw.seconds, "How long to look; default: 5")
      ->check(CLI::Range(1, 3600))
      ->type_name("N");
  verb.add_flag("--json", raw.json, "Print the causes as JSON");
}

Result<Command> make_explain(const CLI::App&, const RawArguments& raw) {
  return ExplainCommand{.mountpoint = raw.mountpoint,
                        .path = raw.path,
                        .time = std::chrono::seconds(raw.seconds),
                        .json = raw.json};
}

void declare_warm(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  CLI::Option* const paths =
      verb.add_option("PATH", raw.paths,
                      "Files, directories (with everything below them) and patterns in the mount");
  paths->type_name("");
  CLI::Option* const record =
      verb.add_option("--record", raw.record,
                      "Write the files that programs open into FILE, until interrupted")
          ->excludes(paths)
          ->type_name("FILE");
  CLI::Option* const trace = verb.add_option("--from-trace", raw.trace,
                                             "Fetch what a file of --record names, in its order")
                                 ->excludes(paths)
                                 ->excludes(record)
                                 ->type_name("FILE");
  CLI::Option* const manifest =
      verb.add_option("--from-manifest", raw.manifest, "Fetch what a manifest names")
          ->excludes(paths)
          ->excludes(record)
          ->excludes(trace)
          ->type_name("FILE");
  CLI::Option* const cached =
      verb.add_flag("--cached", raw.cached,
                    "Read into the read cache and the disk tier; nothing is pinned")
          ->excludes(record);
  CLI::Option* const rate =
      verb.add_option("--rate", raw.rate, "Fetch at most so much a second: 500MiB")
          ->excludes(record)
          ->type_name("SIZE");
  CLI::Option* const requests =
      verb.add_option("--requests", raw.requests, "Begin at most N fetches a second")
          ->check(CLI::Range(1, 1'000'000))
          ->excludes(record)
          ->type_name("N");
  CLI::Option* const release =
      verb.add_flag("--release", raw.release, "Release objects that were made resident");
  for (CLI::Option* const other : {record, trace, manifest, cached, rate, requests}) {
    release->excludes(other);
  }
}

Result<Command> make_warm(const CLI::App& app, const RawArguments& raw) {
  if (!raw.record.empty()) {
    return RecordCommand{.mountpoint = raw.mountpoint, .file = raw.record};
  }
  if (raw.paths.empty() && raw.trace.empty() && raw.manifest.empty()) {
    return usage_error(app, "PATH is required, or --from-trace, --from-manifest or --record");
  }
  WarmCommand command{.mountpoint = raw.mountpoint,
                      .paths = raw.paths,
                      .trace = raw.trace,
                      .manifest = raw.manifest,
                      .cached = raw.cached,
                      .requests_per_second = raw.requests,
                      .release = raw.release};
  if (!raw.rate.empty()) {
    const auto rate = parse_size(raw.rate);
    if (!rate || *rate == 0) {
      return usage_error(
          app, fmt::format("--rate {}: expected a size above 0 such as 500MiB", raw.rate));
    }
    command.bytes_per_second = *rate;
  }
  return command;
}

void declare_reload(CLI::App& verb, RawArguments& raw) {
  add_mountpoint(verb, raw);
  verb.add_flag("--dry-run", raw.dry_run, "Print the differences, and change nothing");
}

Result<Command> make_reload(const CLI::App&, const RawArguments& raw) {
  return ReloadCommand{.mountpoint = raw.mountpoint, .dry_run = raw.dry_run};
}

void declare_run(CLI::App& verb, RawArguments& raw) {
  verb.add_option("--report", raw.report,
                  "Each process appends to this file what it has read past FUSE")
      ->type_name("FILE");
  verb.add_option("COMMAND", raw.command, "The program and its arguments, after \"--\"")
      ->type_name("")
      ->required();
}

Result<Command> make_run(const CLI::App&, const RawArguments& raw) {
  return PastFuseCommand{.report = raw.report, .words = raw.command};
}

void declare_recover(CLI::App& verb, RawArguments& raw) {
  add_file(verb, raw);
  verb.add_option("MOUNTPOINT", raw.mountpoint,
                  "Where the bucket was mounted; default: mount.point of the mount file")
      ->type_name("");
  CLI::Option* const send = verb.add_flag("--send", raw.send, "Store the files in the bucket");
  verb.add_flag("--discard", raw.discard, "Remove the files for good")->excludes(send);
  verb.add_flag("--json", raw.json, "Print the files as JSON");
  add_option_lists(verb, raw);
}

Result<Command> make_recover(const CLI::App& app, const RawArguments& raw) {
  auto options = config::parse_mount_options(raw.option_lists, {});
  if (!options) return usage_error(app, options.error().detail);
  return RecoverCommand{.file = raw.file,
                        .mountpoint = raw.mountpoint,
                        .send = raw.send,
                        .discard = raw.discard,
                        .json = raw.json,
                        .overrides = std::move(options->overrides)};
}

void declare_doctor(CLI::App& verb, RawArguments& raw) {
  verb.add_option("FILE", raw.file,
                  "The mount file; see s3rdmafs.toml(5); default: check the machine alone")
      ->type_name("");
  verb.add_flag("--json", raw.json, "Print the findings as JSON");
  verb.add_flag("--measure", raw.measure, "Measure for longer, and with larger requests");
  verb.add_option("--report", raw.report, "Write a full report to this file, as JSON")
      ->type_name("FILE");
}

Result<Command> make_doctor(const CLI::App&, const RawArguments& raw) {
  return DoctorCommand{
      .file = raw.file, .json = raw.json, .measure = raw.measure, .report = raw.report};
}

// FILE and PREFIX are optional for CLI11, since --verify and --show need neither.
void declare_manifest(CLI::App& verb, RawArguments& raw) {
  verb.add_option("FILE", raw.file, "The mount file; see s3rdmafs.toml(5); with --show a key")
      ->type_name("");
  verb.add_option("PREFIX", raw.prefix, "Only keys that begin with this; default: bucket.prefix")
      ->type_name("");
  verb.add_option("-o,--output", raw.output, "The manifest to write")->type_name("FILE");
  verb.add_option("--from-inventory", raw.inventory,
                  "CSV files of an S3 inventory, and its manifest.json, to read in place of the "
                  "bucket")
      ->type_name("CSV");
  // 64: the default of http.connections_max, beyond which listings wait for each other.
  verb.add_option("--jobs", raw.jobs, "Listings side by side; default: 16")
      ->check(CLI::Range(1, 64))
      ->type_name("N");
  verb.add_option("--bucket", raw.bucket, "The directory of one of several [[bucket]] tables")
      ->type_name("DIRECTORY");
  verb.add_option("--verify", raw.verify, "Check every byte of this manifest")->type_name("FILE");
  verb.add_option("--show", raw.show, "Show what this manifest is of, or one of its keys")
      ->type_name("FILE");
}

Result<Command> make_manifest(const CLI::App& app, const RawArguments& raw) {
  using Action = ManifestCommand::Action;
  const bool reads = !raw.verify.empty() || !raw.show.empty();
  if (!reads && (raw.file.empty() || raw.output.empty())) {
    return usage_error(app, "a mount file and -o FILE are required, or --verify or --show");
  }
  const bool has_key = raw.verify.empty() && raw.prefix.empty();
  const bool writes = !raw.output.empty() || !raw.inventory.empty() || !raw.bucket.empty();
  if (reads &&
      (writes || (!raw.verify.empty() && !raw.show.empty()) || (!raw.file.empty() && !has_key))) {
    return usage_error(app, "--verify FILE and --show FILE [KEY] stand alone");
  }
  ManifestCommand command;
  if (!raw.verify.empty()) {
    command.action = Action::kVerify;
    command.manifest = raw.verify;
  } else if (!raw.show.empty()) {
    command.action = Action::kShow;
    command.manifest = raw.show;
    command.key = raw.file;
  } else {
    command.manifest = raw.output;
    command.file = raw.file;
    command.inventory = raw.inventory;
    command.jobs = raw.jobs;
    command.bucket = raw.bucket;
    if (app.get_subcommand("manifest")->count("PREFIX") > 0) command.prefix = raw.prefix;
  }
  return command;
}

void declare_config(CLI::App& verb, RawArguments& raw) {
  add_file(verb, raw);
  add_option_lists(verb, raw);
}

Result<Command> make_config(const CLI::App& app, const RawArguments& raw) {
  auto options = config::parse_mount_options(raw.option_lists, {});
  if (!options) return usage_error(app, options.error().detail);
  return ConfigCommand{.file = raw.file, .overrides = std::move(options->overrides)};
}

constexpr Verb kVerbs[] = {
    {"mount", "Mount a bucket", declare_mount, make_mount},
    {"umount", "Unmount a bucket and end its daemon", declare_umount, make_umount},
    {"stats", "Print the counters of a mount", declare_stats, make_stats},
    {"top", "Show what a mount does, live", declare_top, make_top},
    {"explain", "Say why a mount is as fast as it is", declare_explain, make_explain},
    {"warm", "Fetch objects ahead of time, or record what a job reads", declare_warm, make_warm},
    {"reload", "Read the mount file again, and change what can change", declare_reload,
     make_reload},
    {"run", "Run a program whose reads go past FUSE", declare_run, make_run},
    {"recover", "List, send or discard written files that a mount could not store", declare_recover,
     make_recover},
    {"doctor", "Check what a mount needs, and advise", declare_doctor, make_doctor},
    {"manifest", "Write the names of a bucket into a file", declare_manifest, make_manifest},
    {"config", "Check a mount file and print the settings in effect", declare_config, make_config},
};

Result<Command> parse_verbs(std::vector<std::string> reversed, std::string_view version) {
  RawArguments raw;
  CLI::App app("Mounts S3 buckets; bulk data goes by RDMA where the server supports it.",
               "s3rdmafs");
  app.require_subcommand(1);
  app.set_version_flag("--version", fmt::format("s3rdmafs {}", version),
                       "Print the version and exit");
  for (const Verb& verb : kVerbs) verb.declare(*app.add_subcommand(verb.name, verb.summary), raw);

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
  const auto* chosen = std::ranges::find_if(
      kVerbs, [&app](const Verb& verb) { return app.got_subcommand(verb.name); });
  return chosen->make(app, raw);
}

}  // namespace

std::unexpected<Error> usage_error(const CLI::App& app, std::string_view what) {
  std::string name = app.get_name();
  for (const CLI::App* verb : app.get_subcommands()) name += " " + verb->get_name();
  return fail(ErrorCode::kInvalidArgument, fmt::format("{}\nTry: {} --help", what, name));
}

CLI::Option* add_option_lists(CLI::App& app, RawArguments& raw) {
  // One value for each -o: otherwise CLI11 would take the positionals after it as further values.
  return app
      .add_option("-o,--options", raw.option_lists,
                  "Mount options, separated by commas: SECTION.KEY=VALUE of the mount file, uid=, "
                  "gid=, allow_other, and those of mount(8)")
      ->allow_extra_args(false)
      ->type_name("LIST");
}

Result<Command> parse_command_line(std::span<const std::string> arguments,
                                   std::string_view version) {
  // CLI11 wants its vector back to front.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  const std::string name = reversed.empty() ? "" : reversed.back();
  if (!reversed.empty()) reversed.pop_back();
  return name.ends_with(kHelperName) ? parse_helper(std::move(reversed), kHelperName)
                                     : parse_verbs(std::move(reversed), version);
}

}  // namespace s3rdmafs::daemon
