// SPDX-License-Identifier: Apache-2.0
// Changes of names: unlink, mkdir and rmdir. Files are created in file_system_write.cc.
//
// S3 has no directories. mkdir stores an empty object whose key ends in "/"; rmdir removes it. So a
// directory that no object marks ends with its last file.
#include <utility>

#include "vfs/directories/listing_cursor.h"
#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/held_files.h"
#include "vfs/names/key_path.h"
#include "vfs/names/names.h"
#include "vfs/names/store_empty.h"
#include "vfs/refusals.h"

namespace s3rdmafs::vfs {
namespace {

/// A server that refuses keys ending in "/" calls the request wrong, although the program's call
/// was valid.
Error cannot_make(Error error) {
  const bool is_refused =
      error.code == ErrorCode::kInvalidArgument || error.code == ErrorCode::kUnsupported;
  if (is_refused) error.code = ErrorCode::kSequentialOnly;
  return error;
}

}  // namespace

void FileSystem::remove_key(const std::string& key, const std::string& name_key, Deadline deadline,
                            Done<void> done) {
  writing_->writer.remove(
      key, deadline,
      [self = shared_from_this(), name_key, done = std::move(done)](Result<void> removed) mutable {
        self->names_->on_changed(name_key);  // also after a time-out: it may be gone
        done(std::move(removed));
      });
}

void FileSystem::unlink(Ino parent, std::string_view name, Deadline deadline, Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = names_->child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  file_writing_->work_begins();
  file_writing_->hold(
      {*key}, [self = shared_from_this(), key = *key, deadline,
               done = std::move(done)](Result<std::shared_ptr<HeldFiles>> held) mutable {
        auto& files = **held;
        auto ended = [self, held = std::move(*held),
                      done = std::move(done)](Result<void> outcome) mutable {
          done(std::move(outcome));
          held->release();
          self->file_writing_->work_ends();
        };
        const SeenAt now = self->clock_.now();
        files.keep_bytes(
            key, now + (deadline - now) / 2,
            [self, &files, key, deadline, ended = std::move(ended)](const Result<void>&) mutable {
              self->remove_held(files, key, deadline, std::move(ended));
            });
      });
}

// Its files hold still: a PUT that ends after the DELETE would bring it back. Staged bytes are
// given up only when the name is gone.
void FileSystem::remove_held(HeldFiles& files, const std::string& key, Deadline deadline,
                             Done<void> done) {
  remove_key(key, key, deadline,
             [&files, key, done = std::move(done)](Result<void> removed) mutable {
               if (!removed) return done(std::move(removed));
               files.replaced(key, std::move(done));
             });
}

void FileSystem::make_directory(Ino parent, std::string_view name, Deadline deadline,
                                Done<Entry> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = names_->child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  if (directory_prefix(*key).size() > kKeyBytesMax) {
    return done(fail(ErrorCode::kNameTooLong, "no key can have this name"));
  }
  if (file_writing_->is_written(*key))
    return done(fail(ErrorCode::kExists, "'" + *key + "' is a file"));
  names_->resolve_new(*key, /*asks=*/false, deadline,
                      [self = shared_from_this(), key = *key, deadline,
                       done = std::move(done)](Result<NameAnswer> answer) mutable {
                        if (!answer) return done(std::unexpected(std::move(answer.error())));
                        if (answer->node) {
                          return done(fail(ErrorCode::kExists, "'" + key + "' exists already"));
                        }
                        // Of two mounts that make it at once, one must hear that it exists.
                        store_empty(
                            self->writing_->writer, self->names_, directory_prefix(key),
                            s3::Precondition::absent(), deadline,
                            [self, key, done = std::move(done)](Result<void> stored) mutable {
                              self->names_->on_changed(key);  // it may exist also after an error
                              if (!stored)
                                return done(std::unexpected(cannot_make(stored.error())));
                              done(self->names_->add_lookup(Node::directory(directory_prefix(key)),
                                                            self->clock_.now()));
                            });
                      });
}

void FileSystem::remove_directory(Ino parent, std::string_view name, Deadline deadline,
                                  Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = names_->child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  remove_if_empty(directory_prefix(*key), {}, deadline, std::move(done));
}

// Two entries are enough: the directory's own object, which sorts first, and one in it. Where even
// the first is absent, the directory went with its last file; removing it again does no harm.
void FileSystem::remove_if_empty(std::string prefix, ListingCursor cursor, Deadline deadline,
                                 Done<void> done) {
  s3::ListRequest request{
      .prefix = prefix, .delimiter = "/", .continuation_token = cursor.token(), .keys_max = 2};
  store_.list(
      std::move(request), deadline,
      [self = shared_from_this(), prefix = std::move(prefix), cursor = std::move(cursor), deadline,
       done = std::move(done)](Result<s3::ListPage> page) mutable {
        if (!page) return done(std::unexpected(std::move(page.error())));
        bool is_empty = page->common_prefixes.empty() && !self->file_writing_->any_below(prefix);
        for (const s3::ObjectInfo& object : page->objects) {
          is_empty = is_empty && object.key == prefix;
        }
        if (!is_empty) {
          return done(fail(ErrorCode::kNotEmpty, "'" + prefix + "' is not empty"));
        }
        if (auto passed = cursor.pass(*page); !passed) {
          return done(std::unexpected(std::move(passed.error())));
        }
        if (!cursor.is_at_end()) {
          return self->remove_if_empty(prefix, std::move(cursor), deadline, std::move(done));
        }
        const std::string name_key = prefix.substr(0, prefix.size() - 1);
        self->remove_key(prefix, name_key, deadline,
                         [self, prefix, done = std::move(done)](Result<void> removed) mutable {
                           if (removed) self->names_->on_directory_removed(prefix);
                           done(std::move(removed));
                         });
      });
}

}  // namespace s3rdmafs::vfs
