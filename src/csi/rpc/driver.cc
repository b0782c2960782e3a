// SPDX-License-Identifier: Apache-2.0
// The lock of the state folder is taken before the socket is touched, so a socket that is there
// then belongs to a dead driver, or to a program that has nothing to do with this one: that is left
// alone.
#include "csi/rpc/driver.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string_view>
#include <thread>

#include <csi/rpc/grpc.h>

#include "csi/node/node_state.h"
#include "csi/node/pod_folder.h"
#include "csi/node/volume_node.h"
#include "csi/rpc/identity_service.h"
#include "csi/rpc/node_service.h"
#include "csi/volume/checks.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"
#include "s3rdmafs/base/unix_socket.h"

namespace s3rdmafs::csi {
namespace {

// kubelet has a few calls for each pod that starts or ends; what is more is answered with
// RESOURCE_EXHAUSTED.
constexpr int kThreadsMax = 64;
constexpr std::chrono::seconds kCallsEndTime{10};
constexpr std::chrono::seconds kSweepPause{60};
constexpr std::chrono::milliseconds kStopLook{200};
constexpr std::size_t kNodeIdBytesMax = 253;  // of a node's name in Kubernetes

Result<std::string> socket_path_of(const std::string& endpoint) {
  std::string_view path = endpoint;
  for (const std::string_view prefix : {"unix://", "unix:"}) {
    if (!path.starts_with(prefix)) continue;
    path.remove_prefix(prefix.size());
    break;
  }
  if (auto good = check_path("--endpoint", path); !good) return std::unexpected(good.error());
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return fail(ErrorCode::kInvalidArgument,
                "--endpoint is longer than the name of a socket can be");
  }
  return std::string(path);
}

Result<void> check_options(const DriverOptions& options) {
  for (const auto& [field, path] : {std::pair("--pods", &options.pods),
                                    {"--state", &options.state},
                                    {"--keep", &options.keep},
                                    {"--program", &options.program}}) {
    if (auto good = check_path(field, *path); !good) return good;
  }
  if (options.node_id.empty() || options.node_id.size() > kNodeIdBytesMax ||
      !is_plain_text(options.node_id)) {
    return fail(ErrorCode::kInvalidArgument, "--node-id has to be the node's name");
  }
  const auto is_of_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  };
  if (options.name.empty() || options.name.size() > 63 ||
      !std::ranges::all_of(options.name, is_of_name)) {
    return fail(ErrorCode::kInvalidArgument,
                "--name has to be a domain name of at most 63 characters");
  }
  return {};
}

Result<void> check_socket_is_free(const std::string& path) {
  const auto other = connect_to_unix_socket(path);
  if (other) {
    return fail(ErrorCode::kBusy, path + ": another program listens there; end it first");
  }
  if (other.error().code == ErrorCode::kNotFound) return {};
  return std::unexpected(other.error());
}

sigset_t ending_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT}) ::sigaddset(&set, signal);
  return set;
}

void sweep_until(const std::stop_token& stop, VolumeNode& node, const Clock& clock) {
  set_thread_name("csi-sweep");
  while (!stop.stop_requested()) {
    node.sweep();
    const Deadline next = clock.now() + kSweepPause;
    while (!stop.stop_requested() && clock.now() < next)
      pause_until(clock, clock.now() + kStopLook);
  }
}

Result<void> serve(const DriverOptions& options, const std::string& socket, VolumeNode& node,
                   const Clock& clock) {
  IdentityService identity(options.name, node);
  NodeService node_service(options.node_id, node, clock);
  grpc::ResourceQuota quota("calls");
  quota.SetMaxThreads(kThreadsMax);
  int bound = 0;
  grpc::ServerBuilder builder;
  builder.SetResourceQuota(quota);
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials(), &bound);
  builder.RegisterService(&identity);
  builder.RegisterService(&node_service);
  ::umask(0077);  // the socket is root's alone
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (!server || bound == 0) return fail(ErrorCode::kSystem, socket + ": cannot listen there");
  const std::jthread sweeper([&](const std::stop_token& stop) { sweep_until(stop, node, clock); });
  log::info("driver {} of node {} serves at {}", options.name, options.node_id, socket);
  const sigset_t signals = ending_signals();
  int signal = 0;
  ::sigwait(&signals, &signal);
  log::info("driver {} ends: signal {}; mounts stay", options.name, signal);
  server->Shutdown(std::chrono::system_clock::now() + kCallsEndTime);
  return {};
}

}  // namespace

Result<void> run_driver(const DriverOptions& options) {
  static const SystemClock clock;
  if (auto good = check_options(options); !good) return good;
  const auto socket = socket_path_of(options.endpoint);
  if (!socket) return std::unexpected(socket.error());
  // Before there are threads: all of them inherit it, and sigwait(3) alone takes the signals.
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  auto state = NodeState::open(options.state, options.keep, clock);
  if (!state) return std::unexpected(state.error());
  if (auto unused = check_socket_is_free(*socket); !unused) return unused;
  auto pods = PodFolder::open(options.pods);
  if (!pods) return std::unexpected(pods.error());
  VolumeNode node(
      std::move(*state), std::move(*pods),
      MountDaemons(
          {.program = options.program, .owner = options.owner, .environment = options.environment},
          clock),
      clock);
  if (auto able = node.check_node(); !able) {
    log::warn("this node cannot mount: {}; calls will fail", able.error().detail);
  }
  return serve(options, *socket, node, clock);
}

}  // namespace s3rdmafs::csi
