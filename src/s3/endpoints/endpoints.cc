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
                     CredentialSource& credentials, const Clock& clock, metrics::Registry& metrics)
    : set_(options.urls.size(), clock) {
  for (const std::string& url : options.urls) {
    const BucketAddress address{
        .bucket = bucket, .url = url, .region = options.region, .addressing = options.addressing};
    all_.push_back(std::make_unique<Endpoint>(all_.size(), address, credentials, clock, metrics));
  }
}

Endpoint& Endpoints::begin(std::uint64_t bytes, const Preference& preference) {
  Endpoint& endpoint = *all_.at(set_.begin(bytes, {.preferred = number_of(preference.preferred),
                                                   .avoided = number_of(preference.avoided),
                                                   .excluded = preference.excluded}));
  endpoint.outstanding_bytes.add(static_cast<std::int64_t>(bytes));
  return endpoint;
}

Endpoint& Endpoints::peek() {
  const std::size_t number = set_.begin(0, {});
  set_.end(number, 0, EndpointSet::Outcome::kNothing);
  return *all_.at(number);
}

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
  if (!changed) return;
  const bool is_alive = *changed == EndpointSet::State::kAlive;
  endpoint.is_alive.set(is_alive ? 1 : 0);
  const std::string& url = endpoint.builder.endpoint_url();
  if (is_alive) {
    spdlog::info("{} answers again", url);
  } else {
    spdlog::warn("{} does not answer{}", url,
                 all_.size() > 1 ? "; going on with the other servers" : "");
  }
}

}  // namespace s3rdmafs::s3
