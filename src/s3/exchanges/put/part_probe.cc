// SPDX-License-Identifier: Apache-2.0
//
// Cost. Three small requests by each writer that comes while nothing is known, and then by one
// writer in every Capability::kProbeInterval while the answer is no. A GET that came by RDMA is not
// taken for an answer: Ceph and versitygw do one operation by RDMA and not another.
#include "s3/exchanges/put/part_probe.h"

#include <memory>
#include <utility>

#include "s3/exchanges/create_upload_exchange.h"
#include "s3/exchanges/removal.h"

namespace s3rdmafs::s3 {

void PartProbe::run(ProbeRequest request, ProbedDone done) {
  std::string key = request.key;
  const Deadline deadline = request.deadline;
  Endpoint* const endpoint = request.endpoint;
  auto on_created = [this, probe = Probe{std::move(request), std::move(done)}](
                        Result<std::string> upload_id) mutable {
    if (upload_id) {
      if (shared_.upload_log != nullptr) shared_.upload_log->begun(probe.request.key, *upload_id);
      return send_part(std::move(probe), std::move(*upload_id));
    }
    // The key may lack the right to create uploads: not every PUT should ask again.
    probe.request.endpoint->capabilities.of(TransferKind::kUploadPart).on_declined();
    probe.done({.result = std::unexpected(std::move(upload_id.error()))});
  };
  runner_.run(std::make_unique<CreateUploadExchange>(NewUpload{.key = std::move(key)},
                                                     std::move(on_created)),
              deadline, endpoint);
}

void PartProbe::send_part(Probe probe, std::string upload_id) {
  PutExchange::Put part{.key = probe.request.key,
                        .upload_id = upload_id,
                        .part_number = 1,
                        .body = probe.request.body,
                        .is_probe = true};
  const Deadline deadline = probe.request.deadline;
  const Endpoint* const endpoint = probe.request.endpoint;
  auto on_part = [this, probe = std::move(probe),
                  upload_id = std::move(upload_id)](PutExchange::Ended ended) mutable {
    abort_upload(std::move(probe), std::move(upload_id), std::move(ended));
  };
  runner_.run(std::make_unique<PutExchange>(shared_, std::move(part), std::move(on_part)), deadline,
              endpoint);
}

void PartProbe::abort_upload(Probe probe, std::string upload_id, PutExchange::Ended part) {
  Probed probed{
      .result = {}, .was_sent = true, .late_read_possible = part.outcome.late_read_possible};
  if (!part.outcome.etag) probed.result = std::unexpected(std::move(part.outcome.etag.error()));
  Removal removal{
      .verb = "ABORT UPLOAD", .key = probe.request.key, .parameters = {{"uploadId", upload_id}}};
  const Deadline deadline = probe.request.deadline;
  auto on_aborted = [log = shared_.upload_log, done = std::move(probe.done),
                     probed = std::move(probed),
                     upload_id = std::move(upload_id)](const Result<void>& aborted) mutable {
    if (aborted && log != nullptr) log->ended(upload_id);
    done(std::move(probed));
  };
  runner_.run(make_removal(std::move(removal), std::move(on_aborted)), deadline);
}

}  // namespace s3rdmafs::s3
