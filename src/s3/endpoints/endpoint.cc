// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/endpoint.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

namespace {

std::string label(const config::MountConfig::Endpoint& config) {
  return fmt::format("endpoint=\"{}\"", config.url);  // no quotes: config/ has checked it
}

}  // namespace

Endpoint::Endpoint(std::size_t its_number, const config::MountConfig::Endpoint& config,
                   const std::string& bucket, CredentialSource& credentials, const Clock& clock,
                   metrics::Registry& metrics)
    : number(its_number),
      builder(config, bucket, credentials, clock),
      capabilities(clock),
      requests(metrics.counter("endpoint_requests_total", "Requests sent, by server; with retries",
                               label(config))),
      failures(metrics.counter("endpoint_failures_total",
                               "Requests a server did not answer, or with a 5xx", label(config))),
      given_up(metrics.counter("endpoint_reads_given_up_total",
                               "Reads a server was slow with, and that went to another",
                               label(config))),
      outstanding_bytes(metrics.gauge("endpoint_outstanding_bytes",
                                      "Object bytes of the requests under way, by server",
                                      label(config))),
      is_alive(metrics.gauge(
          "endpoint_alive", "0: left out until a request to it is answered again", label(config))) {
  is_alive.set(1);
}

}  // namespace s3rdmafs::s3
