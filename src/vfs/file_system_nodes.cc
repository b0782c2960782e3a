// SPDX-License-Identifier: Apache-2.0
// Files that are made at once, without a handle: mknod(2) of a regular file, and symbolic links.
//
// A symbolic link is an object whose user metadata says so (vfs/metadata/posix_metadata.h) and
// whose body is the target, as s3fs has it.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "upload/staged/staged_uploads.h"
#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/open_files.h"
#include "vfs/metadata/posix_metadata.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"

namespace s3rdmafs::vfs {
namespace {

/// The body of a symbolic link, on its way to a part buffer.
class TargetSource final : public upload::StagedSource {
 public:
  explicit TargetSource(std::string target) : target_(std::move(target)) {}
  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline,
            Done<void> done) override {
    const auto bytes = std::as_bytes(std::span(target_));
    std::ranges::copy(bytes.subspan(offset_bytes, out.size()), out.begin());
    done({});
  }

 private:
  const std::string target_;
};

}  // namespace

void FileSystem::make_file(Ino parent, std::string_view name, const PosixAttributes& posix,
                           Deadline deadline, Done<Entry> done) {
  NewNode node{.key = {}, .parent = parent, .name = std::string(name), .bytes = {}, .metadata = {}};
  if (keeps_posix()) node.metadata = new_posix_metadata(posix, clock_.wall_now());
  make_node(std::move(node), deadline, std::move(done));
}

void FileSystem::make_symlink(Ino parent, std::string_view name, std::string target,
                              const PosixAttributes& owner, Deadline deadline, Done<Entry> done) {
  if (!keeps_posix()) {
    return done(fail(ErrorCode::kSequentialOnly, "symbolic links need metadata.posix = write"));
  }
  if (target.empty() || target.size() > kLinkBytesMax) {
    return done(fail(ErrorCode::kNameTooLong,
                     "the target of a link has " + std::to_string(target.size()) + " bytes"));
  }
  PosixAttributes posix = owner;
  posix.is_symlink = true;
  posix.mode = 0777;
  make_node({.key = {},
             .parent = parent,
             .name = std::string(name),
             .bytes = std::move(target),
             .metadata = new_posix_metadata(posix, clock_.wall_now())},
            deadline, std::move(done));
}

void FileSystem::make_node(NewNode node, Deadline deadline, Done<Entry> done) {
  if (!writing_) return done(read_only());
  Result<std::string> key = names_->child_key(node.parent, node.name);
  if (!key) return done(std::unexpected(std::move(key.error())));
  if (file_writing_->is_written(*key)) {
    return done(fail(ErrorCode::kExists, "'" + *key + "' exists already"));
  }
  node.key = *key;
  names_->resolve(*key, deadline,
                  [self = shared_from_this(), node = std::move(node), deadline,
                   done = std::move(done)](Result<NameAnswer> answer) mutable {
                    if (!answer) return done(std::unexpected(std::move(answer.error())));
                    if (answer->node) {
                      return done(fail(ErrorCode::kExists, "'" + node.key + "' exists already"));
                    }
                    self->store_node(std::move(node), deadline, std::move(done));
                  });
}

void FileSystem::store_node(NewNode node, Deadline deadline, Done<Entry> done) {
  auto stored = [self = shared_from_this(), key = node.key, parent = node.parent, name = node.name,
                 deadline, done = std::move(done)](Result<std::string> etag) mutable {
    self->names_->on_changed(key);
    if (!etag) return done(std::unexpected(std::move(etag.error())));
    self->names_->on_stored(key, *etag);
    self->lookup(parent, name, deadline, std::move(done));
  };
  s3::PutOptions options{.when = s3::Precondition::absent(), .metadata = std::move(node.metadata)};
  if (node.bytes.empty()) {
    return writing_->writer.put(node.key, {}, std::move(options), deadline,
                                [stored = std::move(stored)](s3::PutOutcome outcome) mutable {
                                  stored(std::move(outcome.etag));
                                });
  }
  upload::StagedObject object{.key = node.key,
                              .size_bytes = node.bytes.size(),
                              .when = std::move(options.when),
                              .metadata = std::move(options.metadata)};
  writing_->uploads.staged().store(
      std::move(object), std::make_shared<TargetSource>(std::move(node.bytes)), std::move(stored));
}

std::string FileSystem::target_of(const cache::PinnedBytes& bytes) {
  std::string target;
  for (const auto piece : bytes.pieces()) {
    target.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  return target;
}

// The version is believed as long as its name, and not confirmed again: each path through a link
// would cost a request. Where it is gone by now, the read fails with kStale.
void FileSystem::read_link(Ino ino, Deadline deadline, Done<std::string> done) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  const s3::ObjectInfo& object = inode->node.object;
  if (!names_->attributes_of(ino, inode->node).posix.is_symlink) {
    return done(fail(ErrorCode::kInvalidArgument, "'" + object.key + "' is not a symbolic link"));
  }
  const std::uint64_t handle = open_files_->open(ino, object, inode->node.generation);
  read(handle, 0, object.size_bytes, deadline,
       [self = shared_from_this(), handle, key = object.key,
        done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
         self->open_files_->release(handle);
         if (!bytes) return done(std::unexpected(std::move(bytes.error())));
         std::string target = target_of(*bytes);
         if (target.contains('\0')) {
           return done(fail(ErrorCode::kCorrupt, "the target of '" + key + "' is not a path"));
         }
         done(std::move(target));
       });
}

}  // namespace s3rdmafs::vfs
