// SPDX-License-Identifier: Apache-2.0
// A part waits in line for a buffer, is read on a thread that may block for a local file, and is
// sent. StagedAttempt and EarlyUpload, which ask for parts, bound how many are under way.
//
// Late reads. A buffer that the server may still read rests (upload/buffer_pool.cc).
//
// Locks. None here.
#include "upload/staged/part_sender.h"

#include <chrono>
#include <utility>

#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/clock.h"
#include "upload/staged/staged_uploads.h"

namespace s3rdmafs::upload {
namespace {

// Buffers come free as fast as the server takes parts. While it does, a store that waits in line is
// not to fail; where it does not, the requests before it in line fail one after the other.
constexpr int kBufferPatience = 10;  // times the time of a request

Deadline request_deadline(const Uploader::Context& uploads) {
  return uploads.clock.now() + uploads.request_timeout;
}

void fill_part(const Uploader::Context& uploads, StagedSource& source, std::uint64_t offset_bytes,
               std::shared_ptr<Part> part, Done<std::shared_ptr<Part>> done) {
  const std::span<std::byte> out = part->buffer.bytes().first(part->length);
  source.read(offset_bytes, out, request_deadline(uploads),
              [part = std::move(part), out, done = std::move(done)](Result<void> read) mutable {
                if (!read) {
                  part->buffer = {};
                  return done(std::unexpected(std::move(read.error())));
                }
                part->crc64nvme = crc64nvme(0, out);
                done(std::move(part));
              });
}

}  // namespace

void read_part(const PartReader& reader, std::shared_ptr<StagedSource> source, ByteRange bytes,
               unsigned number, bool at_once, Done<std::shared_ptr<Part>> done) {
  const std::uint64_t chunk_bytes = reader.uploads.part_sizes.first_bytes;
  const std::uint64_t buffer_bytes = (bytes.size() + chunk_bytes - 1) / chunk_bytes * chunk_bytes;
  reader.uploads.buffers.take(
      buffer_bytes, reader.uploads.clock.now() + kBufferPatience * reader.uploads.request_timeout,
      [reader, source = std::move(source), bytes, number, at_once,
       done = std::move(done)](Result<PartBuffer> buffer) mutable {
        if (!buffer) return done(std::unexpected(std::move(buffer.error())));
        auto part = std::make_shared<Part>();
        part->number = number;
        part->buffer = std::move(*buffer);
        part->length = bytes.size();
        if (at_once) {
          return fill_part(reader.uploads, *source, bytes.begin, std::move(part), std::move(done));
        }
        // Shared, as a job that is refused has to be answered too.
        auto answer = std::make_shared<Done<std::shared_ptr<Part>>>(std::move(done));
        const bool is_posted = reader.thread.post([reader, source, bytes, part, answer] {
          fill_part(reader.uploads, *source, bytes.begin, part, std::move(*answer));
        });
        if (is_posted) return;
        part->buffer = {};
        (*answer)(fail(ErrorCode::kCancelled, "the mount is going down"));
      });
}

void send_part(const Uploader::Context& uploads, const std::string& key, std::string upload_id,
               const std::shared_ptr<Part>& part, Done<s3::UploadedPart> done) {
  uploads.writer.upload_part(
      key, std::move(upload_id), part->number, part->body(), request_deadline(uploads),
      [&uploads, part, done = std::move(done)](s3::PutOutcome outcome) mutable {
        end_part(uploads, *part, outcome);
        if (!outcome.etag) return done(std::unexpected(std::move(outcome.etag.error())));
        done(s3::UploadedPart{.number = part->number,
                              .etag = std::move(*outcome.etag),
                              .crc64nvme = part->crc64nvme,
                              .size_bytes = part->length});
      });
}

// Gives the buffer back before anything else begins: a part that waits should get this one.
void end_part(const Uploader::Context& uploads, Part& part, const s3::PutOutcome& outcome) {
  if (outcome.late_read_possible) part.buffer.let_rest();
  if (outcome.etag) {
    const bool is_rdma = outcome.path == s3::Path::kRdma;
    (is_rdma ? uploads.metrics.rdma_bytes : uploads.metrics.http_bytes).add(part.length);
  }
  part.buffer = {};
}

}  // namespace s3rdmafs::upload
