// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/mount_config.h"
#include "s3/endpoints/capability.h"
#include "s3/endpoints/checksum_support.h"
#include "s3/endpoints/endpoint_set.h"
#include "s3/endpoints/path_model.h"
#include "s3/wire/request.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::s3 {

/// One server of the store: how it is addressed, and what was learned about it. A server that does
/// no RDMA says nothing about the others. Thread-safe.
struct Endpoint {
  /// Borrows credentials, clock and metrics.
  Endpoint(std::size_t number, const config::MountConfig::Endpoint& config,
           const std::string& bucket, CredentialSource& credentials, const Clock& clock,
           metrics::Registry& metrics);

  const std::size_t number;  ///< as in endpoint.urls, from 0; the fabric's name for it too
  RequestBuilder builder;
  Capabilities capabilities;
  ChecksumSupport checksums;
  PathModel read_paths;
  PathModel write_paths;
  /// It could not be reached since an RDMA transfer last asked: its sessions may be gone.
  std::atomic<bool> may_have_restarted{false};

  metrics::Counter& requests;
  metrics::Counter& failures;
  metrics::Counter& given_up;
  metrics::Gauge& outstanding_bytes;
  metrics::Gauge& is_alive;
};

/// The servers of one store, with the choice among them counted and logged. Thread-safe.
class Endpoints {
 public:
  /// Where a request should go, if it may choose.
  struct Preference {
    const Endpoint* preferred = nullptr;
    const Endpoint* avoided = nullptr;
    /// Numbers, as EndpointSet::Preference has them.
    std::span<const std::size_t> excluded = {};
  };

  /// Borrows credentials, clock and metrics.
  Endpoints(const config::MountConfig::Endpoint& config, const std::string& bucket,
            CredentialSource& credentials, const Clock& clock, metrics::Registry& metrics);

  /// The endpoint for a request; counted as outstanding until end().
  [[nodiscard]] Endpoint& begin(std::uint64_t bytes, const Preference& preference);
  void end(Endpoint& endpoint, std::uint64_t bytes, EndpointSet::Outcome outcome);

  /// Where a request would go now, for questions about it.
  [[nodiscard]] Endpoint& peek();

  [[nodiscard]] bool has_other_alive(const Endpoint& endpoint,
                                     std::span<const std::size_t> excluded = {}) const {
    return set_.has_other_alive(endpoint.number, excluded);
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  std::vector<std::unique_ptr<Endpoint>> all_;  // never changes: addresses are handed out
  EndpointSet set_;
};

}  // namespace s3rdmafs::s3
