// SPDX-License-Identifier: Apache-2.0
// Staged mode: copies that the server makes, for copy_file_range(2).
//
// Why. cp(1) of a file of the bucket to another one would fetch all bytes and send them again. One
// request does it where the whole of a version goes into a file that has no bytes yet: that is all
// that cp asks for. The copy is stored at once, under the condition and with the user metadata that
// the file's store would have, and is its base from then on: the close has nothing to store.
//
// Everything else is refused as unsupported, and the kernel reads and writes the bytes: parts of a
// file, a source with staged changes, a destination with bytes, and one that the kernel writes by
// itself (fuse/copy_guess.h keeps it from doing so for cp).
//
// The kernel hears of a copy in pieces of 2 GiB at most, since its answer has 32 bits. The file is
// whole at the first of them; for the others nothing is left to do.
#include <algorithm>
#include <array>
#include <utility>

#include "vfs/files/open_files.h"
#include "vfs/refusals.h"
#include "vfs/staged/staged_writing.h"

namespace s3rdmafs::vfs {
namespace {

std::unexpected<Error> bytes_are_needed() {
  return fail(ErrorCode::kUnsupported,
              "the server cannot make this copy: the bytes go through here");
}

/// Errors after which the bytes can be written instead. kStale may hide a copy whose answer was
/// lost: then the close finds it and fails, and nothing is lost.
bool is_refusal(ErrorCode code) {
  using enum ErrorCode;
  constexpr std::array kRefusals{kUnsupported,  kStale,           kExists,  kNotFound,
                                 kAccessDenied, kInvalidArgument, kTooLarge};
  return std::ranges::find(kRefusals, code) != kRefusals.end();
}

/// A server that copies no objects would be sent the bytes from here.
class NoBytes final : public upload::StagedSource {
 public:
  void read(std::uint64_t, std::span<std::byte>, Deadline, Done<void> done) override {
    done(bytes_are_needed());
  }
};

}  // namespace

void StagedStore::copy(const std::shared_ptr<StagedFile>& file, const s3::ObjectInfo& source,
                       Done<void> done) {
  with_turn(
      file,
      [self = shared_from_this(), file, source](Done<void> then) {
        self->copy_in_turn(file, source, std::move(then));
      },
      std::move(done));
}

void StagedStore::copy_in_turn(const std::shared_ptr<StagedFile>& file,
                               const s3::ObjectInfo& source, Done<void> done) {
  auto object = file->begin_copy(source);
  if (!object) return done(bytes_are_needed());
  uploads_.store(std::move(*object), std::make_shared<NoBytes>(),
                 [self = shared_from_this(), file, source,
                  done = std::move(done)](Result<std::string> etag) mutable {
                   if (etag) {
                     self->on_stored(file, *etag);
                     file->end_copy(source, self->names_->generation_of(source));
                     return done({});
                   }
                   file->end_copy_in_vain();
                   if (is_refusal(etag.error().code)) return done(bytes_are_needed());
                   done(std::unexpected(std::move(etag.error())));
                 });
}

std::optional<s3::ObjectInfo> StagedWriting::version_read_by(std::uint64_t handle) const {
  if (const auto staged = handles_->find<StagedHandle>(handle)) return staged->file->version();
  const auto opened = handles_->find<const OpenVersion>(handle);
  if (!opened || names_->generation_of(opened->object) != opened->generation) return std::nullopt;
  const std::shared_ptr<StagedFile> newer = files_->of(opened->ino);
  return newer ? newer->version() : opened->object;
}

void StagedWriting::copy(const CopyRange& range, Done<std::uint64_t> done) {
  const auto to = handles_->find<StagedHandle>(range.to);
  if (!to || !to->may_write) return done(no_such_handle(range.to));
  const auto source = version_read_by(range.from);
  if (!source || range.from_offset_bytes != range.to_offset_bytes) return done(bytes_are_needed());
  const std::uint64_t left_bytes =
      source->size_bytes - std::min(source->size_bytes, range.from_offset_bytes);
  const std::uint64_t copied_bytes = std::min(left_bytes, range.length_bytes);
  if (copied_bytes == 0) return done(bytes_are_needed());
  if (to->file->is_copy_of(*source, names_->generation_of(*source))) return done(copied_bytes);
  if (range.from_offset_bytes > 0 || copied_bytes < source->size_bytes) {
    return done(bytes_are_needed());
  }
  store_->copy(to->file, *source,
               [copied_bytes, done = std::move(done)](Result<void> copied) mutable {
                 if (!copied) return done(std::unexpected(std::move(copied.error())));
                 done(copied_bytes);
               });
}

}  // namespace s3rdmafs::vfs
