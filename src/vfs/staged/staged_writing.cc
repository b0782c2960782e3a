// SPDX-License-Identifier: Apache-2.0
// Staged mode: how a file comes by its staging file, and who uses it.
//
// An open to write confirms the version of its inode with the store, whose answer has the user
// metadata besides, and attaches a StagedFile to the inode. From then on every handle of the inode
// reads and writes that file, also those that were opened before to read the version. The last
// close of a writer stores it; the last close of all lets it go.
//
// Names. While the store lacks something of a file, the name stands for it. Otherwise the name
// stands for what the store says: this file's own version, or another client's, which is another
// inode. So a writer does not hide what others store, and its own store then fails.
//
// An inode that the kernel reads by itself (passthrough) cannot be written as well. Then the name
// gets another inode: the open reserves it and fails with kStale, and the kernel looks the name up.
// Its attributes can be changed, by a file of its own that a later writer takes off it again.
//
// Threads. Staging files are made on the thread of the store's answer. That blocks for a local file
// system, never for the network.
#include "vfs/staged/staged_writing.h"

#include <utility>

#include "vfs/metadata/posix_metadata.h"
#include "vfs/refusals.h"
#include "vfs/staged/held_staged_files.h"

namespace s3rdmafs::vfs {
namespace {

// So many parts of files find room at the same time: one that fills, some on their way.
constexpr std::uint64_t kPartsOfTheRoom = 8;

}  // namespace

StagedWriting::StagedWriting(const WritingContext& context, Needs needs)
    : versions_(context.store),
      clock_(context.clock),
      handles_(context.handles),
      names_(context.names),
      files_(std::move(needs.files)),
      store_(std::make_shared<StagedStore>(needs.uploads, names_, files_)),
      maker_(std::make_shared<StagedFileMaker>(needs.area, needs.cache, clock_, context.posix)),
      posix_(context.posix),
      part_bytes_max_(needs.area.size_bytes() / kPartsOfTheRoom) {}

// Names

std::optional<Entry> StagedWriting::lookup(const std::string& key) {
  const std::shared_ptr<StagedFile> file = files_->find_newer(key);
  if (!file) return std::nullopt;
  const Node node = file->node();
  Entry entry = names_->add_lookup(node, clock_.now());
  const Ino ino = entry.attributes.ino;
  if (files_->attach(ino, file) != file) {  // it was stored and closed meanwhile
    names_->forget(ino, 1);
    return std::nullopt;
  }
  entry.attributes = names_->attributes_of(ino, node);
  entry.valid_for = {};  // its next store may fail, and the name stand for another inode
  return entry;
}

bool StagedWriting::is_written(const std::string& key) {
  return files_->find_newer(key) != nullptr;
}

bool StagedWriting::any_below(const std::string& prefix) const {
  for (const auto& file : files_->below(prefix)) {
    if (!file->has_base()) return true;  // what has one is in the store's listing
  }
  return false;
}

std::shared_ptr<const NamesBesides> StagedWriting::unstored_in(const std::string& prefix) const {
  std::vector<ListedName> names;
  for (const auto& file : files_->below(prefix)) {
    std::string name = file->key().substr(prefix.size());
    if (name.contains('/') || file->has_base() || !file->is_dirty()) continue;
    names.push_back({.name = std::move(name), .node = file->node(), .seen_at = clock_.now()});
  }
  if (names.empty()) return nullptr;
  return std::make_shared<const NamesBesides>(std::move(names));
}

void StagedWriting::store_pending(const std::string& key, Done<void> done) {
  const std::shared_ptr<StagedFile> file = files_->find_newer(key);
  if (!file) return done({});
  store_->store(file, std::move(done));
}

void StagedWriting::store_pending_below(const std::string& prefix, Done<void> done) {
  auto files = files_->below(prefix);
  std::erase_if(files, [](const auto& file) { return !file->is_dirty(); });
  store_->store_all(std::move(files), std::move(done));
}

void StagedWriting::hold(std::vector<std::string> names, Done<std::shared_ptr<HeldFiles>> done) {
  std::make_shared<HeldStagedFiles>(HeldStagedFiles::Parts{files_, store_, names_, maker_}, names)
      ->take_turns(std::move(done));
}

// Opening

std::unexpected<Error> StagedWriting::look_again(const std::string& key) {
  return names_->look_again(key, "'" + key + "' is another inode now");
}

Result<std::shared_ptr<StagedFile>> StagedWriting::make(StagedFile::Start start) {
  auto made = maker_->make(start);
  if (made || made.error().code != ErrorCode::kNoSpace) return made;
  drop_unchanged();
  drop_sent(nullptr, {.bytes = upload::kSidecarBytes}, [](const Result<std::uint64_t>&) {});
  return maker_->make(std::move(start));
}

void StagedWriting::create(const std::string& key, Creation how, ProcessId process,
                           Deadline deadline, Done<CreatedFile> done) {
  if (files_->find_newer(key)) {
    return done(how.is_exclusive ? fail(ErrorCode::kExists, "'" + key + "' exists already")
                                 : look_again(key));
  }
  names_->resolve_new(key, /*asks=*/how.is_exclusive || !how.truncates, deadline,
                      [self = shared_from_this(), key, how, process,
                       done = std::move(done)](Result<NameAnswer> answer) mutable {
                        self->create_if_absent(key, how, process, std::move(answer),
                                               std::move(done));
                      });
}

void StagedWriting::create_if_absent(const std::string& key, Creation how, ProcessId process,
                                     Result<NameAnswer> answer, Done<CreatedFile> done) {
  if (!answer) return done(std::unexpected(std::move(answer.error())));
  if (answer->node) {
    if (answer->node->is_directory) {
      return done(fail(ErrorCode::kIsDirectory, "'" + key + "' exists already"));
    }
    return done(how.is_exclusive ? fail(ErrorCode::kExists, "'" + key + "' exists already")
                                 : look_again(key));
  }
  s3::UserMetadata metadata;
  if (posix_ == PosixMetadata::kWrite) set_posix_attributes(metadata, how.posix);
  auto begun = make({.key = key,
                     .metadata = std::move(metadata),
                     .is_whole = how.may_pass_through && maker_->has_room_for_whole(key)});
  if (!begun) return done(std::unexpected(std::move(begun.error())));
  const std::shared_ptr<StagedFile>& file = *begun;
  if (!files_->name(file)) {
    file->unlink();
    file->close();
    return done(how.is_exclusive ? fail(ErrorCode::kExists, "'" + key + "' exists already")
                                 : look_again(key));
  }
  names_->on_changed(key);  // that it is absent
  Entry entry = names_->add_lookup(file->node(), clock_.now());
  const Ino ino = entry.attributes.ino;
  files_->attach(ino, file);
  files_->opened(ino, /*may_write=*/true);  // O_RDONLY too: its close stores the empty file
  entry.attributes = names_->attributes_of(ino, file->node());
  entry.valid_for = {};  // as in lookup()
  done(CreatedFile{.entry = entry,
                   .file = add_handle({.file = file,
                                       .ino = ino,
                                       .process = process,
                                       .may_write = true,
                                       .is_synchronous = how.is_synchronous})});
}

void StagedWriting::with_file(Ino ino, bool shares_inode, Deadline deadline, FileDone done) {
  const std::shared_ptr<StagedFile> present = files_->of(ino);
  if (shares_inode || !present) return confirm(ino, shares_inode, deadline, std::move(done));
  // Its attributes were changed, which disturbs no reader.
  store_->store(present, [self = shared_from_this(), ino, deadline, present,
                          done = std::move(done)](const Result<void>&) mutable {
    const bool is_detached = present->is_version() && self->files_->detach(present);
    if (!is_detached) return done(self->look_again(present->key()));
    present->close();
    self->confirm(ino, /*shares_inode=*/false, deadline, std::move(done));
  });
}

void StagedWriting::confirm(Ino ino, bool shares_inode, Deadline deadline, FileDone done) {
  const Result<Inode> inode = names_->find_file(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  files_->opened(ino, /*may_write=*/true);
  const std::shared_ptr<StagedFile> file = files_->of(ino);
  if (file && (file->error() || !shares_inode)) {
    files_->closed(ino, /*may_write=*/true);
    return done(look_again(file->key()));
  }
  if (file && !file->is_version()) return done(file);
  Question asked{.ino = ino,
                 .node = inode->node,
                 .shares_inode = shares_inode,
                 .file = file,
                 .epoch = file ? file->epoch() : 0};
  versions_.head(
      inode->node.object.key, deadline,
      [self = shared_from_this(), asked = std::move(asked), deadline,
       done = std::move(done)](Result<s3::ObjectInfo> there) mutable {
        const std::shared_ptr<StagedFile> present = self->files_->of(asked.ino);
        if (present && present != asked.file) {  // its metadata may be newer than the answer
          self->files_->closed(asked.ino, /*may_write=*/true);
          return self->confirm(asked.ino, asked.shares_inode, deadline, std::move(done));
        }
        auto found = self->on_confirmed(asked, there);
        if (!found) self->files_->closed(asked.ino, /*may_write=*/true);
        const bool is_old = found && *found == asked.file && (*found)->is_version();
        if (!is_old || !there) return done(std::move(found));
        (*found)->refresh(
            std::move(*there), asked.epoch,
            [file = *found, done = std::move(done)](const Result<void>&) mutable { done(file); });
      });
}

Result<std::shared_ptr<StagedFile>> StagedWriting::on_confirmed(
    const Question& asked, const Result<s3::ObjectInfo>& there) {
  const std::string& key = asked.node.object.key;
  // By now another open may have attached a file, and a write changed it.
  std::shared_ptr<StagedFile> present = files_->of(asked.ino);
  if (present && !asked.shares_inode) return look_again(key);
  if (present && !present->is_version()) return present;
  const bool is_gone = !there && there.error().code == ErrorCode::kNotFound;
  if (!there && !is_gone) return std::unexpected(there.error());
  // A store that has ended meanwhile bound the inode to the new version.
  const Result<Inode> inode = names_->find_file(asked.ino);
  const Node& node = inode ? inode->node : asked.node;
  if (is_gone || !names_->is_version_of(Node::file(*there), node)) {
    names_->invalidate_version(asked.ino, key);
    return look_again(key);
  }
  if (present) return present;
  return begin(asked, *there, node.generation);
}

Result<std::shared_ptr<StagedFile>> StagedWriting::begin(const Question& asked,
                                                         s3::ObjectInfo there,
                                                         std::uint64_t generation) {
  auto metadata = there.metadata ? *there.metadata : s3::UserMetadata();
  auto begun = make({.key = asked.node.object.key,
                     .base = StagedFile::Base{std::move(there), generation},
                     .metadata = std::move(metadata),
                     .has_base_inode = asked.shares_inode});
  if (!begun) return begun;
  auto named = asked.shares_inode ? files_->name(*begun) : files_->reserve_name(*begun);
  auto attached = named && asked.shares_inode ? files_->attach(asked.ino, *begun) : nullptr;
  if (attached == *begun) return begun;
  if (!named || asked.shares_inode) {
    files_->unname(**begun);
    (*begun)->close();
  }
  if (attached) return attached;
  return look_again(asked.node.object.key);
}

OpenFile StagedWriting::add_handle(StagedHandle handle) {
  const std::uint64_t size_bytes = handle.file->live().size_bytes;
  const int local_fd = handle.file->local_fd();
  auto opened = std::make_shared<StagedHandle>(std::move(handle));
  opened->may_map = opened->may_map && local_fd >= 0;
  if (opened->may_map) opened->file->mapping_begins();
  if (opened->may_write) files_->add_writer(opened);
  return {
      .handle = handles_->add(std::move(opened)), .size_bytes = size_bytes, .local_fd = local_fd};
}

void StagedWriting::open_to_write(Ino ino, OpenToWrite how, ProcessId process, Deadline deadline,
                                  Done<OpenFile> done) {
  with_file(ino, how.shares_inode, deadline,
            [self = shared_from_this(), ino, how, process,
             done = std::move(done)](Result<std::shared_ptr<StagedFile>> file) mutable {
              if (!file) return done(std::unexpected(std::move(file.error())));
              StagedHandle handle{.file = *file,
                                  .ino = ino,
                                  .process = process,
                                  .may_write = true,
                                  .is_synchronous = how.is_synchronous,
                                  .may_map = how.may_map};
              if (!how.truncates) return done(self->add_handle(std::move(handle)));
              const std::string key = (*file)->key();
              self->maker_->saw_size(key, (*file)->live().size_bytes);
              const bool is_whole = how.may_pass_through && self->maker_->has_room_for_whole(key);
              (*file)->resize(0, [self, is_whole, handle = std::move(handle),
                                  done = std::move(done)](Result<void> cut) mutable {
                if (cut && is_whole) handle.file->make_whole();
                if (cut) return done(self->add_handle(std::move(handle)));
                self->close(handle.file, handle.ino, handle.may_write);
                done(std::unexpected(std::move(cut.error())));
              });
            });
}

std::optional<Result<OpenFile>> StagedWriting::open_to_read(Ino ino) {
  files_->opened(ino, /*may_write=*/false);
  const std::shared_ptr<StagedFile> file = files_->of(ino);
  const bool has_failed = file && file->error();
  if (file && !has_failed && !file->is_version()) return add_handle({.file = file, .ino = ino});
  version_released(ino);
  // Until its last handle is closed the inode is still the file, and the name another one.
  if (has_failed) return look_again(file->key());
  return std::nullopt;
}

void StagedWriting::version_released(Ino ino) {
  const std::shared_ptr<StagedFile> file = files_->of(ino);
  files_->closed(ino, /*may_write=*/false);
  if (file) store_->let_go(file);
}

void StagedWriting::close(const std::shared_ptr<StagedFile>& file, Ino ino, bool may_write) {
  files_->closed(ino, may_write);
  if (!may_write || files_->has_writers(ino)) return store_->let_go(file);
  store_->store_closed(file);
}

bool StagedWriting::release(std::uint64_t handle) {
  const std::shared_ptr<StagedHandle> closed = handles_->remove<StagedHandle>(handle);
  if (!closed) return false;
  files_->remove_writer(*closed);
  if (closed->may_map) closed->file->mapping_ends();
  if (closed->may_write && maker_->may_make_whole()) {
    maker_->saw_size(closed->file->key(), closed->file->live().size_bytes);
  }
  close(closed->file, closed->ino, closed->may_write);
  return true;
}

std::optional<ProcessId> StagedWriting::opener(std::uint64_t handle) const {
  const std::shared_ptr<StagedHandle> found = handles_->find<StagedHandle>(handle);
  if (!found || !found->may_write) return std::nullopt;
  return found->process;
}

// Bytes

void StagedWriting::read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length,
                         Deadline deadline, Done<cache::PinnedBytes> done) {
  const std::shared_ptr<StagedHandle> found = handles_->find<StagedHandle>(handle);
  if (!found) return done(no_such_handle(handle));
  found->file->read(offset_bytes, length, deadline, std::move(done));
}

void StagedWriting::write(std::uint64_t handle, std::uint64_t offset_bytes,
                          std::span<const std::byte> bytes, Deadline, Done<void> done) {
  const std::shared_ptr<StagedHandle> found = handles_->find<StagedHandle>(handle);
  if (!found) return done(no_such_handle(handle));
  *found->is_flushed = false;
  auto written = found->file->try_write(offset_bytes, bytes);
  const bool is_full = written && !*written && written->error().code == ErrorCode::kNoSpace;
  if (written && !is_full) {
    return sync_if_asked(*found, std::move(*written), std::move(done));
  }
  Write later{.handle = found,
              .offset_bytes = offset_bytes,
              .bytes = std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end()),
              .done = std::move(done)};
  if (!written) return write_later(std::move(later), /*is_last_try=*/false);
  on_no_room(std::move(later), /*was_last_try=*/false, std::move(written->error()));
}

void StagedWriting::sync_if_asked(const StagedHandle& handle, Result<void> changed,
                                  Done<void> done) {
  if (changed && !handle.is_synchronous) {
    store_->send_early(handle.file, /*is_needed=*/false, part_bytes_max_);
  }
  if (!changed || !handle.is_synchronous) return done(std::move(changed));
  store_->store(handle.file, std::move(done));
}

void StagedWriting::sync_inode(Ino ino, Done<void> done) {
  const std::shared_ptr<StagedFile> file = files_->of(ino);
  if (!file) return done({});
  store_->store(file, std::move(done));
}

void StagedWriting::sync(std::uint64_t handle, Done<void> done) {
  const std::shared_ptr<StagedHandle> found = handles_->find<StagedHandle>(handle);
  if (!found) return done(no_such_handle(handle));
  *found->is_flushed = true;
  store_->store(found->file, std::move(done));
}

void StagedWriting::allocate(std::uint64_t handle, Allocation what, Done<void> done) {
  const std::shared_ptr<StagedHandle> found = handles_->find<StagedHandle>(handle);
  if (!found) return done(no_such_handle(handle));
  *found->is_flushed = false;
  found->file->allocate(what, std::move(done));
}

}  // namespace s3rdmafs::vfs
