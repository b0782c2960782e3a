// SPDX-License-Identifier: Apache-2.0
//
// The probe is one small part of a multipart upload to the same key, by token, which is aborted
// whatever came of it. Parts are never visible, so a server that ignores the token does no harm.
// Its outcome is not handed on: it teaches Capabilities, which the PUT then asks.
//
// It costs three small requests, by each writer that comes while nothing is known, and then one
// writer's every Capability::kProbeInterval while the answer is no. (A GET that came by RDMA is not
// taken for an answer: Ceph and versitygw show that a server may do one operation and not another.)
// A server that answers the part with 501 is asked with a small object of its own next
// (s3/exchanges/put/whole_put_probe.h).
#include "s3/exchanges/put/put_sequence.h"

#include <algorithm>

#include "s3/exchanges/create_upload_exchange.h"
#include "s3/exchanges/query_exchange.h"
#include "s3/exchanges/removal.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::s3 {
namespace {

/// Enough to be a transfer, little enough to cost nothing.
constexpr std::size_t kProbeBytesMax = 64 * kKiB;

/// Beyond the operation's own deadline, which is over when an undo becomes necessary.
constexpr std::chrono::seconds kUndoTime{10};

}  // namespace

void PutSequence::run(std::string key, PutBody body, bool only_if_absent, Deadline deadline,
                      PutDone done) {
  begin({.put = {.key = std::move(key), .body = body, .only_if_absent = only_if_absent},
         .deadline = deadline,
         .done = std::move(done),
         .endpoint = &shared_.endpoints.peek(),
         .endpoints_left = shared_.endpoints.size()});
}

void PutSequence::begin(Sequence sequence) {
  --sequence.endpoints_left;
  Endpoint& endpoint = *sequence.endpoint;
  const PutBody body = sequence.put.body;
  const ProbeKind kind = wanted_probe(endpoint, body);
  if (kind == ProbeKind::kNone) return store(std::move(sequence));
  // Not moved from below: the order in which arguments are made is not ours.
  std::string key = sequence.put.key;
  const Deadline deadline = sequence.deadline;
  probe(endpoint, kind, std::move(key), body, deadline,
        [this, sequence = std::move(sequence)](Probed probed) mutable {
          on_probed(std::move(sequence), std::move(probed));
        });
}

void PutSequence::on_probed(Sequence sequence, Probed probed) {
  sequence.late_read_possible |= probed.late_read_possible;
  const bool is_required = shared_.rdma.mode == RdmaMode::kRequire;
  // Others are left: the PUT finds one that reads, or one that nobody has probed.
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

PutSequence::ProbeKind PutSequence::wanted_probe(Endpoint& endpoint, const PutBody& body) {
  const RdmaOptions& rdma = shared_.rdma;
  Capabilities& capabilities = endpoint.capabilities;
  if (rdma.mode == RdmaMode::kOff || body.window.length == 0) return ProbeKind::kNone;
  if (capabilities.is_known_to_read() || capabilities.has_spoiled() ||
      capabilities.refuses_whole_puts())
    return ProbeKind::kNone;
  const std::size_t probe_bytes = std::min(body.window.length, kProbeBytesMax);
  const bool may_take_parts =
      capabilities.of(TransferKind::kUploadPart).is_worth_trying(probe_bytes);
  if (!may_take_parts && !capabilities.should_probe_whole_puts()) return ProbeKind::kNone;
  const ProbeKind kind = may_take_parts ? ProbeKind::kPart : ProbeKind::kWholeObject;
  if (rdma.mode == RdmaMode::kRequire) return kind;
  const bool goes_by_rdma = rdma.threshold_bytes
                                ? body.window.length >= *rdma.threshold_bytes
                                : endpoint.write_paths.better(body.window.length) == Path::kRdma;
  return goes_by_rdma ? kind : ProbeKind::kNone;
}

void PutSequence::probe(Endpoint& endpoint, ProbeKind kind, std::string key, PutBody body,
                        Deadline deadline, ProbedDone done) {
  body.window.length = std::min(body.window.length, kProbeBytesMax);
  body.crc64nvme = crc64nvme(0, body.window.bytes());
  // Where RDMA is required the part itself waits for a fabric that is down, as every transfer does.
  if (shared_.rdma.mode == RdmaMode::kRequire) {
    return begin_probe(endpoint, kind, std::move(key), body, deadline, std::move(done));
  }
  // Without a fabric there is nothing to be learned, and no request to be made for it.
  body.window.region->for_endpoint(endpoint.number)
      .token(body.window.offset, body.window.length, deadline,
             [this, &endpoint, kind, key = std::move(key), body, deadline,
              done = std::move(done)](Result<rdma::Token> token) mutable {
               if (!token) {
                 return done(
                     {.result = std::unexpected(std::move(token.error())), .has_fabric = false});
               }
               token->end(rdma::TokenFate::kUnsent);
               begin_probe(endpoint, kind, std::move(key), body, deadline, std::move(done));
             });
}

void PutSequence::begin_probe(Endpoint& endpoint, ProbeKind kind, std::string key, PutBody body,
                              Deadline deadline, ProbedDone done) {
  if (kind == ProbeKind::kWholeObject) {
    return whole_put_probe_.run(endpoint, key, body, deadline, std::move(done));
  }
  create_probe(endpoint, std::move(key), body, deadline, std::move(done));
}

void PutSequence::create_probe(Endpoint& endpoint, std::string key, PutBody body, Deadline deadline,
                               ProbedDone done) {
  auto on_created = [this, &endpoint, key, body, deadline,
                     done = std::move(done)](Result<std::string> upload_id) mutable {
    if (upload_id) {
      return send_probe(endpoint, std::move(key), std::move(*upload_id), body, deadline,
                        std::move(done));
    }
    // The right to make uploads may be missing: not to be asked for by every PUT.
    endpoint.capabilities.of(TransferKind::kUploadPart).on_declined();
    done({.result = std::unexpected(std::move(upload_id.error()))});
  };
  runner_.run(std::make_unique<CreateUploadExchange>(std::move(key), std::move(on_created)),
              deadline, &endpoint);
}

void PutSequence::send_probe(Endpoint& endpoint, std::string key, std::string upload_id,
                             PutBody body, Deadline deadline, ProbedDone done) {
  auto on_part = [this, &endpoint, key, upload_id, body, deadline,
                  done = std::move(done)](PutExchange::Ended part) mutable {
    Probed probed{.result = {}, .late_read_possible = part.outcome.late_read_possible};
    if (!part.outcome.etag) probed.result = std::unexpected(std::move(part.outcome.etag.error()));
    auto on_aborted = [this, &endpoint, key, body, deadline, done = std::move(done),
                       probed = std::move(probed)](Result<void>) mutable {
      if (probed.result || !endpoint.capabilities.should_probe_whole_puts()) {
        return done(std::move(probed));
      }
      whole_put_probe_.run(
          endpoint, key, body, deadline,
          [is_late = probed.late_read_possible, done = std::move(done)](Probed whole) mutable {
            whole.late_read_possible |= is_late;
            done(std::move(whole));
          });
    };
    runner_.run(make_removal({.verb = "ABORT UPLOAD",
                              .key = std::move(key),
                              .parameters = {{"uploadId", std::move(upload_id)}}},
                             std::move(on_aborted)),
                deadline);
  };
  PutExchange::Put part{.key = std::move(key),
                        .upload_id = std::move(upload_id),
                        .part_number = 1,
                        .body = body,
                        .is_probe = true};
  runner_.run(std::make_unique<PutExchange>(shared_, std::move(part), std::move(on_part)), deadline,
              &endpoint);
}

void PutSequence::store(Sequence sequence) {
  PutExchange::Put put = sequence.put;
  const Deadline deadline = sequence.deadline;
  const Endpoint* const preferred = sequence.endpoint;
  auto on_ended = [this, sequence = std::move(sequence)](PutExchange::Ended ended) mutable {
    PutOutcome outcome = std::move(ended.outcome);
    // The probed endpoint is gone, and where the PUT was to go instead nobody has probed. Once an
    // attempt may have taken effect, a second sequence would not know it.
    if (ended.unknown_endpoint != nullptr && !outcome.late_read_possible &&
        sequence.endpoints_left > 0) {
      sequence.endpoint = ended.unknown_endpoint;
      return begin(std::move(sequence));
    }
    outcome.late_read_possible = outcome.late_read_possible || sequence.late_read_possible;
    if (!ended.spoiled_etag) return sequence.done(std::move(outcome));
    undo(std::move(sequence.put.key), *ended.spoiled_etag,
         [done = std::move(sequence.done), outcome = std::move(outcome)](Result<void>) mutable {
           done(std::move(outcome));
         });
  };
  runner_.run(std::make_unique<PutExchange>(shared_, std::move(put), std::move(on_ended)), deadline,
              preferred);
}

/// Removes what a server stored in place of our object, if it is still that.
void PutSequence::undo(std::string key, const std::string& spoiled_etag, Done<void> done) {
  const Deadline deadline = clock_.now() + kUndoTime;
  auto on_removed = [key, done = std::move(done)](Result<void> removed) mutable {
    if (!removed) {
      spdlog::error("'{}' was stored wrong by the server and could not be removed: remove it ({})",
                    key, removed.error().detail);
    }
    done(std::move(removed));
  };
  auto on_head = [this, key, spoiled_etag, deadline,
                  on_removed = std::move(on_removed)](Result<std::string> found) mutable {
    if (!found) return on_removed(std::unexpected(std::move(found.error())));
    if (!is_same_etag(*found, spoiled_etag)) return on_removed({});  // others' by now, or gone
    Removal removal{.verb = "DELETE", .key = key};
    if (!spoiled_etag.empty()) removal.headers.emplace_back("if-match", spoiled_etag);
    runner_.run(make_removal(std::move(removal), std::move(on_removed)), deadline);
  };
  runner_.run(std::make_unique<QueryExchange<std::string>>(
                  QueryExchange<std::string>::Query{.method = HttpMethod::kHead,
                                                    .verb = "HEAD",
                                                    .key = key,
                                                    .subject = key,
                                                    .parameters = {},
                                                    .text_bytes_max = 0,
                                                    .is_gone_fine = true},
                  // 404 has no ETag, and so is not what was stored; a server that sent none then
                  // has an empty object now, or it is not ours.
                  [spoiled_etag](const HttpResponse& response) -> Result<std::string> {
                    const ResponseHeaders& headers = response.headers;
                    if (response.status == 404) return "gone";
                    if (spoiled_etag.empty() && headers.content_length == 0) return "";
                    return headers.etag.empty() ? "unknown" : headers.etag;
                  },
                  std::move(on_head)),
              deadline);
}

}  // namespace s3rdmafs::s3
