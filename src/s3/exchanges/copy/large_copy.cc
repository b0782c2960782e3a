// SPDX-License-Identifier: Apache-2.0
//
// Every part names the source's version, so that the object is of one version although its parts
// are copied one after the other. An upload that cannot be completed is aborted.
#include "s3/exchanges/copy/large_copy.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

constexpr std::uint64_t kCopyPartBytes = 512ULL << 20;
constexpr std::uint64_t kCopyPartsMax = 10'000;

/// The copy's own deadline may be over by the time that its upload has to be aborted.
constexpr std::chrono::seconds kAbortTime{10};

std::uint64_t divided_up(std::uint64_t bytes, std::uint64_t by) { return (bytes + by - 1) / by; }

}  // namespace

LargeCopy::LargeCopy(LargeCopyContext context, What what, Done<std::string> done)
    : context_(std::move(context)),
      what_(std::move(what)),
      part_bytes_(std::max(kCopyPartBytes, divided_up(what_.source.size_bytes, kCopyPartsMax))),
      parts_count_(static_cast<unsigned>(divided_up(what_.source.size_bytes, part_bytes_))),
      done_(std::move(done)),
      parts_(parts_count_) {}

void LargeCopy::start() {
  if (what_.options.metadata) return create(*what_.options.metadata, what_.options.headers);
  context_.objects.head(
      what_.source.key, what_.deadline, [self = shared_from_this()](Result<ObjectInfo> info) {
        if (!info) {
          if (info.error().code == ErrorCode::kNotFound) info.error().code = ErrorCode::kStale;
          return self->done_(std::unexpected(std::move(info.error())));
        }
        if (!is_same_etag(info->etag, self->what_.source.etag)) {
          return self->done_(fail(ErrorCode::kStale,
                                  fmt::format("COPY '{}': it does not have version {} any more",
                                              self->what_.source.key, self->what_.source.etag)));
        }
        self->create(info->metadata ? *info->metadata : UserMetadata(),
                     info->headers ? *info->headers : StoredHeaders());
      });
}

void LargeCopy::create(UserMetadata metadata, StoredHeaders headers) {
  NewUpload upload{.key = what_.key,
                   .metadata = std::move(metadata),
                   .headers = std::move(headers),
                   .has_checksum = false};
  context_.create_upload(std::move(upload), what_.deadline,
                         [self = shared_from_this()](Result<std::string> upload_id) {
                           if (!upload_id) {
                             return self->done_(std::unexpected(std::move(upload_id.error())));
                           }
                           self->upload_id_ = std::move(*upload_id);
                           if (UploadLog* const log = self->context_.upload_log) {
                             log->begun(self->what_.key, self->upload_id_);
                           }
                           self->send_parts();
                         });
}

void LargeCopy::send_parts() {
  std::vector<unsigned> numbers;
  {
    const MutexLock lock(mutex_);
    while (!error_ && in_flight_ < kPartsAtOnce && parts_sent_ < parts_count_) {
      numbers.push_back(++parts_sent_);
      ++in_flight_;
    }
  }
  for (const unsigned number : numbers) send_part(number);
}

void LargeCopy::send_part(unsigned number) {
  context_.writer.upload_part_copy(what_.source, offset_of(number), length_of(number), what_.key,
                                   upload_id_, number, what_.deadline,
                                   [self = shared_from_this(), number](Result<std::string> etag) {
                                     self->on_part(number, std::move(etag));
                                   });
}

void LargeCopy::on_part(unsigned number, Result<std::string> etag) {
  bool is_over = false;
  std::optional<Error> error;
  {
    const MutexLock lock(mutex_);
    --in_flight_;
    if (etag) {
      parts_[number - 1] = {
          .number = number, .etag = std::move(*etag), .size_bytes = length_of(number)};
    } else if (!error_) {
      error_ = std::move(etag.error());
    }
    is_over = in_flight_ == 0 && (error_ || parts_sent_ == parts_count_);
    if (is_over) error = error_;
  }
  if (!is_over) return send_parts();
  if (error) return give_up(std::move(*error));
  complete();
}

void LargeCopy::complete() {
  std::vector<UploadedPart> parts;
  {
    const MutexLock lock(mutex_);
    parts = std::move(parts_);
  }
  context_.writer.complete_upload(what_.key, upload_id_, std::move(parts), what_.options.when,
                                  what_.deadline,
                                  [self = shared_from_this()](Result<std::string> etag) {
                                    if (!etag) return self->give_up(std::move(etag.error()));
                                    self->note_end();
                                    self->done_(std::move(etag));
                                  });
}

void LargeCopy::give_up(Error error) {
  context_.writer.abort_upload(
      what_.key, upload_id_, context_.clock.now() + kAbortTime,
      [self = shared_from_this(), error = std::move(error)](const Result<void>& aborted) mutable {
        if (aborted) {
          self->note_end();
        } else {
          log::warn(
              "upload {} of '{}' could not be aborted: {}; its parts take space until a "
              "life-cycle rule removes them",
              self->upload_id_, self->what_.key, aborted.error().detail);
        }
        self->done_(std::unexpected(std::move(error)));
      });
}

void LargeCopy::note_end() {
  if (context_.upload_log != nullptr) context_.upload_log->ended(upload_id_);
}

std::uint64_t LargeCopy::offset_of(unsigned number) const { return (number - 1) * part_bytes_; }

std::uint64_t LargeCopy::length_of(unsigned number) const {
  return std::min(part_bytes_, what_.source.size_bytes - offset_of(number));
}

}  // namespace s3rdmafs::s3
