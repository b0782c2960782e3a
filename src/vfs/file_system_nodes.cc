// SPDX-License-Identifier: Apache-2.0
// mknod(2) of a regular file: an empty object at once, without a handle.
#include <string>
#include <utility>

#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"

namespace s3rdmafs::vfs {

void FileSystem::make_file(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = names_->child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  if (file_writing_->is_written(*key)) {
    return done(fail(ErrorCode::kExists, "'" + *key + "' exists already"));
  }
  names_->resolve(*key, deadline,
                  [self = shared_from_this(), key = *key, parent, name = std::string(name),
                   deadline, done = std::move(done)](Result<NameAnswer> answer) mutable {
                    if (!answer) return done(std::unexpected(std::move(answer.error())));
                    if (answer->node) {
                      return done(fail(ErrorCode::kExists, "'" + key + "' exists already"));
                    }
                    self->put_new_file(key, parent, std::move(name), deadline, std::move(done));
                  });
}

void FileSystem::put_new_file(const std::string& key, Ino parent, std::string name,
                              Deadline deadline, Done<Entry> done) {
  writing_->writer.put(key, {}, {.when = s3::Precondition::absent()}, deadline,
                       [self = shared_from_this(), key, parent, name = std::move(name), deadline,
                        done = std::move(done)](s3::PutOutcome outcome) mutable {
                         self->names_->on_changed(key);
                         if (!outcome.etag) {
                           return done(std::unexpected(std::move(outcome.etag.error())));
                         }
                         self->names_->on_stored(key, *outcome.etag);
                         self->lookup(parent, name, deadline, std::move(done));
                       });
}

}  // namespace s3rdmafs::vfs
