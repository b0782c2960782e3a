// SPDX-License-Identifier: Apache-2.0
// Joins the parts of vfs/, and finds and lists names; each rule lives in the part that keeps it.
//
//   lookup   inode (parent) -> written files -> name resolver -> inode (child); many names of one
//            directory, each asked of the store -> its listing -> name cache
//   readdir  inode -> directory handle -> snapshot (feeds the name cache) -> inode numbers
//   open     inode -> HeadObject if what is known is old, or may not be believed by an open -> open
//            files -> read cache, which is asked for all of a small file at its first open
//
// Lifetime. Every continuation in flight holds the FileSystem or the part that it needs, so the
// owner may drop it while requests are under way. Everything that the FileSystem borrows must
// outlive them.
//
// Locks. None of its own.
#include "vfs/file_system.h"

#include <optional>
#include <utility>

#include "vfs/directories/directories.h"
#include "vfs/directories/directory_handle.h"
#include "vfs/files/file_writing.h"
#include "vfs/files/open_files.h"
#include "vfs/files/open_trace.h"
#include "vfs/files/sequential_writing.h"
#include "vfs/metadata/object_descriptions.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"
#include "vfs/renames/renames.h"
#include "vfs/staged/staged_writing.h"

namespace s3rdmafs::vfs {
namespace {

// About 400 bytes each, 26 MB in all: enough that `ls -l` of a directory of tens of thousands of
// files asks for no name that its listing just showed.
constexpr std::size_t kCachedNamesMax = 65'536;

std::shared_ptr<Directories> make_directories(s3::ObjectStore& store, const Clock& clock,
                                              metrics::Registry& metrics,
                                              const FileSystem::Options& options) {
  auto names = std::make_shared<NameCache>(
      clock,
      NameCache::Limits{
          .ttl = options.ttl, .negative_ttl = options.negative_ttl, .entries_max = kCachedNamesMax},
      &metrics.gauge("vfs_names_bytes",
                     "Memory that the store's recent answers about names take."));
  return std::make_shared<Directories>(
      store, clock, std::move(names), metrics,
      Directories::Options{.root_prefix = options.prefix,
                           .ttl = options.ttl,
                           .listing_bytes_max = options.listing_bytes_max,
                           .call_time = options.call_time});
}

// User metadata is asked for by so many names ahead: a reader takes twenty with each call, or two
// hundred where the kernel gives it all of its program's buffer.
constexpr std::uint64_t kNamesAhead = 256;
// Once for so many names, as each time costs a copy of those ahead.
constexpr std::uint64_t kNamesBetween = 64;

/// The listed names whose metadata a reader needs soon.
std::vector<ListedName> names_ahead(const DirectorySnapshot& snapshot, std::uint64_t offset,
                                    std::uint64_t count) {
  const std::uint64_t begin = (offset + kNamesBetween - 1) / kNamesBetween * kNamesBetween;
  if (begin >= offset + count) return {};
  return snapshot.listed(begin, kNamesAhead);
}

}  // namespace

std::shared_ptr<FileSystem> FileSystem::create(s3::ObjectStore& store, cache::ReadCache& cache,
                                               const Clock& clock, metrics::Registry& metrics,
                                               Options options, std::optional<Writing> writing,
                                               cache::ResidentObjects* whole) {
  return std::shared_ptr<FileSystem>(
      new FileSystem(store, cache, clock, metrics, std::move(options), writing, whole));
}

FileSystem::FileSystem(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
                       metrics::Registry& metrics, Options options, std::optional<Writing> writing,
                       cache::ResidentObjects* whole)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      staged_files_(writing && writing->staging ? std::make_shared<StagedFiles>(clock) : nullptr),
      directories_(make_directories(store, clock, metrics, options_)),
      names_(std::make_shared<Names>(
          store, clock, metrics, directories_,
          Names::Options{.root_prefix = options_.prefix,
                         .numbers = {.volume = options_.volume, .roots = options_.roots},
                         .is_writable = writing.has_value(),
                         .confirms_opens = options_.confirms_opens,
                         .keeps_absences = options_.negative_ttl.count() > 0,
                         .on_etag_repeated = options_.on_etag_repeated,
                         .live = staged_files_,
                         .posix = options_.posix,
                         .metadata_requests_max = options_.metadata_requests_max})),
      descriptions_(std::make_shared<ObjectDescriptions>(store, clock)),
      handles_(std::make_shared<HandleTable>(options_.volume)),
      open_files_(std::make_unique<OpenFiles>(cache, *handles_, metrics)),
      open_trace_(options_.open_trace ? options_.open_trace : std::make_shared<OpenTrace>(clock)),
      whole_(whole),
      writing_(writing),
      file_writing_(make_file_writing(cache)),
      renames_(writing ? make_renames() : nullptr) {}

std::shared_ptr<FileWriting> FileSystem::make_file_writing(cache::ReadCache& cache) {
  if (!writing_) return nullptr;
  const WritingContext context{.store = store_,
                               .writer = writing_->writer,
                               .clock = clock_,
                               .handles = handles_,
                               .names = names_,
                               .posix = options_.posix};
  if (!writing_->staging) {
    return std::make_shared<SequentialWriting>(context, writing_->uploads);
  }
  return std::make_shared<StagedWriting>(context,
                                         StagedWriting::Needs{.area = *writing_->staging,
                                                              .uploads = writing_->uploads.staged(),
                                                              .cache = cache,
                                                              .files = staged_files_});
}

FileSystem::~FileSystem() = default;

void FileSystem::lookup(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done) {
  const Result<std::string> child = names_->child_key(parent, name);
  if (!child) {
    const bool no_name = child.error().code == ErrorCode::kInvalidArgument;
    return done(no_name ? fail(ErrorCode::kNotFound, "no key can have this name")
                        : std::unexpected(child.error()));
  }
  const std::string& key = *child;
  if (file_writing_) {
    if (auto written = file_writing_->lookup(key)) return done(*written);
  }
  names_->look_up(key, deadline,
                  [self = shared_from_this(), key, deadline,
                   done = std::move(done)](Result<NameAnswer> answer) mutable {
                    if (!answer) return done(std::unexpected(std::move(answer.error())));
                    // The answer may be a version that this mount is storing just now.
                    if (self->file_writing_) {
                      if (auto written = self->file_writing_->lookup(key)) return done(*written);
                    }
                    if (answer->is_from_store) {
                      self->open_files_->note_answer(self->clock_.now() - answer->seen_at);
                    }
                    self->names_->told(key, *answer);
                    if (!answer->node) {
                      return done(fail(ErrorCode::kNotFound, "no key '" + key + "'"));
                    }
                    done(self->give(*answer->node, answer->seen_at));
                    self->directories_->on_lookup(key, answer->is_from_store, deadline);
                  });
}

void FileSystem::forget(Ino ino, std::uint64_t count) { names_->forget(ino, count); }

Result<Attributes> FileSystem::attributes(Ino ino) const {
  const Result<Inode> inode = names_->find(ino);
  if (!inode) return std::unexpected(inode.error());
  const bool is_changing = inode->node.is_directory && may_change(inode->node);
  Attributes attributes = names_->attributes_of(ino, inode->node);
  if (inode->node.is_given_up && !attributes.is_being_written) {
    // The kernel asks by a name that it still believes, and looks that up once more only. So the
    // name cache must not answer with what another client may have removed since.
    const std::string& key = inode->node.object.key;
    return names_->look_again(key, "'" + key + "' is another inode now");
  }
  attributes.is_being_written |= is_changing;
  return attributes;
}

Result<cache::ObjectVersion> FileSystem::version_of(Ino ino) const {
  if (is_writable()) return fail(ErrorCode::kUnsupported, "the bucket may be written here");
  const Result<Inode> inode = names_->find(ino);
  if (!inode || inode->node.is_directory || inode->node.is_symlink()) {
    return fail(ErrorCode::kInvalidArgument, "the inode is of no file");
  }
  const s3::ObjectInfo& object = inode->node.object;
  return cache::ObjectVersion{object.key, object.etag, object.size_bytes, inode->node.generation};
}

std::string FileSystem::path_of(Ino ino) const {
  const Result<Inode> inode = names_->find(ino);
  return inode ? shown_path(inode->node.object.key) : "";
}

std::string FileSystem::shown_path(const std::string& key) const {
  return options_.directory + key.substr(options_.prefix.size());
}

Result<std::uint64_t> FileSystem::open_directory(Ino ino) {
  const Result<Inode> inode = names_->find(ino);
  if (!inode) return std::unexpected(inode.error());
  const std::string& key = inode->node.object.key;
  if (!inode->node.is_directory) {
    return fail(ErrorCode::kNotDirectory, "'" + key + "' is a file");
  }
  return handles_->add(std::make_shared<DirectoryHandle>(directories_->open(key)));
}

void FileSystem::read_directory(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                                Deadline deadline, Done<std::vector<DirectoryEntry>> done) {
  read_entries({handle, offset, entries_max, /*is_complete=*/false, /*has_inodes=*/true}, deadline,
               std::move(done));
}

void FileSystem::read_directory_plus(std::uint64_t handle, std::uint64_t offset,
                                     std::size_t entries_max, Deadline deadline,
                                     Done<std::vector<DirectoryEntry>> done) {
  // The kernel begins each directory so, whether or not a program asks for attributes. It goes on
  // so only after a lookup.
  const bool is_complete = names_->shows_posix() && offset > 0;
  DirectoryRead read{handle, offset, entries_max, is_complete, /*has_inodes=*/true};
  if (const auto directory = handles_->find<DirectoryHandle>(handle)) {
    const auto reply = directory->plan_reply(offset, entries_max, directories_->lookups());
    read.entries_max = reply.names_max;
    read.has_inodes = reply.has_inodes;
  }
  read_entries(read, deadline, std::move(done));
}

void FileSystem::read_entries(DirectoryRead read, Deadline deadline,
                              Done<std::vector<DirectoryEntry>> done) {
  const std::uint64_t offset = read.offset;
  const std::shared_ptr<DirectoryHandle> directory = handles_->find<DirectoryHandle>(read.handle);
  if (!directory) return done(no_such_handle(read.handle));
  const auto snapshot = directory->snapshot_at(
      offset, [this](const std::string& prefix) { return directories_->reopen(prefix); });
  if (offset == 0 && file_writing_) {
    directory->show_besides(file_writing_->unstored_in(snapshot->prefix()));
  }
  const auto besides = directory->besides();
  if (besides && offset >= NamesBesides::kFirstOffset) {
    return done(entries_of(besides->from(offset, read.entries_max), read, nullptr));
  }
  snapshot->read(offset, read.entries_max, deadline,
                 [self = shared_from_this(), read, deadline, snapshot, besides,
                  done = std::move(done)](Result<std::vector<ListedName>> names) mutable {
                   if (!names) return done(std::unexpected(std::move(names.error())));
                   if (names->empty() && besides) {
                     read.offset = NamesBesides::kFirstOffset;
                     return done(self->entries_of(besides->from(read.offset, read.entries_max),
                                                  read, nullptr));
                   }
                   auto answer = [self, read, deadline, besides, done = std::move(done)](
                                     Result<std::vector<ListedName>> listed) mutable {
                     const std::uint64_t next = read.offset + listed->size();
                     auto entries = self->entries_of(std::move(*listed), read, besides.get());
                     if (!entries.empty() || next == read.offset) return done(std::move(entries));
                     read.offset = next;
                     self->read_entries(read, deadline, std::move(done));
                   };
                   if (!read.is_complete) return answer(std::move(names));
                   const auto ahead = names_ahead(*snapshot, read.offset, names->size());
                   self->names_->complete(std::move(*names), ahead, deadline, std::move(answer));
                 });
}

std::vector<DirectoryEntry> FileSystem::entries_of(std::vector<ListedName> names,
                                                   const DirectoryRead& read,
                                                   const NamesBesides* without) const {
  const bool may_have_inodes = read.has_inodes && read.offset < NamesBesides::kFirstOffset;
  std::uint64_t offset = read.offset;
  std::vector<DirectoryEntry> entries;
  entries.reserve(names.size());
  for (ListedName& listed : names) {
    ++offset;
    if (without != nullptr && without->has(listed.name)) continue;
    entries.push_back(names_->entry_of(std::move(listed), offset));
    entries.back().may_have_inode = may_have_inodes;
  }
  return entries;
}

Entry FileSystem::add_lookup(const DirectoryEntry& entry) {
  if (!entry.may_have_inode) return {};
  const std::string& key = entry.node.object.key;
  if (file_writing_ && file_writing_->is_written(key)) return {};  // not this version
  if (!names_->shows_posix()) return give(entry.node, entry.seen_at);
  const std::optional<NameAnswer> known = names_->completed(entry.node, entry.seen_at);
  if (!known) return {};  // its attributes are not
  return give(*known->node, known->seen_at);
}

// Asked before the attributes are: what the last commit of a file has changed is known before the
// file is closed.
bool FileSystem::may_change(const Node& node) const {
  if (!file_writing_) return false;
  const std::string& key = node.object.key;
  return node.is_directory ? file_writing_->may_change_names_of(key)
                           : file_writing_->has_any_of(key);
}

Entry FileSystem::give(const Node& node, SeenAt seen_at) {
  const bool is_changing = may_change(node);
  Entry entry = names_->add_lookup(node, seen_at);
  if (!is_changing) return entry;
  if (node.is_directory) {
    entry.attributes.is_being_written = true;  // its name stays
  } else {
    entry.valid_for = std::chrono::milliseconds(0);
  }
  return entry;
}

void FileSystem::release_directory(std::uint64_t handle) {
  handles_->remove<DirectoryHandle>(handle);
}

}  // namespace s3rdmafs::vfs
