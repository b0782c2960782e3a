// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/other_source.h"

#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/tcp.h"
#include "daemon/mount/host_port.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::chrono::milliseconds kConnectTimeoutEach{1000};
constexpr int kAddressesMax = 10;

}  // namespace

std::string find_other_source(const Context& context, const std::string& source_address) {
  const HostPort endpoint = host_port_of(context.config().endpoint.all_urls().front());
  int tried = 0;
  for (const std::string& address : context.machine->addresses()) {
    if (address == source_address) continue;
    if (++tried > kAddressesMax) break;
    if (connect_from(address, endpoint, kConnectTimeoutEach)) return address;
  }
  return {};
}

}  // namespace s3rdmafs::daemon::doctor
