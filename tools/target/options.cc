// SPDX-License-Identifier: Apache-2.0
#include "target/options.h"

#include <charconv>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr int kUsageExitCode = 2;

ParsedOptions usage_error(const std::string& what) {
  std::fprintf(stderr, "s3rdma-target: %s\nTry s3rdma-target --help.\n", what.c_str());
  return {.options = {}, .serve = false, .exit_code = kUsageExitCode};
}

/// False where `text` is neither a number nor "any".
bool add_user(ShmUsers& users, std::string_view text) {
  if (text == "any") {
    users.everybody = true;
    return true;
  }
  uid_t user = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  users.also = user;
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  ParsedOptions parsed;
  Options& options = parsed.options;
  options.listen = "127.0.0.1:9000";
  options.log_level = "info";
  options.shm_socket = "auto";
  options.rc_device = "auto";
  std::vector<std::string> keys;
  std::string key_file;
  std::string behave_as(behaviours().front().name);
  bool takes_any_token = false;
  std::vector<std::string> faults;
  std::string dma = "copy";
  std::string shm_uid;

  CLI::App app{
      "An S3 server over a local folder, with the server side of S3 over RDMA.\n"
      "For demos, tests and benchmarks; it is no production store.",
      "s3rdma-target"};
  app.set_version_flag("--version", S3RDMAFS_VERSION);
  app.add_option("--root", options.root, "Folder whose subfolders are the buckets")->required();
  app.add_option("--listen", options.listen, "HOST:PORT; port 0 lets the kernel choose")
      ->capture_default_str();
  app.add_option("--key", keys,
                 "ACCESS:SECRET that may do everything; may be repeated. Visible in "
                 "the process list: use --key-file for a secret that matters")
      ->allow_extra_args(false);
  app.add_option("--key-file", key_file, "File with one ACCESS:SECRET a line");
  app.add_flag("--anonymous-read", options.anonymous_read,
               "Let everybody read and list objects without a key");
  app.add_option("--domain", options.domain,
                 "Name below which buckets are hosts: BUCKET.NAME (path-style works always)");
  app.add_option("--region", options.region, "Region that signatures must name; any if not given");
  app.add_option("--shm-socket", options.shm_socket,
                 "UNIX socket of the shm fabric: a name (\"@\" in front: abstract), auto or off")
      ->capture_default_str();
  app.add_option("--shm-uid", shm_uid,
                 "User, besides the server's own and root, whose mounts the shm fabric serves: a "
                 "number, or any");
  app.add_option("--dma", dma,
                 "copy, or none: the shm fabric answers a GET at once and moves no byte. For "
                 "benchmarks alone")
      ->check(CLI::IsMember({"copy", "none"}))
      ->capture_default_str();
  app.add_option("--rc", options.rc_device,
                 "RDMA device of the rc fabric: a name, auto (if there is one) or off")
      ->capture_default_str();
  app.add_option("--rc-gid-index", options.rc_gid_index,
                 "Index in the device's GID table; the best one if not given")
      ->check(CLI::Range(0, 255));
  app.add_option("--behave-as", behave_as, "Server to behave as: " + behaviour_names())
      ->capture_default_str();
  app.add_flag("--any-token", takes_any_token,
               "Do not look at the form of tokens, whatever --behave-as says");
  app.add_option("--fault", faults,
                 "KIND[:ARG][@OPERATION][@COUNT]: lets requests with a token go wrong; may be "
                 "repeated. See s3rdma-target(1)")
      ->allow_extra_args(false);
  app.add_flag("--allow-fault-control", options.has_fault_control,
               "Let programs of this host change the faults while the server runs");
  app.add_option("--port-file", options.port_file,
                 "File that gets the port's number once connections are accepted");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn or error")
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    parsed.exit_code = app.exit(e) == 0 ? 0 : kUsageExitCode;
    return parsed;
  }
  for (const std::string& key : keys) {
    if (auto added = options.keys.add(key); !added) {
      return usage_error("--key: " + added.error().detail);
    }
  }
  if (!key_file.empty()) {
    if (auto added = options.keys.add_file(key_file); !added) {
      return usage_error(added.error().detail);
    }
  }
  if (options.keys.empty() && !options.anonymous_read) {
    return usage_error(
        "nobody could use it: give --key ACCESS:SECRET, --key-file FILE or "
        "--anonymous-read");
  }
  const auto behaviour = find_behaviour(behave_as);
  if (!behaviour) {
    return usage_error(
        fmt::format("--behave-as: \"{}\" is none of {}", behave_as, behaviour_names()));
  }
  options.behaviour = *behaviour;
  if (!shm_uid.empty() && !add_user(options.shm_users, shm_uid)) {
    return usage_error(
        fmt::format("--shm-uid: \"{}\" is neither a user's number nor any", shm_uid));
  }
  options.dma = dma == "none" ? Dma::kNone : Dma::kCopy;
  if (takes_any_token) options.behaviour.token_form = TokenForm::kOpaque;
  for (const std::string& text : faults) {
    const auto fault = parse_fault(text);
    if (!fault) return usage_error("--fault: " + fault.error().detail);
    options.faults.push_back(*fault);
  }
  parsed.serve = true;
  return parsed;
}

}  // namespace s3rdmafs::target
