// SPDX-License-Identifier: Apache-2.0
// The half of the file system that changes the bucket.
//
// The inode of a file that is written. An inode is one version of one object, and the file has no
// version yet; so it gets an inode of its own (Node::written), which its name stands for from the
// open that makes or truncates it to the sync that makes it visible. Then the name stands for the
// version the store has, another inode. Readers of an older version notice nothing.
//
// How an existing file comes by it. The kernel opens for writing the inode it found, which is a
// version. That open reserves the written inode for the name and fails with kStale, whereupon the
// kernel looks the name up again, finds the written inode, and opens that. truncate(2) of a path
// goes the same way: it stores the empty object and fails with kStale, and the kernel's second
// attempt finds an empty file.
//
// Read after write. After each change nothing that was asked before it is believed (changed()); the
// next who looks asks the store, which is consistent (Amazon S3 User Guide, "data consistency
// model"), and hears its size, time and ETag from itself.
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/file_system_impl.h"
#include "vfs/key_path.h"

namespace s3rdmafs::vfs {
namespace {

std::unexpected<Error> read_only() {
  return fail(ErrorCode::kReadOnly, "the mount is read-only: write.mode is \"off\"");
}

}  // namespace

void FileSystem::Impl::changed(const std::string& key) {
  names_.outdate(key, clock_.now());
  resolver_->outdate(key);
  snapshots_.forget(prefix_of(key));
}

// Open, write, sync, close

void FileSystem::Impl::create(Ino parent, std::string_view name, bool exclusive, ProcessId process,
                              Deadline deadline, Done<CreatedFile> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  auto begun = written_->begin(*key);
  if (!begun) return done(std::unexpected(begun.error()));
  const std::shared_ptr<WrittenFile> file = *begun;
  // Of two that reach this point for one name, begin() has stopped one, unless the other waited for
  // longer than a reservation lives.
  if (!file->claim(process)) return done(fail(ErrorCode::kBusy, "'" + *key + "' is being made"));
  if (exclusive) changed(*key);  // so that the store is asked, not the cache
  resolver_->resolve(*key, deadline,
                     [self = shared_from_this(), file, exclusive,
                      done = std::move(done)](Result<NameAnswer> answer) mutable {
                       self->create_if_absent(file, exclusive, std::move(answer), std::move(done));
                     });
}

void FileSystem::Impl::create_if_absent(const std::shared_ptr<WrittenFile>& file, bool exclusive,
                                        Result<NameAnswer> answer, Done<CreatedFile> done) {
  if (answer && !answer->node) {
    const Entry entry = give_to_kernel(file->node(), clock_.now());
    return done(CreatedFile{.entry = entry, .file = {.handle = written_->open(file)}});
  }
  written_->hide(*file);
  if (!answer) return done(std::unexpected(std::move(answer.error())));
  const std::string what = "'" + file->key() + "' is there already";
  if (answer->node->is_directory) return done(fail(ErrorCode::kIsDirectory, what));
  done(fail(exclusive ? ErrorCode::kExists : ErrorCode::kStale, what));
}

Result<OpenFile> FileSystem::Impl::open_to_write(Ino ino, bool truncate, ProcessId process) {
  if (!writing_) return read_only();
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return no_such_inode(ino);
  const Node& node = inode->node;
  const std::string& key = node.object.key;
  if (node.is_directory) return fail(ErrorCode::kIsDirectory, "'" + key + "' is a directory");
  if (node.written) {
    if (written_->find(key) != node.written) {
      return fail(ErrorCode::kStale, "'" + key + "' is no longer being written");
    }
    if (!node.written->claim(process)) {
      return fail(ErrorCode::kBusy, "'" + key + "' is being written already");
    }
    return OpenFile{.handle = written_->open(node.written)};
  }
  if (!truncate && node.object.size_bytes > 0) {
    return fail(ErrorCode::kSequentialOnly,
                "'" + key + "' has bytes: it can only be written anew (O_TRUNC)");
  }
  if (const auto begun = written_->begin(key); !begun) return std::unexpected(begun.error());
  return fail(ErrorCode::kStale, "'" + key + "' is to be written through another inode");
}

void FileSystem::Impl::write(std::uint64_t handle, std::uint64_t offset_bytes,
                             std::span<const std::byte> bytes, Deadline deadline, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = written_ ? written_->find(handle) : nullptr;
  if (!file) return done(no_such_handle(handle));
  const bool is_again = file->is_stored();  // after a sync, when its name stands for a version
  if (is_again) {
    if (auto shown = written_->show(file); !shown) return done(std::move(shown));
  }
  file->append(offset_bytes, bytes, deadline,
               [self = shared_from_this(), file, is_again,
                done = std::move(done)](Result<void> outcome) mutable {
                 // Refused: the version is still what there is.
                 if (is_again && !file->is_pending()) self->written_->hide(*file);
                 done(std::move(outcome));
               });
}

void FileSystem::Impl::finish(const std::shared_ptr<WrittenFile>& file, Done<void> done) {
  written_->work_begins();
  file->finish(
      [self = shared_from_this(), file, done = std::move(done)](Result<void> outcome) mutable {
        // Also after a failure: the name stands for what the store has.
        self->changed(file->key());
        self->written_->hide(*file);
        done(std::move(outcome));
        self->written_->work_ends();
      });
}

void FileSystem::Impl::sync(std::uint64_t handle, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = written_ ? written_->find(handle) : nullptr;
  if (!file) return done(no_such_handle(handle));
  finish(file, std::move(done));
}

std::optional<ProcessId> FileSystem::Impl::opener(std::uint64_t handle) const {
  const std::shared_ptr<WrittenFile> file = written_ ? written_->find(handle) : nullptr;
  if (!file) return std::nullopt;
  return file->process();
}

void FileSystem::Impl::release_written(std::uint64_t handle) {
  const std::shared_ptr<WrittenFile> file = written_->release(handle);
  if (!file) return;
  if (file->is_stored()) return file->close();
  finish(file, [file](const Result<void>& outcome) {
    // Nobody else hears of it: the descriptor is gone.
    if (!outcome) spdlog::warn("'{}' was not stored: {}", file->key(), outcome.error().detail);
    file->close();
  });
}

void FileSystem::Impl::end_writes(Deadline deadline) {
  if (!writing_) return;
  written_->wait_for_work(deadline);
  for (const std::shared_ptr<WrittenFile>& file : written_->open_files()) {
    written_->work_begins();
    file->cancel([self = shared_from_this()](const Result<void>&) { self->written_->work_ends(); });
  }
  written_->wait_for_work(deadline);
}

void FileSystem::Impl::truncate(Ino ino, std::uint64_t size_bytes, Deadline deadline,
                                Done<void> done) {
  if (!writing_) return done(read_only());
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return done(no_such_inode(ino));
  const Node& node = inode->node;
  const std::string& key = node.object.key;
  if (node.is_directory) {
    return done(fail(ErrorCode::kIsDirectory, "'" + key + "' is a directory"));
  }
  if (node.written) return node.written->truncate(size_bytes, std::move(done));
  if (size_bytes == node.object.size_bytes) return done({});
  if (size_bytes != 0) {
    return done(fail(ErrorCode::kSequentialOnly,
                     "'" + key + "' can only be cut to nothing, or to the size it has"));
  }
  if (written_->find(key)) return done(fail(ErrorCode::kBusy, "'" + key + "' is being written"));
  store_empty(
      key, deadline,
      [self = shared_from_this(), key, done = std::move(done)](Result<void> stored) mutable {
        if (!stored) return done(std::move(stored));
        self->changed(key);
        done(fail(ErrorCode::kStale, "'" + key + "' is now another inode"));
      });
}

// Names

void FileSystem::Impl::store_empty(std::string key, Deadline deadline, Done<void> done) {
  writing_->writer.put(std::move(key), {}, /*only_if_absent=*/false, deadline,
                       [done = std::move(done)](s3::PutOutcome outcome) mutable {
                         if (outcome.etag) return done({});
                         done(std::unexpected(std::move(outcome.etag.error())));
                       });
}

void FileSystem::Impl::remove_key(const std::string& key, const std::string& name_key,
                                  Deadline deadline, Done<void> done) {
  writing_->writer.remove(
      key, deadline,
      [self = shared_from_this(), name_key, done = std::move(done)](Result<void> removed) mutable {
        self->changed(name_key);  // after a time-out it may be gone too
        done(std::move(removed));
      });
}

void FileSystem::Impl::unlink(Ino parent, std::string_view name, Deadline deadline,
                              Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  const std::shared_ptr<WrittenFile> file = written_->find(*key);
  if (!file) return remove_key(*key, *key, deadline, std::move(done));
  // First nothing of it may be under way: a PUT that ends after the DELETE would bring it back.
  written_->work_begins();
  file->discard([self = shared_from_this(), file, deadline,
                 done = std::move(done)](const Result<void>&) mutable {
    self->written_->hide(*file);
    self->remove_key(file->key(), file->key(), deadline, std::move(done));
    self->written_->work_ends();
  });
}

void FileSystem::Impl::make_directory(Ino parent, std::string_view name, Deadline deadline,
                                      Done<Entry> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  if (directory_prefix(*key).size() > kKeyBytesMax) {
    return done(fail(ErrorCode::kInvalidArgument, "no key can have this name"));
  }
  if (written_->find(*key)) return done(fail(ErrorCode::kExists, "'" + *key + "' is a file"));
  resolver_->resolve(*key, deadline,
                     [self = shared_from_this(), key = *key, deadline,
                      done = std::move(done)](Result<NameAnswer> answer) mutable {
                       if (!answer) return done(std::unexpected(std::move(answer.error())));
                       if (answer->node)
                         return done(fail(ErrorCode::kExists, "'" + key + "' is there already"));
                       self->store_empty(
                           directory_prefix(key), deadline,
                           [self, key, done = std::move(done)](Result<void> stored) mutable {
                             if (!stored) return done(std::unexpected(std::move(stored.error())));
                             self->changed(key);
                             done(self->give_to_kernel(Node::directory(directory_prefix(key)),
                                                       self->clock_.now()));
                           });
                     });
}

void FileSystem::Impl::remove_directory(Ino parent, std::string_view name, Deadline deadline,
                                        Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  remove_if_empty(directory_prefix(*key), {}, deadline, std::move(done));
}

// Two entries tell: the directory's own object, which sorts first, and one in it. Where not even
// the first is there, the directory went with its last file, and there is nothing to do.
void FileSystem::Impl::remove_if_empty(std::string prefix, ListingCursor cursor, Deadline deadline,
                                       Done<void> done) {
  s3::ListRequest request{
      .prefix = prefix, .delimiter = "/", .continuation_token = cursor.token(), .keys_max = 2};
  store_.list(std::move(request), deadline,
              [self = shared_from_this(), prefix = std::move(prefix), cursor = std::move(cursor),
               deadline, done = std::move(done)](Result<s3::ListPage> page) mutable {
                if (!page) return done(std::unexpected(std::move(page.error())));
                bool is_empty = page->common_prefixes.empty() && !self->written_->any_below(prefix);
                for (const s3::ObjectInfo& object : page->objects) {
                  is_empty = is_empty && object.key == prefix;
                }
                if (!is_empty)
                  return done(fail(ErrorCode::kNotEmpty, "'" + prefix + "' is not empty"));
                if (auto passed = cursor.pass(*page); !passed) {
                  return done(std::unexpected(std::move(passed.error())));
                }
                if (!cursor.is_at_end()) {
                  return self->remove_if_empty(prefix, std::move(cursor), deadline,
                                               std::move(done));
                }
                const std::string name_key = prefix.substr(0, prefix.size() - 1);
                self->remove_key(prefix, name_key, deadline, std::move(done));
              });
}

// The outside

bool FileSystem::is_writable() const { return impl_->is_writable(); }
void FileSystem::create(Ino parent, std::string_view name, bool exclusive, ProcessId process,
                        Deadline deadline, Done<CreatedFile> done) {
  impl_->create(parent, name, exclusive, process, deadline, std::move(done));
}
Result<OpenFile> FileSystem::open_to_write(Ino ino, bool truncate, ProcessId process) {
  return impl_->open_to_write(ino, truncate, process);
}
void FileSystem::write(std::uint64_t handle, std::uint64_t offset_bytes,
                       std::span<const std::byte> bytes, Deadline deadline, Done<void> done) {
  impl_->write(handle, offset_bytes, bytes, deadline, std::move(done));
}
void FileSystem::sync(std::uint64_t handle, Done<void> done) {
  impl_->sync(handle, std::move(done));
}
std::optional<ProcessId> FileSystem::opener(std::uint64_t handle) const {
  return impl_->opener(handle);
}
void FileSystem::truncate(Ino ino, std::uint64_t size_bytes, Deadline deadline, Done<void> done) {
  impl_->truncate(ino, size_bytes, deadline, std::move(done));
}
void FileSystem::unlink(Ino parent, std::string_view name, Deadline deadline, Done<void> done) {
  impl_->unlink(parent, name, deadline, std::move(done));
}
void FileSystem::make_directory(Ino parent, std::string_view name, Deadline deadline,
                                Done<Entry> done) {
  impl_->make_directory(parent, name, deadline, std::move(done));
}
void FileSystem::remove_directory(Ino parent, std::string_view name, Deadline deadline,
                                  Done<void> done) {
  impl_->remove_directory(parent, name, deadline, std::move(done));
}
void FileSystem::end_writes(Deadline deadline) { impl_->end_writes(deadline); }

}  // namespace s3rdmafs::vfs
