// SPDX-License-Identifier: Apache-2.0
#include "s3/store_metrics.h"

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::string_view kBytesName = "get_bytes_total";
constexpr std::string_view kBytesHelp = "Object bytes received, by path";
constexpr std::string_view kPutBytesName = "put_bytes_total";
constexpr std::string_view kPutBytesHelp = "Object bytes stored, by path";
constexpr std::string_view kRequestsName = "s3_requests_total";
constexpr std::string_view kRequestsHelp = "S3 operations begun; retries are not counted";

}  // namespace

StoreMetrics::StoreMetrics(metrics::Registry& registry, std::string_view fabric)
    : bytes_by_rdma(registry.counter(kBytesName, kBytesHelp, R"(path="rdma")")),
      bytes_by_http(registry.counter(kBytesName, kBytesHelp, R"(path="http")")),
      put_bytes_by_rdma(registry.counter(kPutBytesName, kPutBytesHelp, R"(path="rdma")")),
      put_bytes_by_http(registry.counter(kPutBytesName, kPutBytesHelp, R"(path="http")")),
      puts_stored_wrong(registry.counter(
          "rdma_puts_stored_wrong_total",
          "Objects that a server stored wrong because it ignored a token; stored again by HTTP")),
      verified(registry.counter("rdma_verifications_total",
                                "Reads by RDMA compared with what the server has")),
      verify_failures(
          registry.counter("rdma_verify_failures_total",
                           "Reads by RDMA that delivered wrong bytes; the bytes were not used")),
      verified_puts(registry.counter("rdma_put_verifications_total",
                                     "Objects stored by RDMA compared with what the server has")),
      put_verify_failures(registry.counter(
          "rdma_put_verify_failures_total",
          "Objects stored by RDMA with wrong bytes; their writes failed and they were removed")),
      retries(registry.counter("s3_retries_total", "S3 requests sent again after a failure")),
      retries_refused(
          registry.counter("s3_retries_refused_total",
                           "Retries that were not made because the retry budget was spent")),
      in_flight(
          registry.gauge("s3_operations_in_flight", "S3 operations that have begun and not ended")),
      times(registry, fabric),
      registry_(registry) {
  for (std::size_t at = 0; at < decltype(kOperationNames)::kCount; ++at) {
    const std::string_view name = kOperationNames[static_cast<Operation>(at)];
    requests_.push_back(
        &registry.counter(kRequestsName, kRequestsHelp, fmt::format("operation=\"{}\"", name)));
  }
}

void StoreMetrics::on_attempt_failed(ErrorCode code) {
  registry_
      .counter("s3_attempts_failed_total", "S3 attempts that failed and may be retried",
               fmt::format("kind=\"{}\"", error_code_name(code)))
      .add();
}

void StoreMetrics::on_fallback(std::string_view reason, std::string_view endpoint,
                               std::string_view detail) {
  registry_
      .counter("rdma_fallbacks_total", "Transfers that did not go by RDMA although asked to",
               fmt::format("reason=\"{}\"", reason))
      .add();
  {
    const MutexLock lock(mutex_);
    if (!logged_.emplace(reason, endpoint).second) return;
  }
  log::warn(
      "transfer with {} did not go by RDMA: {} ({}); later ones are counted in "
      "rdma_fallbacks_total "
      "and not logged",
      endpoint, detail, reason);
}

}  // namespace s3rdmafs::s3
