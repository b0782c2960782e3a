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
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

using Start = upload::Uploader::Start;

}  // namespace

void FileSystem::Impl::changed(const std::string& key) {
  names_.invalidate(key, clock_.now());
  resolver_->invalidate(key);
  snapshots_.forget(prefix_of(key));
}

void FileSystem::Impl::stored(const std::string& key, const std::string& etag) {
  if (etag.empty()) return;  // begun anew since: what it became is not known
  const bool is_repeated = generations_.stored(key, etag);
  if (is_repeated && options_.on_etag_repeated) options_.on_etag_repeated(key, etag);
}

// Open, write, sync, close

void FileSystem::Impl::create(Ino parent, std::string_view name, Creation how, ProcessId process,
                              Deadline deadline, Done<CreatedFile> done) {
  if (!writing_) return done(read_only());
  const Result<std::string> key = child_key(parent, name);
  if (!key) return done(std::unexpected(key.error()));
  const Start start = how.truncates ? Start::kReplacing : Start::kIfAbsent;
  auto begun = written_->begin(*key, process, {.start = start});
  if (!begun) return done(std::unexpected(begun.error()));
  const std::shared_ptr<WrittenFile> file = *begun;
  // Of two that reach this point for one name, begin() has stopped one, unless the other waited for
  // longer than a reservation lives.
  if (!file->claim(process)) return done(fail(ErrorCode::kBusy, "'" + *key + "' is being made"));
  if (!how.truncates) changed(*key);  // so that the store is asked, not the cache
  resolver_->resolve(*key, deadline,
                     [self = shared_from_this(), file, how, process,
                      done = std::move(done)](Result<NameAnswer> answer) mutable {
                       self->create_if_absent(file, how, process, std::move(answer),
                                              std::move(done));
                     });
}

void FileSystem::Impl::create_if_absent(const std::shared_ptr<WrittenFile>& file, Creation how,
                                        ProcessId process, Result<NameAnswer> answer,
                                        Done<CreatedFile> done) {
  if (answer && !answer->node) {
    const Entry entry = give_to_kernel(file->node(), clock_.now());
    return done(CreatedFile{.entry = entry, .file = {.handle = written_->open(file)}});
  }
  const auto refuse = [&](ErrorCode code) {
    written_->hide(*file);
    done(fail(code, "'" + file->key() + "' is there already"));
  };
  if (!answer) {
    written_->hide(*file);
    return done(std::unexpected(std::move(answer.error())));
  }
  if (answer->node->is_directory) return refuse(ErrorCode::kIsDirectory);
  if (how.is_exclusive) return refuse(ErrorCode::kExists);
  const s3::ObjectInfo& there = answer->node->object;
  const bool may_be_written = how.truncates || there.size_bytes == 0;
  if (!how.writes || !may_be_written) return refuse(ErrorCode::kStale);
  // The kernel tries again once, so the file must be there for it to open then.
  file->reserve(process, clock_.now(),
                how.truncates ? WrittenFile::Base{}
                              : WrittenFile::Base{.start = Start::kStored, .etag = there.etag});
  done(fail(ErrorCode::kStale, "'" + file->key() + "' is there already"));
}

void FileSystem::Impl::open_to_write(Ino ino, bool truncate, ProcessId process, Deadline deadline,
                                     Done<OpenFile> done) {
  if (!writing_) return done(read_only());
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return done(no_such_inode(ino));
  const Node& node = inode->node;
  const std::string& key = node.object.key;
  if (node.is_directory) {
    return done(fail(ErrorCode::kIsDirectory, "'" + key + "' is a directory"));
  }
  if (node.written) {
    const bool is_current = written_->find(key) == node.written;
    if (is_current && node.written->claim(process)) {
      return done(OpenFile{.handle = written_->open(node.written)});
    }
    // Also where it was written and closed since the kernel found it for this very process: that it
    // looks again was spent on the reservation.
    if (is_current || node.written->process() == process) {
      return done(fail(ErrorCode::kBusy, "'" + key + "' is being written already"));
    }
  }
  if (truncate) return done(reserve(key, process, {}));
  // What is known of its size may be old: the store is asked, so that no bytes are replaced.
  const std::string known_etag = node.object.etag;
  store_.head(key, deadline,
              [self = shared_from_this(), ino, known_etag, process, key,
               done = std::move(done)](Result<s3::ObjectInfo> there) mutable {
                done(self->reserve_if_empty(ino, known_etag, process, key, std::move(there)));
              });
}

Result<OpenFile> FileSystem::Impl::reserve_if_empty(Ino ino, const std::string& etag,
                                                    ProcessId process, const std::string& key,
                                                    Result<s3::ObjectInfo> there) {
  const bool is_gone = !there && there.error().code == ErrorCode::kNotFound;
  if (!there && !is_gone) return std::unexpected(std::move(there.error()));
  if (is_gone || there->etag != etag) on_stale(ino, key);
  if (is_gone) return fail(ErrorCode::kStale, "'" + key + "' is no longer there");
  if (there->size_bytes > 0) {
    return fail(ErrorCode::kSequentialOnly,
                "'" + key + "' has bytes: it can only be written anew (O_TRUNC)");
  }
  return reserve(key, process, {.start = Start::kStored, .etag = there->etag});
}

Result<OpenFile> FileSystem::Impl::reserve(const std::string& key, ProcessId process,
                                           WrittenFile::Base base) {
  if (const auto begun = written_->begin(key, process, std::move(base)); !begun) {
    return std::unexpected(begun.error());
  }
  return fail(ErrorCode::kStale, "'" + key + "' is to be written through another inode");
}

void FileSystem::Impl::write(std::uint64_t handle, std::uint64_t offset_bytes,
                             std::span<const std::byte> bytes, Deadline deadline, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = handles_.find<WrittenFile>(handle);
  if (!file) return done(no_such_handle(handle));
  change(
      file,
      [file, offset_bytes, bytes, deadline](Done<void> then) {
        file->append(offset_bytes, bytes, deadline, std::move(then));
      },
      std::move(done));
}

// After a sync the name stands for a version; while there is something to be stored again, for the
// file. Where the change is refused, the name stands again for what it stood for. A file that was
// removed has no name.
void FileSystem::Impl::change(const std::shared_ptr<WrittenFile>& file,
                              std::move_only_function<void(Done<void>)> how, Done<void> done) {
  const bool is_again = file->is_stored() && file->is_wanted() && file->is_claimed();
  // The name of an empty file that was opened and not yet written stands for it already.
  const bool is_shown_for_this = is_again && written_->find(file->key()) != file;
  if (is_again) {
    if (auto shown = written_->show(file); !shown) return done(std::move(shown));
  }
  how([self = shared_from_this(), file, is_shown_for_this,
       done = std::move(done)](Result<void> outcome) mutable {
    if (is_shown_for_this && !file->is_pending()) self->written_->hide(*file);
    done(std::move(outcome));
  });
}

void FileSystem::Impl::finish(const std::shared_ptr<WrittenFile>& file, Done<void> done) {
  written_->work_begins();
  auto ended = [self = shared_from_this(), file,
                done = std::move(done)](Result<void> outcome) mutable {
    // Also after a failure: the name stands for what the store has.
    self->changed(file->key());
    self->written_->hide(*file);
    done(std::move(outcome));
    file->end_turn();
    self->written_->work_ends();
  };
  // One at a time: another would take what this one has just stored for another client's.
  file->take_turn([self = shared_from_this(), file, ended = std::move(ended)]() mutable {
    self->confirm_and_store(file, std::move(ended));
  });
}

void FileSystem::Impl::confirm_and_store(const std::shared_ptr<WrittenFile>& file,
                                         Done<void> done) {
  std::optional<WrittenFile::Condition> condition = file->condition();
  if (!condition) return store(file, std::move(done));
  store_.head(
      file->key(), writing_->uploads.request_deadline(),
      [self = shared_from_this(), file, condition = std::move(*condition),
       done = std::move(done)](const Result<s3::ObjectInfo>& there) mutable {
        const bool is_absent = !there && there.error().code == ErrorCode::kNotFound;
        const bool holds = condition.is_absent ? is_absent : there && there->etag == condition.etag;
        if (!there && !is_absent) {
          file->give_up(there.error());
        } else if (!holds) {
          file->give_up({ErrorCode::kStale, "'" + file->key() + "' was changed by another client"});
        }
        self->store(file, std::move(done));
      });
}

void FileSystem::Impl::store(const std::shared_ptr<WrittenFile>& file, Done<void> done) {
  const bool is_new = !file->is_stored();
  file->finish([self = shared_from_this(), file, is_new,
                done = std::move(done)](Result<void> outcome) mutable {
    if (outcome && is_new && file->is_wanted()) {
      self->stored(file->key(), file->stored_etag());
      self->written_->supersede_others(file->key(), file.get());
    }
    done(std::move(outcome));
  });
}

void FileSystem::Impl::sync(std::uint64_t handle, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = handles_.find<WrittenFile>(handle);
  if (!file) return done(no_such_handle(handle));
  finish(file, std::move(done));
}

std::optional<ProcessId> FileSystem::Impl::opener(std::uint64_t handle) const {
  const std::shared_ptr<WrittenFile> file = handles_.find<WrittenFile>(handle);
  if (!file) return std::nullopt;
  return file->process();
}

void FileSystem::Impl::release_written(const std::shared_ptr<WrittenFile>& file) {
  if (file->is_stored()) {
    written_->hide(*file);  // an empty file that was opened and never written
    return file->close();
  }
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
    if (file->is_pending()) {
      spdlog::warn("'{}' was open when the mount ended; it is not stored", file->key());
    }
    file->cancel([self = shared_from_this()](const Result<void>&) { self->written_->work_ends(); });
  }
  // What waits for a server that is gone is cancelled with the store's requests.
  constexpr std::chrono::seconds kCancelTime{5};
  written_->wait_for_work(std::min(deadline, clock_.now() + kCancelTime));
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
  if (node.written) {
    return change(
        node.written,
        [file = node.written, size_bytes](Done<void> then) {
          file->truncate(size_bytes, std::move(then));
        },
        std::move(done));
  }
  // Success must not rest on a size that is old.
  store_.head(key, deadline,
              [self = shared_from_this(), ino, known = node.object, size_bytes, deadline,
               done = std::move(done)](Result<s3::ObjectInfo> there) mutable {
                self->truncate_version(ino, known, size_bytes, std::move(there), deadline,
                                       std::move(done));
              });
}

void FileSystem::Impl::truncate_version(Ino ino, const s3::ObjectInfo& known,
                                        std::uint64_t size_bytes, Result<s3::ObjectInfo> there,
                                        Deadline deadline, Done<void> done) {
  const std::string& key = known.key;
  const bool is_gone = !there && there.error().code == ErrorCode::kNotFound;
  if (!there && !is_gone) return done(std::unexpected(std::move(there.error())));
  const std::optional<Inode> inode = inodes_.find(ino);
  const bool is_stale = is_gone || there->etag != known.etag || (inode && is_outdated(inode->node));
  if (is_stale) on_stale(ino, key);
  if (is_gone) return done(fail(ErrorCode::kStale, "'" + key + "' is no longer there"));
  if (there->size_bytes == size_bytes) {
    return done(is_stale ? fail(ErrorCode::kStale, "'" + key + "' is another inode by now")
                         : Result<void>());
  }
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
        self->written_->supersede_others(key, nullptr);
        done(fail(ErrorCode::kStale, "'" + key + "' is now another inode"));
      });
}

// The outside

bool FileSystem::is_writable() const { return impl_->is_writable(); }
void FileSystem::create(Ino parent, std::string_view name, Creation how, ProcessId process,
                        Deadline deadline, Done<CreatedFile> done) {
  impl_->create(parent, name, how, process, deadline, std::move(done));
}
void FileSystem::open_to_write(Ino ino, bool truncate, ProcessId process, Deadline deadline,
                               Done<OpenFile> done) {
  impl_->open_to_write(ino, truncate, process, deadline, std::move(done));
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
void FileSystem::end_writes(Deadline deadline) { impl_->end_writes(deadline); }

}  // namespace s3rdmafs::vfs
