// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "s3/endpoints/endpoint.h"
#include "s3/endpoints/endpoint_set.h"
#include "s3/store_options.h"

namespace s3rdmafs::s3 {

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
  Endpoints(const EndpointOptions& options, const std::string& bucket,
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
