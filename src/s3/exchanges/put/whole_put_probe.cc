// SPDX-License-Identifier: Apache-2.0
//
// Three small requests: PUT by token, GET by HTTP, DELETE. The bytes themselves are compared, since
// a checksum in the answer would only repeat what the server claims.
#include "s3/exchanges/put/whole_put_probe.h"

#include <algorithm>

#include "s3/exchanges/probe_object.h"
#include "s3/exchanges/query_exchange.h"
#include "s3/exchanges/removal.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// The operation's own deadline may be over by the time that the probe has to be removed.
constexpr std::chrono::seconds kProbeRemovalTime{10};

/// Whether an error may pass, and so says nothing about what the server can do.
bool is_passing(ErrorCode code) {
  return is_retryable(code) || code == ErrorCode::kTimedOut || code == ErrorCode::kCancelled;
}

Result<void> compare_bytes(const std::string& what, const HttpResponse& response,
                           std::span<const std::byte> sent) {
  const auto stored = std::as_bytes(std::span(response.text));
  if (std::ranges::equal(stored, sent)) return {};
  return fail(ErrorCode::kCorrupt,
              fmt::format("{}: the server reported a read by RDMA but stored other bytes", what));
}

}  // namespace

void WholePutProbe::run(ProbeRequest request, ProbedDone done) {
  request.key = probe_key(request.key);
  PutExchange::Put put{
      .key = request.key, .body = request.body, .is_probe = true, .only_at = request.endpoint};
  const Deadline deadline = request.deadline;
  const Endpoint* const endpoint = request.endpoint;
  auto on_ended = [this, probe = Probe{.request = std::move(request), .done = std::move(done)}](
                      PutExchange::Ended ended) mutable {
    on_put(std::move(probe), std::move(ended));
  };
  runner_.run(std::make_unique<PutExchange>(shared_, std::move(put), std::move(on_ended)), deadline,
              endpoint);
}

void WholePutProbe::on_put(Probe probe, PutExchange::Ended put) {
  probe.was_sent = put.was_sent_by_token;
  probe.probed.late_read_possible = put.outcome.late_read_possible;
  if (put.outcome.etag) return compare(std::move(probe));
  probe.probed.result = std::unexpected(std::move(put.outcome.etag.error()));
  if (!probe.was_sent) return conclude(std::move(probe));
  remove(std::move(probe));  // an error does not prove that nothing was stored
}

void WholePutProbe::compare(Probe probe) {
  const ProbeRequest& request = probe.request;
  QueryExchange<void>::Query query{.method = HttpMethod::kGet,
                                   .verb = "GET",
                                   .key = request.key,
                                   .subject = request.key,
                                   .parameters = {},
                                   .text_bytes_max = request.body.window.length};
  auto read = [what = fmt::format("PUT '{}'", request.key), sent = request.body.window.bytes()](
                  const HttpResponse& response) { return compare_bytes(what, response, sent); };
  const Deadline deadline = request.deadline;
  const Endpoint* const endpoint = request.endpoint;
  auto on_compared = [this, probe = std::move(probe)](Result<void> same) mutable {
    probe.probed.result = std::move(same);
    remove(std::move(probe));
  };
  runner_.run(std::make_unique<QueryExchange<void>>(std::move(query), std::move(read),
                                                    std::move(on_compared)),
              deadline, endpoint);
}

void WholePutProbe::remove(Probe probe) {
  const Endpoint* const endpoint = probe.request.endpoint;
  Removal removal{.verb = "DELETE", .key = probe.request.key};
  auto on_removed = [this, probe = std::move(probe)](Result<void> removed) mutable {
    if (!removed) {
      log::warn("test object '{}' could not be removed: {}; remove it by hand", probe.request.key,
                removed.error().detail);
    }
    conclude(std::move(probe));
  };
  runner_.run(make_removal(std::move(removal), std::move(on_removed)),
              clock_.now() + kProbeRemovalTime, endpoint);
}

void WholePutProbe::conclude(Probe probe) {
  Endpoint& endpoint = *probe.request.endpoint;
  const Result<void>& result = probe.probed.result;
  if (result) {
    endpoint.capabilities.of(TransferKind::kPut).on_rdma_done(probe.request.body.window.length);
    log::info(
        "endpoint {} takes whole objects by RDMA, but no parts; objects that fit one part "
        "go by RDMA",
        endpoint.builder.endpoint_url());
  } else if (probe.was_sent && !is_passing(result.error().code)) {
    on_refused(endpoint, result.error());
  } else if (shared_.rdma.mode != RdmaMode::kRequire) {
    endpoint.capabilities.on_whole_puts_refused(Capability::kProbeInterval);
  }
  probe.done(std::move(probe.probed));
}

// Where RDMA is required every write fails until the server does it, so that is looked for soon.
void WholePutProbe::on_refused(Endpoint& endpoint, const Error& error) {
  const bool is_required = shared_.rdma.mode == RdmaMode::kRequire;
  const auto how_long = is_required ? Capability::kProbeInterval : Capabilities::kRefusalTime;
  endpoint.capabilities.on_whole_puts_refused(how_long);
  log::info(
      "endpoint {} takes neither parts nor whole objects by RDMA: {}; asked again after "
      "{} s",
      endpoint.builder.endpoint_url(), error.detail, how_long.count());
}

}  // namespace s3rdmafs::s3
