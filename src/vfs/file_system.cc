// SPDX-License-Identifier: Apache-2.0
// Wires the parts of vfs/ together; each rule lives in the part that keeps it.
//
//   lookup   inode table (parent) -> name resolver -> inode table (child); many names of one
//            directory, each asked of the store -> its listing -> name cache
//   readdir  inode table -> directory handle -> name cache (fed) -> inode table (numbers)
//   open     inode table -> HeadObject if what is known is old -> open files -> read cache,
//            which is asked for all of a small file at its first open
//
// Lifetime. The Impl is shared: every continuation in flight holds it, so the FileSystem may go
// while requests are under way (what it borrows may not: shut the store down first).
//
// Staleness. S3 tells nobody when an object changes. A name is believed for its ttl, counted from
// the request that showed it; an open believes no older news; and an open or read that finds its
// version gone makes the name and the inode be asked for anew, so that the ESTALE it causes is
// followed by a lookup that sees the new version.
#include <optional>
#include <utility>

#include "vfs/file_system_impl.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

// About 300 bytes each, 20 MB in all: enough that `ls -l` of a directory of tens of thousands of
// files asks for no name that its listing just showed.
constexpr std::size_t kCachedNamesMax = 65'536;

// The name cache keeps what came last in at least this many.
constexpr std::size_t kPreloadedNamesMax = kCachedNamesMax / 2;

// Versions whose ETags may come back, for each of two ages; 40 bytes each. An ETag of a time comes
// back within that time only.
constexpr std::size_t kVersionsMax = 16'384;

// Of those directories that are gone through in order; 10 MB.
constexpr std::size_t kOrderedFilesMax = 65'536;

}  // namespace

FileSystem::Impl::Impl(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
                       metrics::Registry& metrics, Options options, std::optional<Writing> writing,
                       cache::ResidentObjects* whole)
    : options_(std::move(options)),
      store_(store),
      clock_(clock),
      mounted_at_(clock.wall_now()),
      hidden_keys_(metrics.counter("vfs_hidden_keys_total",
                                   "Names in listings that cannot be shown as paths.")),
      generations_(kVersionsMax),
      inodes_(options_.prefix,
              metrics.gauge("vfs_inodes", "Inodes the kernel refers to, the root included.")),
      names_(clock, {.ttl = options_.ttl,
                     .negative_ttl = options_.negative_ttl,
                     .entries_max = kCachedNamesMax}),
      order_(kOrderedFilesMax),
      preload_(kPreloadedNamesMax),
      resolver_(std::make_shared<NameResolver>(store, clock, names_, metrics)),
      snapshot_budget_(std::make_shared<SnapshotBudget>(
          options_.listing_bytes_max,
          metrics.gauge("vfs_listings_bytes", "Memory that listings of open directories take."))),
      snapshots_(options_.ttl),
      files_(cache, handles_, metrics),
      whole_(whole),
      writing_(writing) {
  if (writing_) written_.emplace(writing_->uploads, clock, handles_);
}

// Attributes and entries

Attributes FileSystem::Impl::attributes_of(Ino ino, const Node& node) const {
  return {.ino = ino,
          .is_directory = node.is_directory,
          .is_being_written = node.written != nullptr,
          .size_bytes = node.written ? node.written->size_bytes() : node.object.size_bytes,
          // S3 keeps no time for a directory; this one at least stands still.
          .modified = node.is_directory ? mounted_at_ : node.object.modified};
}

std::uint64_t FileSystem::Impl::generation_of(const Node& node) const {
  if (node.is_directory || node.written) return 0;
  return generations_.of(node.object.key, node.object.etag);
}

Entry FileSystem::Impl::give_to_kernel(const Node& node, SeenAt seen_at) {
  const bool is_version = !node.is_directory && !node.written;
  if (is_version && is_writable()) generations_.seen(node.object.key, node.object.etag);
  Node shown = node;
  shown.generation = generation_of(node);
  const Ino ino = inodes_.add_lookup(shown, seen_at);
  // Where files can be replaced through this mount, the kernel asks for each use of a file's name:
  // a write makes it stand for another inode, and to tell the kernel so would take locks of its
  // that a writer may hold.
  const bool may_change = is_writable() && !node.is_directory;
  return {.attributes = attributes_of(ino, node),
          .valid_for = may_change ? std::chrono::milliseconds(0) : names_.time_left(seen_at)};
}

Result<Attributes> FileSystem::Impl::attributes(Ino ino) const {
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return no_such_inode(ino);
  return attributes_of(ino, inode->node);
}

// Names

Result<std::string> FileSystem::Impl::child_key(Ino parent, std::string_view name) const {
  const std::optional<Inode> directory = inodes_.find(parent);
  if (!directory) return no_such_inode(parent);
  if (!directory->node.is_directory) {
    return fail(ErrorCode::kNotDirectory, "'" + directory->node.object.key + "' is a file");
  }
  std::string key = directory->node.object.key + std::string(name);
  if (!is_valid_name(name) || key.size() > kKeyBytesMax) {
    return fail(ErrorCode::kInvalidArgument, "no key can have this name");
  }
  return key;
}

void FileSystem::Impl::lookup(Ino parent, std::string_view name, Deadline deadline,
                              Done<Entry> done) {
  const Result<std::string> child = child_key(parent, name);
  if (!child) {
    const bool no_name = child.error().code == ErrorCode::kInvalidArgument;
    return done(no_name ? fail(ErrorCode::kNotFound, "no key can have this name")
                        : std::unexpected(child.error()));
  }
  const std::string& key = *child;
  if (written_) {
    if (const auto file = written_->find(key)) {
      return done(give_to_kernel(file->node(), clock_.now()));
    }
  }
  resolver_->resolve(key, deadline,
                     [self = shared_from_this(), key, deadline,
                      done = std::move(done)](Result<NameAnswer> answer) mutable {
                       if (!answer) return done(std::unexpected(std::move(answer.error())));
                       if (!answer->node) {
                         return done(fail(ErrorCode::kNotFound, "no key '" + key + "'"));
                       }
                       done(self->give_to_kernel(*answer->node, answer->seen_at));
                       self->list_by_demand(key, answer->is_from_store, deadline);
                     });
}

// Who looks names up one by one need not ask for each.
void FileSystem::Impl::list_by_demand(const std::string& key, bool was_asked, Deadline deadline) {
  if (options_.ttl == std::chrono::milliseconds(0)) return;  // no name is kept
  if (!was_asked) return preload_.on_known();
  std::optional<s3::ListRequest> request = preload_.on_asked(key);
  if (!request) return;
  store_.list(*request, deadline,
              [self = shared_from_this(), request = *request,
               seen_at = clock_.now()](Result<s3::ListPage> page) {
                if (!page) return self->preload_.on_failure(request);
                const auto listed = self->preload_.on_page(request, std::move(*page), seen_at);
                if (listed.names.empty()) return;
                self->names_.insert(listed.names);
                self->order_.on_listed(request.prefix, listed.position, listed.names);
              });
}

// Directories

Result<std::uint64_t> FileSystem::Impl::open_directory(Ino ino) {
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return no_such_inode(ino);
  const std::string& key = inode->node.object.key;
  if (!inode->node.is_directory) {
    return fail(ErrorCode::kNotDirectory, "'" + key + "' is a file");
  }
  return handles_.add(std::make_shared<DirectoryHandle>(open_snapshot(key)));
}

std::shared_ptr<DirectorySnapshot> FileSystem::Impl::open_snapshot(const std::string& prefix) {
  return snapshots_.get(
      {store_, clock_, names_, order_, hidden_keys_, snapshot_budget_, weak_from_this()}, prefix,
      options_.prefix);
}

void FileSystem::Impl::read_directory(std::uint64_t handle, std::uint64_t offset,
                                      std::size_t entries_max, Deadline deadline,
                                      Done<std::vector<DirectoryEntry>> done) {
  const std::shared_ptr<DirectoryHandle> directory = handles_.find<DirectoryHandle>(handle);
  if (!directory) return done(no_such_handle(handle));
  const auto snapshot = directory->snapshot_at(
      offset, [this](const std::string& prefix) { return open_snapshot(prefix); });
  snapshot->read(offset, entries_max, deadline,
                 [self = shared_from_this(), offset,
                  done = std::move(done)](Result<std::vector<ListedName>> names) mutable {
                   if (!names) return done(std::unexpected(std::move(names.error())));
                   std::vector<DirectoryEntry> entries;
                   entries.reserve(names->size());
                   for (ListedName& listed : *names) {
                     listed.node.generation = self->generation_of(listed.node);
                     const Ino ino = self->inodes_.number_of(listed.node);
                     entries.push_back({.name = std::move(listed.name),
                                        .attributes = self->attributes_of(ino, listed.node),
                                        .next_offset = ++offset});
                   }
                   done(std::move(entries));
                 });
}

Entry FileSystem::Impl::add_lookup(std::uint64_t handle, const DirectoryEntry& entry) {
  const std::shared_ptr<DirectoryHandle> directory = handles_.find<DirectoryHandle>(handle);
  if (!directory) return {};
  const std::optional<ListedName> listed = directory->snapshot()->at(entry.next_offset - 1);
  if (!listed || listed->name != entry.name) return {};  // rewound meanwhile
  return give_to_kernel(listed->node, listed->seen_at);
}

// Files

void FileSystem::Impl::open_version(Ino ino, const Node& version,
                                    std::shared_ptr<const cache::ResidentObject> whole,
                                    Deadline deadline, Done<OpenFile> done) {
  const s3::ObjectInfo& object = version.object;
  for (const s3::ObjectInfo& next : order_.on_open(object)) {
    files_.prefetch(next, generations_.of(next.key, next.etag));
  }
  OpenFile opened{.handle = files_.open(ino, object, version.generation),
                  .size_bytes = object.size_bytes,
                  .path = object.key.substr(options_.prefix.size()),
                  .whole = std::move(whole)};
  const bool is_small = object.size_bytes > 0 && object.size_bytes <= options_.content_bytes_max;
  if (opened.whole || !is_small || !inodes_.mark_opened(ino)) return done(std::move(opened));
  get_content(std::move(opened), deadline, std::move(done));
}

// One request for open and read: who opens a small file nearly always reads all of it next. As with
// a whole object, the open waits for half of its time, and tells of a version that is gone; other
// errors are the reads' to meet.
void FileSystem::Impl::get_content(OpenFile opened, Deadline deadline, Done<OpenFile> done) {
  const std::uint64_t handle = opened.handle;
  const std::uint64_t size_bytes = opened.size_bytes;
  const SeenAt now = clock_.now();
  read(handle, 0, size_bytes, now + (deadline - now) / 2,
       [self = shared_from_this(), opened = std::move(opened),
        done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
         if (bytes) {
           opened.content = std::move(*bytes);
         } else if (bytes.error().code == ErrorCode::kStale) {
           self->files_.release(opened.handle);
           return done(std::unexpected(std::move(bytes.error())));
         }
         done(std::move(opened));
       });
}

void FileSystem::Impl::on_stale(Ino ino, const std::string& key) {
  inodes_.invalidate(ino);
  names_.erase(key);
  snapshots_.forget(prefix_of(key));
}

void FileSystem::Impl::open(Ino ino, Deadline deadline, Done<OpenFile> done) {
  confirm_version(ino, deadline,
                  [self = shared_from_this(), ino, deadline,
                   done = std::move(done)](Result<Node> version) mutable {
                    if (!version) return done(std::unexpected(std::move(version.error())));
                    self->open_version(ino, *version, /*whole=*/nullptr, deadline, std::move(done));
                  });
}

void FileSystem::Impl::open_whole(Ino ino, Deadline deadline, Done<OpenFile> done) {
  if (whole_ == nullptr) return open(ino, deadline, std::move(done));
  confirm_version(ino, deadline,
                  [self = shared_from_this(), ino, deadline,
                   done = std::move(done)](Result<Node> version) mutable {
                    if (!version) return done(std::unexpected(std::move(version.error())));
                    self->fetch_whole(ino, std::move(*version), deadline, std::move(done));
                  });
}

// A version that is gone is the one failure that the open tells: reading by pieces would find it
// gone as well, and now the kernel can still look the name up again.
void FileSystem::Impl::fetch_whole(Ino ino, Node version, Deadline deadline, Done<OpenFile> done) {
  const s3::ObjectInfo& object = version.object;
  cache::ObjectVersion wanted{object.key, object.etag, object.size_bytes, version.generation};
  whole_->open(
      std::move(wanted), deadline,
      [self = shared_from_this(), ino, version = std::move(version), deadline,
       done = std::move(done)](Result<std::shared_ptr<const cache::ResidentObject>> whole) mutable {
        if (!whole && whole.error().code == ErrorCode::kStale) {
          self->on_stale(ino, version.object.key);
          return done(std::unexpected(std::move(whole.error())));
        }
        self->open_version(ino, version, whole ? std::move(*whole) : nullptr, deadline,
                           std::move(done));
      });
}

void FileSystem::Impl::confirm_version(Ino ino, Deadline deadline, Done<Node> done) {
  const std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return done(no_such_inode(ino));
  const Node& version = inode->node;
  const s3::ObjectInfo& wanted = version.object;
  if (version.is_directory) {
    return done(fail(ErrorCode::kIsDirectory, "'" + wanted.key + "' is a directory"));
  }
  if (const auto& written = version.written) {
    // Its name stands for the version it became, or for what was there before it.
    const bool is_current = written_->find(written->key()) == written;
    return done(is_current
                    ? fail(ErrorCode::kBusy, "'" + wanted.key + "' is being written")
                    : fail(ErrorCode::kStale, "'" + wanted.key + "' is no longer being written"));
  }
  if (is_outdated(version)) {
    on_stale(ino, wanted.key);
    return done(fail(ErrorCode::kStale, "'" + wanted.key + "' was stored again by this mount"));
  }
  if (names_.time_left(inode->seen_at) > std::chrono::milliseconds(0)) return done(version);
  store_.head(
      wanted.key, deadline,
      [self = shared_from_this(), ino, current = Node(version), seen_at = clock_.now(),
       done = std::move(done)](Result<s3::ObjectInfo> object) mutable {
        const bool gone = !object && object.error().code == ErrorCode::kNotFound;
        if (!object && !gone) return done(std::unexpected(std::move(object.error())));
        if (gone || object->etag != current.object.etag || self->is_outdated(current)) {
          self->on_stale(ino, current.object.key);
          return done(fail(ErrorCode::kStale, "'" + current.object.key + "' is no longer version " +
                                                  current.object.etag));
        }
        self->inodes_.confirm(ino, seen_at);
        done(std::move(current));
      });
}

void FileSystem::Impl::read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length,
                            Deadline deadline, Done<cache::PinnedBytes> done) {
  const std::shared_ptr<const OpenVersion> file = handles_.find<const OpenVersion>(handle);
  if (!file && handles_.find<WrittenFile>(handle)) {
    return done(fail(ErrorCode::kSequentialOnly, "a file that is being written cannot be read"));
  }
  if (!file) return done(no_such_handle(handle));
  if (offset_bytes >= file->object.size_bytes || length == 0) return done(cache::PinnedBytes());
  // The file is held until the bytes are there, so that its reader outlives a release meanwhile.
  file->reader->read(offset_bytes, length, deadline,
                     [self = shared_from_this(), file,
                      done = std::move(done)](Result<cache::PinnedBytes> bytes) mutable {
                       if (!bytes && bytes.error().code == ErrorCode::kStale) {
                         self->on_stale(file->ino, file->object.key);
                       }
                       done(std::move(bytes));
                     });
}

void FileSystem::Impl::release(std::uint64_t handle) {
  if (written_) {
    if (const auto file = written_->release(handle)) return release_written(file);
  }
  files_.release(handle);
}

// The outside

FileSystem::FileSystem(s3::ObjectStore& store, cache::ReadCache& cache, const Clock& clock,
                       metrics::Registry& metrics, Options options, std::optional<Writing> writing,
                       cache::ResidentObjects* whole)
    : impl_(std::make_shared<Impl>(store, cache, clock, metrics, std::move(options), writing,
                                   whole)) {}

FileSystem::~FileSystem() = default;

void FileSystem::lookup(Ino parent, std::string_view name, Deadline deadline, Done<Entry> done) {
  impl_->lookup(parent, name, deadline, std::move(done));
}
void FileSystem::forget(Ino ino, std::uint64_t count) { impl_->forget(ino, count); }
Result<Attributes> FileSystem::attributes(Ino ino) const { return impl_->attributes(ino); }

Result<std::uint64_t> FileSystem::open_directory(Ino ino) { return impl_->open_directory(ino); }
void FileSystem::read_directory(std::uint64_t handle, std::uint64_t offset, std::size_t entries_max,
                                Deadline deadline, Done<std::vector<DirectoryEntry>> done) {
  impl_->read_directory(handle, offset, entries_max, deadline, std::move(done));
}
Entry FileSystem::add_lookup(std::uint64_t handle, const DirectoryEntry& entry) {
  return impl_->add_lookup(handle, entry);
}
void FileSystem::release_directory(std::uint64_t handle) { impl_->release_directory(handle); }

void FileSystem::open(Ino ino, Deadline deadline, Done<OpenFile> done) {
  impl_->open(ino, deadline, std::move(done));
}
void FileSystem::open_whole(Ino ino, Deadline deadline, Done<OpenFile> done) {
  impl_->open_whole(ino, deadline, std::move(done));
}
bool FileSystem::has_whole_objects() const { return impl_->has_whole_objects(); }
void FileSystem::read(std::uint64_t handle, std::uint64_t offset_bytes, std::size_t length,
                      Deadline deadline, Done<cache::PinnedBytes> done) {
  impl_->read(handle, offset_bytes, length, deadline, std::move(done));
}
void FileSystem::release(std::uint64_t handle) { impl_->release(handle); }

}  // namespace s3rdmafs::vfs
