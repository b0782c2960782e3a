// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "s3/endpoints/endpoint.h"
#include "s3/endpoints/endpoint_lease.h"
#include "s3/endpoints/endpoint_set.h"
#include "s3/store_options.h"

namespace s3rdmafs::s3 {

/// The servers of one store. Chooses among them, counts what each has outstanding, and logs when
/// one dies or comes back. Thread-safe.
class Endpoints {
 public:
  /// Which server a request should go to, if there is a choice.
  struct Preference {
    const Endpoint* preferred = nullptr;
    const Endpoint* avoided = nullptr;
    /// Numbers, as EndpointSet::Preference has them.
    std::span<const std::size_t> excluded = {};
  };

  /// Borrows credentials, clock and metrics.
  Endpoints(const EndpointOptions& options, const std::string& bucket, const BucketTerms& terms,
            CredentialSource& credentials, const Clock& clock, metrics::Registry& metrics);

  /// Chooses the endpoint of a request. It counts as outstanding there until the lease ends.
  [[nodiscard]] EndpointLease lease(std::uint64_t bytes, const Preference& preference);

  /// The endpoint that a request would go to now. Counts nothing.
  [[nodiscard]] Endpoint& peek();

  [[nodiscard]] bool has_other_alive(const Endpoint& endpoint,
                                     std::span<const std::size_t> excluded = {}) const {
    return set_.has_other_alive(endpoint.number, excluded);
  }
  [[nodiscard]] std::size_t size() const { return all_.size(); }

 private:
  friend class EndpointLease;
  void end(Endpoint& endpoint, std::uint64_t bytes, EndpointSet::Outcome outcome);
  void on_alive_changed(Endpoint& endpoint, bool is_alive) const;

  std::vector<std::unique_ptr<Endpoint>> all_;  // never changes: addresses are handed out
  EndpointSet set_;
};

}  // namespace s3rdmafs::s3
