// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <exception>
#include <map>
#include <string>

#include <CLI/CLI.hpp>

#include "csi/rpc/driver.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::csi {
namespace {

int run(int argc, char** argv) {
  DriverOptions options;
  std::string log_level = "info";
  const std::map<std::string, DaemonOwner> owners{{"fork", DaemonOwner::kFork},
                                                  {"systemd", DaemonOwner::kSystemd}};
  CLI::App app("The CSI driver of s3rdmafs for one node of a Kubernetes cluster.", "s3rdmafs-csi");
  app.set_version_flag("--version", "s3rdmafs-csi " S3RDMAFS_VERSION);
  app.add_option("--endpoint", options.endpoint, "The socket to serve at")
      ->envname("CSI_ENDPOINT")
      ->capture_default_str();
  app.add_option("--node-id", options.node_id, "The node's name")->envname("NODE_NAME")->required();
  app.add_option("--name", options.name, "The driver's name")->capture_default_str();
  app.add_option("--pods", options.pods, "kubelet's folder")->capture_default_str();
  app.add_option("--state", options.state, "Folder in memory for mounts, records and secrets")
      ->capture_default_str();
  app.add_option("--keep", options.keep, "Folder for what outlives a reboot")
      ->capture_default_str();
  app.add_option("--program", options.program, "s3rdmafs")->capture_default_str();
  app.add_option("--daemons", options.owner, "The owner of the daemons: fork or systemd")
      ->transform(CLI::CheckedTransformer(owners))
      ->default_str("fork");
  app.add_option("--log-level", log_level, "debug, info, warn or error")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    options.environment.emplace_back(*variable);
  }
  if (const auto set = set_up_log(log_level, LogSink::kStandardError); !set) {
    log::critical("--log-level: {}", set.error().detail);
    return 1;
  }
  const auto served = run_driver(options);
  if (served) return 0;
  log::critical("the driver ends: {}", served.error().detail);
  return 1;
}

}  // namespace
}  // namespace s3rdmafs::csi

int main(int argc, char** argv) {
  try {
    return s3rdmafs::csi::run(argc, argv);
  } catch (const std::exception& problem) {
    s3rdmafs::log::critical("the driver ends: {}", problem.what());
    return 1;
  }
}
