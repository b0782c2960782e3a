// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/endpoints.h"

#include <optional>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

std::optional<std::size_t> number_of(const Endpoint* endpoint) {
  if (endpoint == nullptr) return std::nullopt;
  return endpoint->number;
}

}  // namespace

Endpoints::Endpoints(const EndpointOptions& options, const std::string& bucket,
                     const BucketTerms& terms, CredentialSource& credentials, const Clock& clock,
                     metrics::Registry& metrics)
    : set_(options.urls.size(), clock) {
  for (const std::string& url : options.urls) {
    const BucketAddress address{.bucket = bucket,
                                .url = url,
                                .region = options.region,
                                .addressing = options.addressing,
                                .terms = terms};
    const std::size_t number = all_.size();
    all_.push_back(std::make_unique<Endpoint>(number, address, credentials, clock, metrics));
    if (!options.fabric_numbers.empty()) {
      all_.back()->fabric_number = options.fabric_numbers.at(number);
    }
  }
}

EndpointLease Endpoints::lease(std::uint64_t bytes, const Preference& preference) {
  Endpoint& endpoint = *all_.at(set_.begin(bytes, {.preferred = number_of(preference.preferred),
                                                   .avoided = number_of(preference.avoided),
                                                   .excluded = preference.excluded}));
  endpoint.outstanding_bytes.add(static_cast<std::int64_t>(bytes));
  return {*this, endpoint, bytes};
}

Endpoint& Endpoints::peek() { return lease(0, {}).endpoint(); }

void Endpoints::end(Endpoint& endpoint, std::uint64_t bytes, EndpointSet::Outcome outcome) {
  using Outcome = EndpointSet::Outcome;
  endpoint.outstanding_bytes.add(-static_cast<std::int64_t>(bytes));
  if (outcome == Outcome::kGivenUp) {
    endpoint.given_up.add();
  } else if (outcome != Outcome::kAnswered && outcome != Outcome::kNothing) {
    endpoint.failures.add();
  }
  const auto changed = set_.end(endpoint.number, bytes, outcome);
  const bool has_died = changed == EndpointSet::State::kDead;
  if (has_died || outcome == Outcome::kNotReached) endpoint.may_have_restarted = true;
  if (changed) on_alive_changed(endpoint, *changed == EndpointSet::State::kAlive);
}

void Endpoints::on_alive_changed(Endpoint& endpoint, bool is_alive) const {
  endpoint.is_alive.set(is_alive ? 1 : 0);
  const std::string& url = endpoint.builder.endpoint_url();
  if (is_alive) {
    log::info("endpoint {} answers again; it gets requests again", url);
  } else {
    log::warn("endpoint {} does not answer; {}", url,
              all_.size() > 1 ? "requests go to the other endpoints"
                              : "requests to it are retried until their deadlines");
  }
}

EndpointLease& EndpointLease::operator=(EndpointLease&& other) noexcept {
  if (this == &other) return *this;
  end(EndpointSet::Outcome::kNothing);
  owner_ = std::exchange(other.owner_, nullptr);
  endpoint_ = other.endpoint_;
  bytes_ = other.bytes_;
  return *this;
}

void EndpointLease::end(EndpointSet::Outcome outcome) {
  if (owner_ != nullptr) std::exchange(owner_, nullptr)->end(*endpoint_, bytes_, outcome);
}

}  // namespace s3rdmafs::s3
