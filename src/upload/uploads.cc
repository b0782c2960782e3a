// SPDX-License-Identifier: Apache-2.0
#include "upload/uploads.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "upload/staged/staged_uploads.h"

namespace s3rdmafs::upload {
namespace {

metrics::Counter& bytes_by(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("upload_bytes_total", "Bytes of files that the server accepted, by path.",
                         labels);
}

std::shared_ptr<UnansweredUploads> unanswered_in(
    s3::ObjectWriter& writer, const Clock& clock, const Uploads::Options& options,
    const std::shared_ptr<AbandonedUploads>& abandoned) {
  if (options.journal == nullptr) return nullptr;
  return std::make_shared<UnansweredUploads>(writer, clock, options.request_timeout,
                                             *options.journal, abandoned);
}

}  // namespace

Result<std::unique_ptr<Uploads>> Uploads::create(s3::ObjectWriter& writer, rdma::Fabric& fabric,
                                                 const Clock& clock, metrics::Registry& metrics,
                                                 const Options& options) {
  const PartSizes sizes = part_sizes_for(options.part_bytes, options.buffer_bytes);
  const std::uint64_t arena_bytes =
      options.buffer_bytes / sizes.max_bytes * sizes.max_bytes;  // whole slabs only
  auto arena = memory::Arena::create(arena_bytes, options.lock, fabric,
                                     {.access = rdma::Access::kRemoteRead,
                                      .slab_bytes = sizes.max_bytes,
                                      .size_key = "write.buffer_size"});
  if (!arena) return std::unexpected(arena.error());
  log::info("upload: {} of part buffers; parts of {} to {}, objects of up to {} GiB",
            format_size(arena_bytes), format_size(sizes.first_bytes), format_size(sizes.max_bytes),
            sizes.object_bytes_max() / kGiB);
  return std::unique_ptr<Uploads>(new Uploads(std::move(*arena), writer, clock, metrics, options));
}

Uploads::Uploads(std::unique_ptr<memory::Arena> arena, s3::ObjectWriter& writer, const Clock& clock,
                 metrics::Registry& metrics, const Options& options)
    : arena_(std::move(arena)),
      journal_(options.journal),
      abandoned_(std::make_shared<AbandonedUploads>(writer, clock, metrics, options.request_timeout,
                                                    options.journal)),
      unanswered_(unanswered_in(writer, clock, options, abandoned_)),
      buffers_(*arena_, options.part_bytes, clock, metrics, [this] { on_tick(); }),
      context_{.writer = writer,
               .buffers = buffers_,
               .abandoned = *abandoned_,
               .clock = clock,
               .metrics = {.rdma_bytes = bytes_by(metrics, R"(path="rdma")"),
                           .http_bytes = bytes_by(metrics, R"(path="http")"),
                           .copied_bytes = bytes_by(metrics, R"(path="copy")"),
                           .in_progress = metrics.gauge("upload_objects_in_progress",
                                                        "Objects being written.")},
               .part_sizes = {.first_bytes = options.part_bytes, .max_bytes = arena_->slab_bytes()},
               .parallel_parts = options.parallel_parts,
               .request_timeout = options.request_timeout} {}

Uploads::~Uploads() = default;

std::shared_ptr<Uploader> Uploads::begin(std::string key, Uploader::Start start) {
  return std::make_shared<Uploader>(context_, std::move(key), start);
}

StagedUploads& Uploads::staged() {
  if (!staged_) staged_ = std::make_unique<StagedUploads>(context_);
  return *staged_;
}

void Uploads::abort_left() {
  abandoned_->add_left();
  if (unanswered_) unanswered_->look_for_left();
}

void Uploads::on_tick() {
  abandoned_->on_tick();
  if (journal_ != nullptr) journal_->on_tick();
  if (unanswered_) unanswered_->on_tick();
}

Deadline Uploads::request_deadline() const {
  return context_.clock.now() + context_.request_timeout;
}

void Uploads::shut_down(Deadline deadline) {
  buffers_.shut_down();
  if (staged_) staged_->shut_down();
  // An abort takes moments where the server answers; a dead one would use up all of the deadline.
  constexpr std::chrono::seconds kAbortTime{5};
  const Deadline until = std::min(deadline, context_.clock.now() + kAbortTime);
  if (unanswered_) unanswered_->end(until);
  abandoned_->end(until);
}

}  // namespace s3rdmafs::upload
