// SPDX-License-Identifier: Apache-2.0
// Names: which inode a name stands for, and for how long that is believed.
//
// Staleness. S3 does not tell when an object changes. A name is believed for its ttl, counted from
// the request that showed it, and an open believes nothing older. An open or a read that finds its
// version gone calls invalidate_version(): the ESTALE that it causes is then followed by a lookup
// that asks the store and sees the new version. Other calls by name that
// find their inode wrong fail by look_again(), unless a written file takes the name: the kernel
// tries once more only, and a listing may have shown a version meanwhile that is gone as well.
//
// Read after write. After each change by this mount, on_changed() forgets everything that was asked
// before. The next lookup asks the store, which is consistent (Amazon S3 User Guide, "data
// consistency model"), and gets size, time and ETag from the store itself.
//
// Close-to-open. Where opens are confirmed, a name is believed by stat(2) alone. An open asks the
// store, and so does a lookup of a file that the kernel has: the kernel asks for it because the
// name is to be created (O_EXCL) or replaced, or because its entry has ended. Directories are not
// asked for again, since an open that is repeated after ESTALE looks up every component of its
// path.
//
// Creation. The kernel looks a name up before it creates it, in the same system call. The creation
// believes that answer (AbsentNames), and the request that stores the file says that there was
// none.
//
// The kernel's names. It keeps the name of a version or a directory for the ttl, and stat(2)
// does not come here meanwhile. A change by this mount must not leave an older answer there, and
// nothing can take one back: a notification needs locks that the changing process may hold. So:
//  - unlink, rmdir and rename change the kernel's own entry.
//  - An open or a truncation that makes a name stand for another inode ends with ESTALE, and the
//    kernel's second attempt replaces its entry, fresh or not (LOOKUP_REVAL, see path_lookup in
//    the kernel's documentation). Processes share the entry.
//  - The name of a file that is being written, or has been stored and is still open for writing, is
//    kept for no time: its next commit changes the name without an open.
//  - A listing that was asked for before a change gives the kernel that name for no time, and the
//    name of a file that is being written without an inode.
//
// Locks. None of its own: each part has one, and none is held while another part is called.
#include "vfs/names/names.h"

#include <cstddef>
#include <utility>

#include "vfs/files/written_file.h"
#include "vfs/metadata/posix_metadata.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

// Versions whose ETags may come back, for each of two ages; 40 bytes each. An ETag that is made of
// a time comes back within that time only.
constexpr std::size_t kVersionsMax = 16'384;

// An open and the lookup that the kernel made for it share one question to the store, if it was
// asked this short a time ago. Short, since the question may also be that of a stat(2) before; and
// once, since the next open is another program's.
constexpr std::chrono::milliseconds kLookupToOpen{2};

/// The key by which the name cache knows a node.
std::string name_key_of(const Node& node) {
  std::string key = node.object.key;
  if (node.is_directory && !key.empty()) key.pop_back();
  return key;
}

}  // namespace

Names::Names(s3::ObjectStore& store, const Clock& clock, metrics::Registry& metrics,
             std::shared_ptr<Directories> directories, Options options)
    : clock_(clock),
      options_(std::move(options)),
      generations_(kVersionsMax),
      inodes_(options_.root_prefix,
              metrics.gauge("vfs_inodes", "Inodes the kernel refers to, the root included."),
              hash_node, options_.numbers),
      directory_times_(clock.wall_now()),
      absent_(clock),
      cache_(directories->names()),
      resolver_(std::make_shared<NameResolver>(
          store, clock, *cache_, metrics,
          [directories](const std::string& prefix, std::span<const ListedName> names) {
            directories->on_listed(prefix, names);
          })),
      metadata_(options_.posix == PosixMetadata::kOff
                    ? nullptr
                    : std::make_shared<MetadataFetcher>(store, clock, cache_,
                                                        options_.metadata_requests_max, metrics)),
      directories_(std::move(directories)) {}

Result<Inode> Names::find(Ino ino) const {
  std::optional<Inode> inode = inodes_.find(ino);
  if (!inode) return fail(ErrorCode::kNotFound, "no inode " + std::to_string(ino));
  return *std::move(inode);
}

Result<Inode> Names::find_file(Ino ino) const {
  Result<Inode> inode = find(ino);
  if (inode && inode->node.is_directory) {
    return fail(ErrorCode::kIsDirectory, "'" + inode->node.object.key + "' is a directory");
  }
  return inode;
}

Attributes Names::attributes_of(Ino ino, const Node& node) const {
  const auto live = options_.live && !node.is_directory ? options_.live->live(ino) : std::nullopt;
  if (live) {
    Attributes attributes{.ino = ino,
                          .is_being_written = true,
                          .size_bytes = live->size_bytes,
                          .modified = live->modified};
    if (!shows_posix()) return attributes;
    attributes.posix = posix_attributes(*live->metadata, live->size_bytes);
    attributes.posix.changed = live->changed;
    return attributes;
  }
  Attributes attributes{
      .ino = ino,
      .is_directory = node.is_directory,
      .is_being_written = node.written != nullptr,
      .size_bytes = node.written ? node.written->size_bytes() : node.object.size_bytes,
      .modified = node.is_directory ? directory_times_.of(node.object.key) : node.object.modified,
      .posix = posix_of(node)};
  attributes.modified = attributes.posix.modified.value_or(attributes.modified);
  const bool may_be_link = may_have_target(node.object.size_bytes);
  attributes.is_type_known = !shows_posix() || !MetadataFetcher::is_wanting(node) || !may_be_link;
  return attributes;
}

// To another client's change of the metadata alone the time of the store is the nearest.
PosixAttributes Names::posix_of(const Node& node) const {
  if (!shows_posix() || node.is_directory || node.written || !node.posix) return {};
  PosixAttributes attributes = *node.posix;
  if (!attributes.changed) attributes.changed = node.object.modified;
  return attributes;
}

// As this mount's inodes have it: where no attributes are shown, a link is a file.
Node Names::known(Node node) const {
  node.generation = generation_of(node);
  if (!shows_posix()) node.posix = nullptr;
  return node;
}

void Names::rebind(Ino ino, const Node& node) { inodes_.rebind(ino, known(node), clock_.now()); }

DirectoryEntry Names::entry_of(ListedName listed, std::uint64_t next_offset) const {
  DirectoryEntry entry{.name = std::move(listed.name),
                       .attributes = {},
                       .next_offset = next_offset,
                       .node = known(std::move(listed.node)),
                       .seen_at = listed.seen_at};
  entry.attributes = attributes_of(number_of(entry.node), entry.node);
  return entry;
}

// A listing does not tell whether a version is a link: it is the inode that the kernel has.
Ino Names::number_of(const Node& known) const {
  static const auto a_link =
      std::make_shared<const PosixAttributes>(PosixAttributes{.is_symlink = true});
  const bool is_type_open = shows_posix() && MetadataFetcher::is_wanting(known);
  if (!is_type_open || inodes_.has(known)) return inodes_.number_of(known);
  Node link = known;
  link.posix = a_link;
  return inodes_.number_of(inodes_.has(link) ? link : known);
}

std::uint64_t Names::generation_of(const Node& node) const {
  if (node.is_directory || node.written) return 0;
  return generation_of(node.object);
}

Entry Names::add_lookup(const Node& node, SeenAt seen_at) {
  const bool is_version = !node.is_directory && !node.written;
  if (is_version && options_.is_writable) generations_.seen(node.object.key, node.object.etag);
  const std::string name_key = name_key_of(node);
  if (options_.is_writable) absent_.forget(name_key);  // none is remembered otherwise
  const Ino ino = inodes_.add_lookup(known(node), seen_at);
  const bool is_old = node.written || cache_->is_superseded(name_key, seen_at);
  return {.attributes = attributes_of(ino, node),
          .valid_for = is_old ? std::chrono::milliseconds(0) : cache_->time_left(seen_at)};
}

Result<std::string> Names::child_key(Ino parent, std::string_view name) const {
  const Result<Inode> directory = find(parent);
  if (!directory) return std::unexpected(directory.error());
  if (!directory->node.is_directory) {
    return fail(ErrorCode::kNotDirectory, "'" + directory->node.object.key + "' is a file");
  }
  std::string key = directory->node.object.key + std::string(name);
  if (!is_valid_name(name)) return fail(ErrorCode::kInvalidArgument, "no key can have this name");
  if (key.size() > kKeyBytesMax) {
    return fail(ErrorCode::kNameTooLong, "a key of " + std::to_string(key.size()) + " bytes");
  }
  return key;
}

void Names::look_up(const std::string& key, Deadline deadline, Done<NameAnswer> done) {
  if (shows_posix()) done = with_metadata(key, deadline, std::move(done));
  if (options_.confirms_opens) {
    const std::optional<NameAnswer> known = cache_->find(key);
    if (known && known->node && !known->node->is_directory && kernel_has(*known->node)) {
      return resolver_->ask(key, deadline, std::move(done));
    }
  }
  resolver_->resolve(key, deadline, std::move(done));
}

// A file that a listing has shown costs one request more. Where that fails, the name is asked for
// as if it had never been listed. Where HeadObject is refused, as to a user who may only list, the
// file has the mount's owner and mode.
Done<NameAnswer> Names::with_metadata(const std::string& key, Deadline deadline,
                                      Done<NameAnswer> done) const {
  return [&clock = clock_, metadata = metadata_, resolver = resolver_, directories = directories_,
          key, deadline, done = std::move(done)](Result<NameAnswer> answer) mutable {
    if (!answer || !answer->node || !MetadataFetcher::is_wanting(*answer->node)) {
      return done(std::move(answer));
    }
    auto completed = [&clock, resolver, key, deadline, listed = *answer, asked_at = clock.now(),
                      done = std::move(done)](Result<NameAnswer> found) mutable {
      if (found) return done(std::move(found));
      if (found.error().code == ErrorCode::kAccessDenied) return done(std::move(listed));
      if (clock.now() < deadline) return resolver->ask(key, deadline, std::move(done));
      resolver->remember_failure(key, found.error(), asked_at);
      done(std::move(found));
    };
    metadata->get(*answer->node, answer->seen_at, deadline, std::move(completed));
    metadata->fill_ahead(directories->on_stat(key), deadline);
  };
}

void Names::complete(std::vector<ListedName> listed, const std::vector<ListedName>& ahead,
                     Deadline deadline, Done<std::vector<ListedName>> done) {
  const bool keeps_names = cache_->time_left(clock_.now()) > std::chrono::milliseconds(0);
  if (!shows_posix() || !keeps_names) return done(std::move(listed));
  metadata_->fill(std::move(listed), deadline, std::move(done));
  metadata_->fill_ahead(ahead, deadline);
}

std::optional<NameAnswer> Names::completed(const Node& listed, SeenAt seen_at) const {
  if (!shows_posix() || listed.is_directory) return NameAnswer{listed, seen_at};
  return metadata_->known(listed);
}

void Names::told(const std::string& key, const NameAnswer& answer) {
  if (options_.is_writable && !options_.keeps_absences) absent_.told(key, answer);
}

void Names::resolve_new(const std::string& key, bool asks, Deadline deadline,
                        Done<NameAnswer> done) {
  if (auto absent = absent_.take(key)) return done(*std::move(absent));
  if (asks) on_changed(key);
  resolver_->resolve(key, deadline, std::move(done));
}

bool Names::kernel_has(const Node& node) const {
  const Node shown = known(node);
  return inodes_.has(shown) || inodes_.find(number_of(shown)).has_value();
}

bool Names::may_open(Ino ino, const Inode& inode) {
  if (options_.confirms_opens) return inodes_.take_answer(ino, clock_.now() - kLookupToOpen);
  return cache_->time_left(inode.seen_at) > std::chrono::milliseconds(0);
}

bool Names::is_version_of(const Node& found, const Node& inode) const {
  return found.object.etag == inode.object.etag && !is_outdated(inode) &&
         known(found).is_symlink() == inode.is_symlink();
}

void Names::confirm(Ino ino, SeenAt seen_at, Node version) {
  version = known(std::move(version));
  inodes_.confirm(ino, seen_at, version.posix);
  if (!shows_posix()) return;
  // A listing must not bring back what the name cache knew before.
  std::string key = version.object.key;
  cache_->insert(key, {.node = std::move(version), .seen_at = seen_at});
}

void Names::invalidate_version(Ino ino, const std::string& key) {
  inodes_.invalidate(ino);
  on_new_version(key);
}

std::unexpected<Error> Names::look_again(const std::string& key, std::string why) {
  on_new_version(key);
  return fail(ErrorCode::kStale, std::move(why));
}

void Names::on_new_version(const std::string& key) {
  cache_->invalidate(key, clock_.now());
  resolver_->invalidate(key);
  if (metadata_) metadata_->invalidate(key);
  absent_.forget(key);
  directories_->forget(prefix_of(key));
}

void Names::on_changed(const std::string& key) {
  on_new_version(key);
  directory_times_.on_changed(prefix_of(key), clock_.wall_now());
}

void Names::on_moved(Node from, Node to) {
  on_changed(from.object.key);
  on_changed(to.object.key);
  const Ino ino = number_of(known(std::move(from)));
  // The copy has that of the source, which a listing may not have shown.
  const std::optional<Inode> source = inodes_.find(ino);
  if (!to.posix && source) to.posix = source->node.posix;
  inodes_.rebind(ino, known(std::move(to)), clock_.now());
}

void Names::on_directory_changed(const std::string& prefix) {
  on_changed(prefix.substr(0, prefix.size() - 1));
  directories_->forget(prefix);
}

void Names::on_directory_removed(const std::string& prefix) { inodes_.retire_directory(prefix); }

void Names::on_directory_moved(const std::string& from, const std::string& to) {
  inodes_.retire_directory(to);
  inodes_.rebind_directories(from, to);
}

void Names::on_stored(const std::string& key, const std::string& etag) {
  if (etag.empty()) return;
  const bool is_repeated = generations_.stored(key, etag);
  if (is_repeated && options_.on_etag_repeated) options_.on_etag_repeated(key, etag);
}

}  // namespace s3rdmafs::vfs
