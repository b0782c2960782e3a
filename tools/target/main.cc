// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/http/mhd_server.h"
#include "target/options.h"
#include "target/rdma/shm_service.h"
#include "target/rdma/transfer_service.h"
#include "target/s3/s3_handler.h"

namespace s3rdmafs::target {
namespace {

/// Blocked before any thread starts, so that all inherit it and only wait_for_end() takes them.
sigset_t block_end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a client that goes away is no reason to end
  return signals;
}

/// Every connection and every open object costs a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> announce(const Listener& listener, const std::string& address,
                      const std::string& port_file) {
  if (!port_file.empty()) {
    // Renamed into place: whoever waits for the file never reads half of it.
    const std::string unfinished = port_file + ".tmp";
    std::ofstream file(unfinished);
    file << listener.port << "\n";
    file.close();
    if (!file || std::rename(unfinished.c_str(), port_file.c_str()) != 0) {
      return fail_errno(fmt::format("--port-file {}", port_file), errno);
    }
  }
  std::printf("s3rdma-target: listening on http://%s\n", address.c_str());
  std::fflush(stdout);
  return {};
}

/// The shm fabric's server side; none, which declines every token, for "off".
Result<std::unique_ptr<TransferService>> start_rdma(const std::string& socket, std::uint16_t port) {
  if (socket == "off") return nullptr;
  const std::string name = socket == "auto" ? rdma::shm::default_socket_name(port) : socket;
  return make_shm_service(name);
}

Result<void> serve(const Options& options) {
  if (auto set = set_up_log(options.log_level, LogSink::kStandardError); !set) return set;
  const sigset_t end_signals = block_end_signals();
  raise_descriptor_limit();
  auto store = Store::open(options.root);
  if (!store) return std::unexpected(store.error());
  auto listener = listen_on(options.listen);
  if (!listener) return std::unexpected(listener.error());

  auto rdma = start_rdma(options.shm_socket, listener->port);
  if (!rdma) return std::unexpected(rdma.error());

  const SystemClock clock;
  SnapshotCache snapshots(clock);
  metrics::Registry registry;
  Traffic traffic(registry);
  Faults faults(registry);
  faults.replace(options.faults);
  const Services services{.store = std::move(*store),
                          .keys = options.keys,
                          .region = options.region,
                          .domain = options.domain,
                          .anonymous_read = options.anonymous_read,
                          .rdma = rdma->get(),
                          .behaviour = options.behaviour,
                          .faults = &faults,
                          .has_fault_control = options.has_fault_control,
                          .clock = clock,
                          .snapshots = snapshots,
                          .traffic = traffic};
  S3Handler handler(services);
  const std::string address = listener->address;
  const Listener described{.socket = {}, .address = address, .port = listener->port};
  auto server = MhdServer::start(std::move(*listener), handler);
  if (!server) return std::unexpected(server.error());
  if (auto announced = announce(described, address, options.port_file); !announced) {
    return announced;
  }
  int signal = 0;
  ::sigwait(&end_signals, &signal);
  faults.stop();
  return {};
}

}  // namespace
}  // namespace s3rdmafs::target

int main(int argc, char** argv) {
  using namespace s3rdmafs::target;
  const ParsedOptions parsed = parse_options(argc, argv);
  if (!parsed.serve) return parsed.exit_code;
  if (auto served = serve(parsed.options); !served) {
    std::fprintf(stderr, "s3rdma-target: %s\n", served.error().detail.c_str());
    return 1;
  }
  return 0;
}
