// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/endpoint.h"

namespace s3rdmafs::s3 {
namespace {

std::string endpoint_label(const BucketAddress& address) {
  return metrics::label_text("endpoint", address.url);
}

}  // namespace

Endpoint::Endpoint(std::size_t its_number, const BucketAddress& address,
                   CredentialSource& credentials, const Clock& clock, metrics::Registry& metrics)
    : number(its_number),
      fabric_number(its_number),
      builder(address, credentials, clock),
      capabilities(clock),
      requests(metrics.counter("endpoint_requests_total",
                               "Requests sent, by server; retries are counted",
                               endpoint_label(address))),
      failures(metrics.counter("endpoint_failures_total",
                               "Requests that a server did not answer, or answered with a 5xx",
                               endpoint_label(address))),
      given_up(metrics.counter("endpoint_reads_given_up_total",
                               "Reads that were sent to another server because this one was slow",
                               endpoint_label(address))),
      outstanding_bytes(metrics.gauge("endpoint_outstanding_bytes",
                                      "Object bytes of the requests in flight, by server",
                                      endpoint_label(address))),
      is_alive(metrics.gauge("endpoint_alive",
                             "0: the server gets no requests but probes, until it answers one",
                             endpoint_label(address))) {
  is_alive.set(1);
}

}  // namespace s3rdmafs::s3
