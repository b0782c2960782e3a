// SPDX-License-Identifier: Apache-2.0
//
// Three small requests: PUT by token, GET by HTTP, DELETE. The bytes are compared themselves, since
// a checksum in the answer would be the server's word, which is what is in question.
#include "s3/exchanges/put/whole_put_probe.h"

#include <algorithm>
#include <cstdint>
#include <random>

#include "s3/exchanges/query_exchange.h"
#include "s3/exchanges/removal.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// Beyond the operation's own deadline, which may be over when the probe is to be removed.
constexpr std::chrono::seconds kRemoveTime{10};

/// Whether an error says more about the moment than about the server.
bool is_passing(ErrorCode code) {
  return is_retryable(code) || code == ErrorCode::kTimedOut || code == ErrorCode::kCancelled;
}

Result<void> compare_bytes(const std::string& what, const HttpResponse& response,
                           std::span<const std::byte> sent) {
  const auto stored = std::as_bytes(std::span(response.text));
  if (std::ranges::equal(stored, sent)) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("{}: the server says that it read the object by RDMA, but stored other "
                          "bytes",
                          what));
}

}  // namespace

std::string probe_key(const std::string& key) {
  std::random_device random;
  const std::uint64_t number = (static_cast<std::uint64_t>(random()) << 32U) | random();
  const std::size_t slash = key.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : key.substr(0, slash + 1);
  return fmt::format("{}.s3rdmafs-probe-{:016x}", folder, number);
}

void WholePutProbe::run(Endpoint& endpoint, const std::string& key, PutBody body, Deadline deadline,
                        ProbedDone done) {
  PutExchange::Put put{.key = probe_key(key), .body = body, .is_probe = true, .only_at = &endpoint};
  Probe probe{.endpoint = &endpoint,
              .key = put.key,
              .body = body,
              .deadline = deadline,
              .done = std::move(done)};
  runner_.run(std::make_unique<PutExchange>(
                  shared_, std::move(put),
                  [this, probe = std::move(probe)](PutExchange::Ended ended) mutable {
                    on_put(std::move(probe), std::move(ended));
                  }),
              deadline, &endpoint);
}

void WholePutProbe::on_put(Probe probe, PutExchange::Ended put) {
  probe.was_sent = put.was_sent_by_token;
  probe.probed.late_read_possible = put.outcome.late_read_possible;
  if (put.outcome.etag) return compare(std::move(probe));
  probe.probed.result = std::unexpected(std::move(put.outcome.etag.error()));
  if (!probe.was_sent) return conclude(std::move(probe));
  remove(std::move(probe));  // an error is no proof that nothing was stored
}

void WholePutProbe::compare(Probe probe) {
  QueryExchange<void>::Query query{.method = HttpMethod::kGet,
                                   .verb = "GET",
                                   .key = probe.key,
                                   .subject = probe.key,
                                   .parameters = {},
                                   .text_bytes_max = probe.body.window.length};
  auto read = [what = fmt::format("PUT '{}'", probe.key), sent = probe.body.window.bytes()](
                  const HttpResponse& response) { return compare_bytes(what, response, sent); };
  const Deadline deadline = probe.deadline;
  const Endpoint* const endpoint = probe.endpoint;
  runner_.run(std::make_unique<QueryExchange<void>>(
                  std::move(query), std::move(read),
                  [this, probe = std::move(probe)](Result<void> same) mutable {
                    probe.probed.result = std::move(same);
                    remove(std::move(probe));
                  }),
              deadline, endpoint);
}

void WholePutProbe::remove(Probe probe) {
  const Endpoint* const endpoint = probe.endpoint;
  Removal removal{.verb = "DELETE", .key = probe.key};
  runner_.run(make_removal(std::move(removal),
                           [this, probe = std::move(probe)](Result<void> removed) mutable {
                             if (!removed) {
                               spdlog::warn(
                                   "'{}', a test object, could not be removed: remove it ({})",
                                   probe.key, removed.error().detail);
                             }
                             conclude(std::move(probe));
                           }),
              clock_.now() + kRemoveTime, endpoint);
}

void WholePutProbe::conclude(Probe probe) {
  Capabilities& capabilities = probe.endpoint->capabilities;
  const std::string& url = probe.endpoint->builder.endpoint_url();
  const Result<void>& result = probe.probed.result;
  const bool is_required = shared_.rdma.mode == RdmaMode::kRequire;
  if (result) {
    capabilities.of(TransferKind::kPut).on_rdma_done(probe.body.window.length);
    spdlog::info("{} takes no parts by RDMA, but whole objects: those that fit one part go by RDMA",
                 url);
  } else if (probe.was_sent && !is_passing(result.error().code)) {
    // Where RDMA is required every write fails until the server does it: that should be seen soon.
    const auto how_long = is_required ? Capability::kProbeInterval : Capabilities::kRefusalTime;
    capabilities.on_whole_puts_refused(how_long);
    spdlog::info("{} takes neither parts nor whole objects by RDMA: {}; not asked for {} s", url,
                 result.error().detail, how_long.count());
  } else if (!is_required) {
    capabilities.on_whole_puts_refused(Capability::kProbeInterval);
  }
  probe.done(std::move(probe.probed));
}

}  // namespace s3rdmafs::s3
