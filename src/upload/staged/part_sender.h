// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "s3/object_writer.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/worker_thread.h"
#include "upload/object_parts.h"
#include "upload/staged/byte_ranges.h"
#include "upload/uploader.h"

namespace s3rdmafs::upload {

class StagedSource;

// One part of a staged object, from its bytes to the server's answer. Both wait without a thread;
// `done` rules as in base/callback.h.

/// Where a part is read.
struct PartReader {
  const Uploader::Context& uploads;  // borrowed
  WorkerThread& thread;              ///< may block for a local file
};

/// Takes a buffer, fills it from the source and computes the checksum.
/// @param bytes    of the source; at most a largest part
/// @param at_once  on the thread that gives the buffer, not on the reader's
/// Errors: kNoMemory (no buffer came free), kCancelled (the mount ends), those of the source.
void read_part(const PartReader& reader, std::shared_ptr<StagedSource> source, ByteRange bytes,
               unsigned number, bool at_once, Done<std::shared_ptr<Part>> done);

/// UploadPart. The buffer has been given back at `done`. Errors: those of the writer.
void send_part(const Uploader::Context& uploads, const std::string& key, std::string upload_id,
               const std::shared_ptr<Part>& part, Done<s3::UploadedPart> done);

/// A request that had the part as its body has ended: counts its bytes and gives the buffer back.
void end_part(const Uploader::Context& uploads, Part& part, const s3::PutOutcome& outcome);

}  // namespace s3rdmafs::upload
