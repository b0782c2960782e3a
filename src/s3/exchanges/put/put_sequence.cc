// SPDX-License-Identifier: Apache-2.0
//
// Steps: a probe where one is due (part_probe.h, and for a server that refuses the part with 501
// whole_put_probe.h), the PUT, and the removal of a wrong object (wrong_object.h). A probe hands no
// answer to the PUT: it teaches Capabilities, which the PUT then asks.
#include "s3/exchanges/put/put_sequence.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "s3/exchanges/put/wrong_object.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

/// Enough to be a transfer, little enough to cost nothing.
constexpr std::size_t kProbeBytesMax = 64 * kKiB;

}  // namespace

void PutSequence::run(std::string key, PutBody body, PutOptions options, Deadline deadline,
                      PutDone done) {
  begin({.put = {.key = std::move(key), .body = body, .options = std::move(options)},
         .deadline = deadline,
         .done = std::move(done),
         .endpoint = &shared_.endpoints.peek(),
         .endpoints_left = shared_.endpoints.size()});
}

void PutSequence::begin(Sequence sequence) {
  --sequence.endpoints_left;
  const ProbeKind kind = wanted_probe(*sequence.endpoint, sequence.put.body.window.length);
  if (kind == ProbeKind::kNone) return store(std::move(sequence));
  ProbeRequest request{.endpoint = sequence.endpoint,
                       .key = sequence.put.key,
                       .body = sequence.put.body,
                       .deadline = sequence.deadline};
  probe(kind, std::move(request), [this, sequence = std::move(sequence)](Probed probed) mutable {
    on_probed(std::move(sequence), std::move(probed));
  });
}

void PutSequence::on_probed(Sequence sequence, Probed probed) {
  sequence.late_read_possible |= probed.late_read_possible;
  const bool is_required = shared_.rdma.mode == RdmaMode::kRequire;
  // While endpoints are left, the PUT finds one that reads, or one that was not probed yet.
  if (!probed.result && is_required && sequence.endpoints_left == 0) {
    return sequence.done({.etag = std::unexpected(std::move(probed.result.error())),
                          .late_read_possible = sequence.late_read_possible});
  }
  if (!probed.has_fabric) {
    shared_.metrics.on_fallback("fabric_down", sequence.endpoint->builder.endpoint_url(),
                                probed.result.error().detail);
    sequence.put.is_by_http = true;
  }
  store(std::move(sequence));
}

PutSequence::ProbeKind PutSequence::wanted_probe(Endpoint& endpoint, std::size_t length_bytes) {
  Capabilities& capabilities = endpoint.capabilities;
  if (shared_.rdma.mode == RdmaMode::kOff || length_bytes == 0) return ProbeKind::kNone;
  if (capabilities.is_known_to_read() || capabilities.has_unconfirmed_put() ||
      capabilities.refuses_whole_puts()) {
    return ProbeKind::kNone;
  }
  const std::size_t probe_bytes = std::min(length_bytes, kProbeBytesMax);
  const bool may_take_parts =
      capabilities.of(TransferKind::kUploadPart).is_worth_trying(probe_bytes);
  if (!may_take_parts && !capabilities.should_probe_whole_puts()) return ProbeKind::kNone;
  if (!goes_by_rdma(endpoint, length_bytes)) return ProbeKind::kNone;
  return may_take_parts ? ProbeKind::kPart : ProbeKind::kWholeObject;
}

bool PutSequence::goes_by_rdma(Endpoint& endpoint, std::size_t length_bytes) const {
  const RdmaOptions& rdma = shared_.rdma;
  if (rdma.mode == RdmaMode::kRequire) return true;
  if (rdma.threshold_bytes) return length_bytes >= *rdma.threshold_bytes;
  return endpoint.write_paths.better(length_bytes) == Path::kRdma;
}

void PutSequence::probe(ProbeKind kind, ProbeRequest request, ProbedDone done) {
  PutBody& body = request.body;
  body.window.length = std::min(body.window.length, kProbeBytesMax);
  body.crc64nvme = crc64nvme(0, body.window.bytes());
  // Where RDMA is required the part itself waits for a fabric that is down, as every transfer does.
  if (shared_.rdma.mode == RdmaMode::kRequire) {
    return send_probe(kind, std::move(request), std::move(done));
  }
  // Without a fabric a probe would learn nothing, so no request is made for it.
  const rdma::Window window = body.window;
  const Deadline deadline = request.deadline;
  rdma::MemoryRegion& region = window.region->for_endpoint(request.endpoint->fabric_number);
  region.token(
      window.offset, window.length, deadline,
      [this, kind, request = std::move(request),
       done = std::move(done)](Result<rdma::Token> token) mutable {
        if (!token) {
          return done({.result = std::unexpected(std::move(token.error())), .has_fabric = false});
        }
        token->end(rdma::TokenFate::kUnsent);
        send_probe(kind, std::move(request), std::move(done));
      });
}

void PutSequence::send_probe(ProbeKind kind, ProbeRequest request, ProbedDone done) {
  if (kind == ProbeKind::kWholeObject) {
    return whole_put_probe_.run(std::move(request), std::move(done));
  }
  ProbeRequest part = request;
  part_probe_.run(std::move(part), [this, request = std::move(request),
                                    done = std::move(done)](Probed probed) mutable {
    const bool is_part_refused = !probed.result && probed.was_sent &&
                                 request.endpoint->capabilities.should_probe_whole_puts();
    if (!is_part_refused) return done(std::move(probed));
    whole_put_probe_.run(std::move(request), [is_late = probed.late_read_possible,
                                              done = std::move(done)](Probed whole) mutable {
      whole.late_read_possible |= is_late;
      done(std::move(whole));
    });
  });
}

void PutSequence::store(Sequence sequence) {
  PutExchange::Put put = sequence.put;
  const Deadline deadline = sequence.deadline;
  const Endpoint* const preferred = sequence.endpoint;
  auto on_ended = [this, sequence = std::move(sequence)](PutExchange::Ended ended) mutable {
    on_stored(std::move(sequence), std::move(ended));
  };
  runner_.run(std::make_unique<PutExchange>(shared_, std::move(put), std::move(on_ended)), deadline,
              preferred);
}

void PutSequence::on_stored(Sequence sequence, PutExchange::Ended ended) {
  PutOutcome outcome = std::move(ended.outcome);
  // The probed endpoint is gone, and the one that the PUT was to go to instead was not probed yet.
  // After an attempt that may have taken effect a second sequence would not know of it.
  if (ended.unknown_endpoint != nullptr && !outcome.late_read_possible &&
      sequence.endpoints_left > 0) {
    sequence.endpoint = ended.unknown_endpoint;
    return begin(std::move(sequence));
  }
  outcome.late_read_possible |= sequence.late_read_possible;
  if (!ended.wrong_object) return sequence.done(std::move(outcome));
  remove_wrong_object(runner_, clock_, sequence.put.key, *ended.wrong_object,
                      [done = std::move(sequence.done), outcome = std::move(outcome)](
                          Result<void>) mutable { done(std::move(outcome)); });
}

}  // namespace s3rdmafs::s3
