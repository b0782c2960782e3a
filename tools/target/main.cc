// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/http/mhd_server.h"
#include "target/options.h"
#include "target/port_file.h"
#include "target/rdma/rc/rc_control.h"
#include "target/rdma/rc/rc_device.h"
#include "target/rdma/rc/rc_service.h"
#include "target/rdma/shm/shm_service.h"
#include "target/rdma/token_dispatch.h"
#include "target/s3/s3_handler.h"

namespace s3rdmafs::target {
namespace {

/// Blocked before any thread starts, so that all inherit it and only serve() takes them.
sigset_t block_end_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);  // a client that leaves must not end the server
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
    if (auto written = write_port_file(port_file, listener.port); !written) return written;
  }
  std::printf("s3rdma-target: listening on http://%s\n", address.c_str());
  std::fflush(stdout);
  return {};
}

/// The shm fabric's server side; none for "off", and for "auto" where another program has its
/// socket's name.
Result<std::unique_ptr<TransferService>> start_shm(const Options& options, std::uint16_t port) {
  if (options.shm_socket == "off") return nullptr;
  const bool is_auto = options.shm_socket == "auto";
  const std::string name = is_auto ? rdma::shm::default_socket_name(port) : options.shm_socket;
  if (options.dma == Dma::kNone) {
    log::warn(
        "--dma none: NO DATA IS MOVED. Reads by RDMA token get whatever was in the client's "
        "memory, and what is stored by one is zeros. For benchmarks alone");
  }
  const ShmRules rules{.users = options.shm_users, .limits = shm_limits_of_this_host()};
  return is_auto ? make_shm_service_if_free(name, options.dma, rules)
                 : make_shm_service(name, options.dma, rules);
}

/// The device of the rc fabric; none for "off", and for "auto" where there is none that works.
Result<std::unique_ptr<RcDevice>> start_rc(const Options& options, const Listener& listener) {
  if (options.rc_device == "off") return nullptr;
  const bool is_auto = options.rc_device == "auto";
  auto device = RcDevice::open({.name = is_auto ? "" : options.rc_device,
                                .gid_index = options.rc_gid_index,
                                .address = listener.address});
  if (device || !is_auto) return device;
  log::info("no rc fabric: {}", device.error().detail);
  return nullptr;
}

Result<void> serve(const Options& options) {
  if (auto set = set_up_log(options.log_level, LogSink::kStandardError); !set) return set;
  const sigset_t end_signals = block_end_signals();
  raise_descriptor_limit();
  auto store = Store::open(options.root);
  if (!store) return std::unexpected(store.error());
  auto listener = listen_on(options.listen);
  if (!listener) return std::unexpected(listener.error());

  auto shm = start_shm(options, listener->port);
  if (!shm) return std::unexpected(shm.error());
  auto rc_device = start_rc(options, *listener);
  if (!rc_device) return fail_with_context("--rc", rc_device.error());

  const SystemClock clock;
  std::optional<RcService> rc;
  if (*rc_device) rc.emplace((*rc_device)->connector(), (*rc_device)->staging(), clock);
  TokenDispatch dispatch(shm->get(), rc ? &*rc : nullptr);
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
                          .terms = options.terms,
                          .etags = options.etags,
                          .rdma = &dispatch,
                          .behaviour = options.behaviour,
                          .faults = &faults,
                          .delay = options.delay,
                          .has_fault_control = options.has_fault_control,
                          .clock = clock,
                          .snapshots = snapshots,
                          .traffic = traffic};
  S3Handler s3(services);
  RcControl handler(rc ? &*rc : nullptr, s3);
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
