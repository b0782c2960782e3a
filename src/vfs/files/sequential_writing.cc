// SPDX-License-Identifier: Apache-2.0
// Sequential mode: create, open, write, truncate; files/file_committer.cc stores the files.
//
// The inode of a file that is written. An inode is one version of one object, and the file has no
// version yet. So it gets an inode of its own (Node::written). Its name stands for that inode from
// the open that creates or truncates the file to the sync that makes it visible; then the name
// stands for the version that the store has, another inode. Readers of an older version notice
// nothing.
//
// How an existing file comes by it. The kernel opens for writing the inode it found, which is a
// version. That open reserves the written inode for the name and fails with kStale, whereupon the
// kernel looks the name up again, finds the written inode, and opens that. truncate(2) of a path
// goes the same way: it stores the empty object and fails with kStale, and the kernel's second
// attempt finds an empty file.
#include "vfs/files/sequential_writing.h"

#include <utility>

#include "vfs/files/held_written_files.h"
#include "vfs/names/store_empty.h"
#include "vfs/refusals.h"

namespace s3rdmafs::vfs {
namespace {

using Start = upload::Uploader::Start;

std::string already_exists(const std::string& key) { return "'" + key + "' exists already"; }

std::unexpected<Error> no_longer_exists(const std::string& key) {
  return fail(ErrorCode::kStale, "'" + key + "' no longer exists");
}

/// The name stands for a file that this process may open for writing. Always an error: kStale, so
/// that the kernel looks the name up; kBusy.
Result<OpenFile> reserve(WrittenFiles& written, const std::string& key, ProcessId process,
                         WrittenFile::Base base) {
  if (const auto begun = written.begin(key, process, std::move(base)); !begun) {
    return std::unexpected(begun.error());
  }
  return fail(ErrorCode::kStale, "'" + key + "' is to be written through another inode");
}

}  // namespace

SequentialWriting::SequentialWriting(const WritingContext& context, upload::Uploads& uploads)
    : store_(context.store),
      writer_(context.writer),
      clock_(context.clock),
      handles_(context.handles),
      names_(context.names),
      written_(std::make_shared<WrittenFiles>(uploads, clock_, *handles_)),
      committer_(std::make_shared<FileCommitter>(clock_, names_, written_)) {}

std::optional<Entry> SequentialWriting::lookup(const std::string& key) {
  const auto file = written_->find(key);
  if (!file) return std::nullopt;
  return names_->add_lookup(file->node(), clock_.now());
}

bool SequentialWriting::any_below(const std::string& prefix) const {
  return written_->any_below(prefix);
}

void SequentialWriting::store_pending(const std::string& key, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = written_->find(key);
  if (!file) return done({});
  if (!file->is_claimed()) {
    return done(fail(ErrorCode::kBusy, "'" + key + "' is being opened to be written"));
  }
  committer_->commit(file, std::move(done));
}

void SequentialWriting::store_pending_below(const std::string& prefix, Done<void> done) {
  std::vector<std::shared_ptr<WrittenFile>> pending;
  for (auto& file : written_->all_below(prefix)) {
    if (file->is_claimed() && file->is_pending()) pending.push_back(std::move(file));
  }
  store_all(std::move(pending), std::move(done));
}

void SequentialWriting::store_all(std::vector<std::shared_ptr<WrittenFile>> files,
                                  Done<void> done) {
  if (files.empty()) return done({});
  const std::shared_ptr<WrittenFile> file = std::move(files.back());
  files.pop_back();
  committer_->commit(file, [self = shared_from_this(), files = std::move(files),
                            done = std::move(done)](Result<void> stored) mutable {
    if (!stored) return done(std::move(stored));
    self->store_all(std::move(files), std::move(done));
  });
}

void SequentialWriting::hold(std::vector<std::string> names,
                             Done<std::shared_ptr<HeldFiles>> done) {
  std::make_shared<HeldWrittenFiles>(
      HeldWrittenFiles::Parts{.names = names_, .written = written_, .committer = committer_}, names)
      ->take_turns(std::move(done));
}

std::optional<Result<OpenFile>> SequentialWriting::open_to_read(Ino ino) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode || !inode->node.written) return std::nullopt;
  const auto& written = inode->node.written;
  // Its name stands for the version it became, or for what was there before it.
  const bool is_current = written_->find(written->key()) == written;
  return is_current ? fail(ErrorCode::kBusy, "'" + written->key() + "' is being written")
                    : names_->look_again(written->key(),
                                         "'" + written->key() + "' is no longer being written");
}

void SequentialWriting::read(std::uint64_t handle, std::uint64_t, std::size_t, Deadline,
                             Done<cache::PinnedBytes> done) {
  if (!handles_->find<WrittenFile>(handle)) return done(no_such_handle(handle));
  done(fail(ErrorCode::kSequentialOnly, "a file that is being written cannot be read"));
}

void SequentialWriting::create(const std::string& key, Creation how, ProcessId process,
                               Deadline deadline, Done<CreatedFile> done) {
  const Start start = how.truncates ? Start::kReplacing : Start::kIfAbsent;
  auto begun = written_->begin(key, process, {.start = start});
  if (!begun) return done(std::unexpected(begun.error()));
  const std::shared_ptr<WrittenFile> file = *begun;
  // Of two calls that reach this point for one name, begin() has stopped one, unless the other has
  // waited for longer than a reservation lasts.
  if (!file->claim(process)) return done(fail(ErrorCode::kBusy, "'" + key + "' is being created"));
  names_->resolve_new(key, /*asks=*/!how.truncates, deadline,
                      [self = shared_from_this(), file, how, process,
                       done = std::move(done)](Result<NameAnswer> answer) mutable {
                        self->create_if_absent(file, how, process, std::move(answer),
                                               std::move(done));
                      });
}

void SequentialWriting::create_if_absent(const std::shared_ptr<WrittenFile>& file, Creation how,
                                         ProcessId process, Result<NameAnswer> answer,
                                         Done<CreatedFile> done) {
  if (answer && !answer->node) {
    const Entry entry = names_->add_lookup(file->node(), clock_.now());
    return done(CreatedFile{.entry = entry, .file = {.handle = written_->open(file)}});
  }
  const auto refuse = [&](ErrorCode code) {
    written_->hide(*file);
    done(fail(code, already_exists(file->key())));
  };
  if (!answer) {
    written_->hide(*file);
    return done(std::unexpected(std::move(answer.error())));
  }
  if (answer->node->is_directory) return refuse(ErrorCode::kIsDirectory);
  if (how.is_exclusive) return refuse(ErrorCode::kExists);
  const s3::ObjectInfo& there = answer->node->object;
  const bool may_be_written = how.truncates || there.size_bytes == 0;
  if (!how.writes || !may_be_written) {
    written_->hide(*file);
    return done(names_->look_again(file->key(), already_exists(file->key())));
  }
  // The kernel tries again once, so its second attempt must find a file to open.
  file->reserve(process, clock_.now(),
                how.truncates ? WrittenFile::Base{}
                              : WrittenFile::Base{.start = Start::kStored, .etag = there.etag});
  done(fail(ErrorCode::kStale, already_exists(file->key())));
}

void SequentialWriting::open_to_write(Ino ino, OpenToWrite how, ProcessId process,
                                      Deadline deadline, Done<OpenFile> done) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  const Node& node = inode->node;
  const std::string& key = node.object.key;
  if (node.written) {
    const bool is_current = written_->find(key) == node.written;
    if (is_current && node.written->claim(process)) {
      return done(OpenFile{.handle = written_->open(node.written)});
    }
    // Also where it was written and closed since the kernel found it for this very process: the
    // kernel has used up its second attempt on the reservation.
    if (is_current || node.written->process() == process) {
      return done(fail(ErrorCode::kBusy, "'" + key + "' is being written already"));
    }
  }
  if (how.truncates) return done(reserve(*written_, key, process, {}));
  // The known size may be old: the store is asked, so that no bytes are replaced.
  const std::string known_etag = node.object.etag;
  store_.head(key, deadline,
              [self = shared_from_this(), ino, known_etag, process, key,
               done = std::move(done)](Result<s3::ObjectInfo> there) mutable {
                done(self->reserve_if_empty(ino, known_etag, process, key, std::move(there)));
              });
}

Result<OpenFile> SequentialWriting::reserve_if_empty(Ino ino, const std::string& etag,
                                                     ProcessId process, const std::string& key,
                                                     Result<s3::ObjectInfo> there) {
  const bool is_gone = !there && there.error().code == ErrorCode::kNotFound;
  if (!there && !is_gone) return std::unexpected(std::move(there.error()));
  if (is_gone || there->etag != etag) names_->invalidate_version(ino, key);
  if (is_gone) return no_longer_exists(key);
  if (there->size_bytes > 0) {
    return fail(ErrorCode::kSequentialOnly,
                "'" + key + "' is not empty: it can only be overwritten (O_TRUNC)");
  }
  return reserve(*written_, key, process, {.start = Start::kStored, .etag = there->etag});
}

void SequentialWriting::write(std::uint64_t handle, std::uint64_t offset_bytes,
                              std::span<const std::byte> bytes, Deadline deadline,
                              Done<void> done) {
  const std::shared_ptr<WrittenFile> file = handles_->find<WrittenFile>(handle);
  if (!file) return done(no_such_handle(handle));
  committer_->change(
      file,
      [file, offset_bytes, bytes, deadline](Done<void> then) {
        file->append(offset_bytes, bytes, deadline, std::move(then));
      },
      std::move(done));
}

void SequentialWriting::sync(std::uint64_t handle, Done<void> done) {
  const std::shared_ptr<WrittenFile> file = handles_->find<WrittenFile>(handle);
  if (!file) return done(no_such_handle(handle));
  committer_->commit(file, std::move(done));
}

std::optional<ProcessId> SequentialWriting::opener(std::uint64_t handle) const {
  const std::shared_ptr<WrittenFile> file = handles_->find<WrittenFile>(handle);
  if (!file) return std::nullopt;
  return file->process();
}

void SequentialWriting::end(Deadline deadline) { committer_->end(deadline); }

bool SequentialWriting::release(std::uint64_t handle) {
  const auto file = written_->release(handle);
  if (file) committer_->commit_and_close(file);
  return file != nullptr;
}

void SequentialWriting::allocate(std::uint64_t, Allocation, Done<void> done) {
  done(fail(ErrorCode::kSequentialOnly, "a file is written from its first byte to its last"));
}

void SequentialWriting::copy(const CopyRange&, Done<std::uint64_t> done) {
  done(fail(ErrorCode::kUnsupported, "the server copies into staged files only"));
}

void SequentialWriting::truncate(Ino ino, std::uint64_t size_bytes, bool, Deadline deadline,
                                 Done<void> done) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  const Node& node = inode->node;
  const std::string& key = node.object.key;
  if (node.written) {
    return committer_->change(
        node.written,
        [file = node.written, size_bytes](Done<void> then) {
          file->truncate(size_bytes, std::move(then));
        },
        std::move(done));
  }
  // Success must not depend on an old size.
  store_.head(key, deadline,
              [self = shared_from_this(), ino, known = node.object, size_bytes, deadline,
               done = std::move(done)](Result<s3::ObjectInfo> there) mutable {
                self->truncate_version(ino, known, size_bytes, std::move(there), deadline,
                                       std::move(done));
              });
}

void SequentialWriting::truncate_version(Ino ino, const s3::ObjectInfo& known,
                                         std::uint64_t size_bytes, Result<s3::ObjectInfo> there,
                                         Deadline deadline, Done<void> done) {
  const std::string& key = known.key;
  const bool is_gone = !there && there.error().code == ErrorCode::kNotFound;
  if (!there && !is_gone) return done(std::unexpected(std::move(there.error())));
  const Result<Inode> inode = names_->find(ino);
  const bool is_stale =
      is_gone || there->etag != known.etag || (inode && names_->is_outdated(inode->node));
  if (is_stale) names_->invalidate_version(ino, key);
  if (is_gone) return done(no_longer_exists(key));
  if (there->size_bytes == size_bytes) {
    return done(is_stale ? fail(ErrorCode::kStale, "'" + key + "' is now another inode")
                         : Result<void>());
  }
  if (size_bytes != 0) {
    return done(fail(ErrorCode::kSequentialOnly,
                     "'" + key + "' can only be truncated to zero, or to the size it has"));
  }
  if (written_->find(key)) return done(fail(ErrorCode::kBusy, "'" + key + "' is being written"));
  store_empty(
      writer_, names_, key, s3::Precondition::none(), deadline,
      [self = shared_from_this(), key, done = std::move(done)](Result<void> stored) mutable {
        self->names_->on_changed(key);  // also after a time-out: it may be stored
        if (!stored) return done(std::move(stored));
        self->written_->supersede_others(key, nullptr);
        done(fail(ErrorCode::kStale, "'" + key + "' is now another inode"));
      });
}

}  // namespace s3rdmafs::vfs
