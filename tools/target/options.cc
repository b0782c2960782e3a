// SPDX-License-Identifier: Apache-2.0
#include "target/options.h"

#include <charconv>
#include <cstdio>
#include <vector>

#include <CLI/CLI.hpp>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

constexpr int kUsageExitCode = 2;

ParsedOptions usage_error(const std::string& what) {
  std::fprintf(stderr, "s3rdma-target: %s\nTry s3rdma-target --help.\n", what.c_str());
  return {.options = {}, .serve = false, .exit_code = kUsageExitCode};
}

/// Options that CLI11 stores as texts, before they are checked.
struct Texts {
  std::vector<std::string> keys;
  std::string key_file;
  std::string temporary_keys;
  std::string shm_uid;
  std::string dma = "copy";
  std::string etag = "md5";
  std::string behave_as{behaviours().front().name};
  bool takes_any_token = false;
  std::vector<std::string> faults;
  std::string delay;
};

void declare_access(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--root", options.root, "Folder whose subfolders are the buckets")->required();
  app.add_option("--listen", options.listen, "HOST:PORT; port 0 lets the kernel choose")
      ->capture_default_str();
  app.add_option("--key", texts.keys,
                 "ACCESS:SECRET that may do everything; may be repeated. Visible in "
                 "the process list: use --key-file for a secret that matters")
      ->allow_extra_args(false);
  app.add_option("--key-file", texts.key_file, "File with one ACCESS:SECRET a line");
  app.add_option("--temporary-keys", texts.temporary_keys,
                 "Secret by which a test makes keys that end, see s3rdma-target(1)");
  app.add_flag("--anonymous-read", options.anonymous_read,
               "Let any client read and list objects without a key");
  app.add_flag("--requester-pays", options.terms.requester_pays,
               "Refuse requests that do not agree to pay (x-amz-request-payer)");
  app.add_option("--owner", options.terms.owner,
                 "Account that the buckets belong to; requests that expect another are refused");
  app.add_flag("--play-encryption", options.terms.plays_encryption,
               "Take the headers of server-side encryption, and encrypt nothing");
  app.add_option("--etag", texts.etag,
                 "md5, or crc64: ETags of a CRC64NVME instead, for a tenth of the processor time")
      ->check(CLI::IsMember({"md5", "crc64"}))
      ->capture_default_str();
  app.add_option("--domain", options.domain,
                 "Name below which buckets are hosts: BUCKET.NAME (path-style works always)");
  app.add_option("--region", options.region, "Region that signatures must name; any if not given");
}

void declare_fabrics(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--shm-socket", options.shm_socket,
                 "UNIX socket of the shm fabric: a name (\"@\" in front: abstract), auto or off")
      ->capture_default_str();
  app.add_option("--shm-uid", texts.shm_uid,
                 "User, besides the server's own and root, whose mounts the shm fabric serves: a "
                 "number, or any");
  app.add_option("--dma", texts.dma,
                 "copy, or none: the shm fabric answers at once and moves no byte; stored objects "
                 "are zeros. For benchmarks alone")
      ->check(CLI::IsMember({"copy", "none"}))
      ->capture_default_str();
  app.add_option("--rc", options.rc_device,
                 "RDMA device of the rc fabric: a name, auto (if there is one) or off")
      ->capture_default_str();
  app.add_option("--rc-gid-index", options.rc_gid_index,
                 "Index in the device's GID table; the best one if not given")
      ->check(CLI::Range(0, 255));
}

void declare_behaviour(CLI::App& app, Options& options, Texts& texts) {
  app.add_option("--behave-as", texts.behave_as, "Server to behave as: " + behaviour_names())
      ->capture_default_str();
  app.add_flag("--any-token", texts.takes_any_token,
               "Do not look at the form of tokens, whatever --behave-as says");
  app.add_option("--fault", texts.faults,
                 "KIND[:ARG][@OPERATION][@COUNT]: lets requests with a token go wrong; may be "
                 "repeated. See s3rdma-target(1)")
      ->allow_extra_args(false);
  app.add_option("--delay", texts.delay,
                 "Time, such as 20ms, by which each answer to an S3 request is late");
  app.add_flag("--allow-fault-control", options.has_fault_control,
               "Let programs of this host change the faults while the server runs");
}

void declare_running(CLI::App& app, Options& options) {
  app.add_option("--port-file", options.port_file,
                 "File that gets the port's number once connections are accepted");
  app.add_option("--log-level", options.log_level, "trace, debug, info, warn or error")
      ->capture_default_str();
}

Result<void> take_keys(const Texts& texts, Options& options) {
  for (const std::string& key : texts.keys) {
    if (auto added = options.keys.add(key); !added) {
      return fail_with_context("--key", added.error());
    }
  }
  if (!texts.key_file.empty()) {
    if (auto added = options.keys.add_file(texts.key_file); !added) return added;
  }
  if (!texts.temporary_keys.empty()) options.keys.take_temporary(texts.temporary_keys);
  if (!options.keys.empty() || options.anonymous_read) return {};
  return fail_with_advice(ErrorCode::kInvalidArgument, "no client could use the server",
                          "give --key ACCESS:SECRET, --key-file FILE or --anonymous-read");
}

Result<void> take_behaviour(const Texts& texts, Options& options) {
  const auto behaviour = find_behaviour(texts.behave_as);
  if (!behaviour) {
    return fail_with_advice(
        ErrorCode::kInvalidArgument,
        fmt::format("--behave-as: there is no behaviour \"{}\"", texts.behave_as),
        "choose one of " + behaviour_names());
  }
  options.behaviour = *behaviour;
  if (texts.takes_any_token) options.behaviour.token_form = TokenForm::kOpaque;
  return {};
}

Result<void> take_shm_user(const std::string& text, ShmUsers& users) {
  if (text.empty()) return {};
  if (text == "any") {
    users.everybody = true;
    return {};
  }
  uid_t user = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), user);
  if (error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("--shm-uid: \"{}\" is neither the number of a user nor any", text));
  }
  users.also = user;
  return {};
}

Result<void> take_faults(const Texts& texts, Options& options) {
  for (const std::string& text : texts.faults) {
    const auto fault = parse_fault(text);
    if (!fault) return fail_with_context("--fault", fault.error());
    options.faults.push_back(*fault);
  }
  return {};
}

Result<void> take_delay(const std::string& text, Options& options) {
  if (text.empty()) return {};
  const auto delay = parse_duration(text);
  if (!delay) return fail_with_context("--delay", delay.error());
  options.delay = *delay;
  return {};
}

Result<void> take(const Texts& texts, Options& options) {
  options.etags = texts.etag == "crc64" ? EtagKind::kCrc64 : EtagKind::kMd5;
  options.dma = texts.dma == "none" ? Dma::kNone : Dma::kCopy;
  if (auto taken = take_keys(texts, options); !taken) return taken;
  if (auto taken = take_behaviour(texts, options); !taken) return taken;
  if (auto taken = take_shm_user(texts.shm_uid, options.shm_users); !taken) return taken;
  if (auto taken = take_delay(texts.delay, options); !taken) return taken;
  return take_faults(texts, options);
}

}  // namespace

ParsedOptions parse_options(int argc, char** argv) {
  ParsedOptions parsed;
  Texts texts;
  CLI::App app{
      "An S3 server over a local folder, with the server side of S3 over RDMA.\n"
      "For demos, tests and benchmarks; it is not a production store.",
      "s3rdma-target"};
  app.set_version_flag("--version", S3RDMAFS_VERSION);
  declare_access(app, parsed.options, texts);
  declare_fabrics(app, parsed.options, texts);
  declare_behaviour(app, parsed.options, texts);
  declare_running(app, parsed.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    parsed.exit_code = app.exit(e) == 0 ? 0 : kUsageExitCode;
    return parsed;
  }
  if (auto taken = take(texts, parsed.options); !taken) return usage_error(taken.error().detail);
  parsed.serve = true;
  return parsed;
}

}  // namespace s3rdmafs::target
