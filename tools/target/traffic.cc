// SPDX-License-Identifier: Apache-2.0
#include "target/traffic.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::target {
namespace {

constexpr std::string_view kBytesName = "target_body_bytes_total";
constexpr std::string_view kBytesHelp = "Bytes of objects moved, by the way they went";

}  // namespace

Traffic::Traffic(metrics::Registry& registry)
    : http_received_bytes(
          registry.counter(kBytesName, kBytesHelp, R"(path="http",direction="in")")),
      http_sent_bytes(registry.counter(kBytesName, kBytesHelp, R"(path="http",direction="out")")),
      rdma_read_bytes(registry.counter(kBytesName, kBytesHelp, R"(path="rdma",direction="in")")),
      rdma_written_bytes(
          registry.counter(kBytesName, kBytesHelp, R"(path="rdma",direction="out")")),
      registry_(registry) {}

void Traffic::count_request(std::string_view operation, int status) {
  // A look-up under the registry's lock: microseconds beside a request's file access.
  registry_
      .counter("target_requests_total", "Requests answered, by operation and class of status",
               fmt::format(R"(operation="{}",status="{}xx")", operation, status / 100))
      .add();
}

void Traffic::count_late_transfer(bool is_done) {
  registry_
      .counter("target_late_transfers_total", "Transfers after the client was cut off, by --fault",
               is_done ? R"(result="done")" : R"(result="refused")")
      .add();
}

}  // namespace s3rdmafs::target
