// SPDX-License-Identifier: Apache-2.0
// Names: which inode a name stands for, and for how long that is believed.
//
// Staleness. S3 does not tell when an object changes. A name is believed for its ttl, counted from
// the request that showed it, and an open believes nothing older. An open or a read that finds its
// version gone calls invalidate_version(): the ESTALE that it causes is then followed by a lookup
// that asks the store and sees the new version.
//
// Read after write. After each change by this mount, on_changed() forgets everything that was asked
// before. The next lookup asks the store, which is consistent (Amazon S3 User Guide, "data
// consistency model"), and gets size, time and ETag from the store itself.
//
// Locks. None of its own: each part has one, and none is held while another part is called.
#include "vfs/names/names.h"

#include <cstddef>
#include <utility>

#include "vfs/files/written_file.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

// Versions whose ETags may come back, for each of two ages; 40 bytes each. An ETag that is made of
// a time comes back within that time only.
constexpr std::size_t kVersionsMax = 16'384;

}  // namespace

Names::Names(s3::ObjectStore& store, const Clock& clock, metrics::Registry& metrics,
             std::shared_ptr<Directories> directories, Options options)
    : clock_(clock),
      options_(std::move(options)),
      generations_(kVersionsMax),
      inodes_(options_.root_prefix,
              metrics.gauge("vfs_inodes", "Inodes the kernel refers to, the root included.")),
      directory_times_(clock.wall_now()),
      cache_(directories->names()),
      resolver_(std::make_shared<NameResolver>(store, clock, *cache_, metrics)),
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
  return {
      .ino = ino,
      .is_directory = node.is_directory,
      .is_being_written = node.written != nullptr,
      .size_bytes = node.written ? node.written->size_bytes() : node.object.size_bytes,
      .modified = node.is_directory ? directory_times_.of(node.object.key) : node.object.modified};
}

Attributes Names::attributes_of(Node listed) const {
  listed.generation = generation_of(listed);
  return attributes_of(inodes_.number_of(listed), listed);
}

std::uint64_t Names::generation_of(const Node& node) const {
  if (node.is_directory || node.written) return 0;
  return generation_of(node.object);
}

Entry Names::add_lookup(const Node& node, SeenAt seen_at) {
  const bool is_version = !node.is_directory && !node.written;
  if (is_version && options_.is_writable) generations_.seen(node.object.key, node.object.etag);
  Node shown = node;
  shown.generation = generation_of(node);
  const Ino ino = inodes_.add_lookup(shown, seen_at);
  // Where files can be replaced through this mount, the kernel asks for each use of a file's name.
  // A write makes the name stand for another inode, and to tell the kernel so would take locks of
  // the kernel's that a writer may hold.
  const bool may_change = options_.is_writable && !node.is_directory;
  return {.attributes = attributes_of(ino, node),
          .valid_for = may_change ? std::chrono::milliseconds(0) : cache_->time_left(seen_at)};
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

void Names::invalidate_version(Ino ino, const std::string& key) {
  inodes_.invalidate(ino);
  cache_->erase(key);
  directories_->forget(prefix_of(key));
}

void Names::on_changed(const std::string& key) {
  cache_->invalidate(key, clock_.now());
  resolver_->invalidate(key);
  directories_->forget(prefix_of(key));
  directory_times_.on_changed(prefix_of(key), clock_.wall_now());
}

void Names::on_moved(Node from, Node to) {
  on_changed(from.object.key);
  on_changed(to.object.key);
  from.generation = generation_of(from);
  to.generation = generation_of(to);
  inodes_.rebind(inodes_.number_of(from), to, clock_.now());
}

void Names::on_directory_moved(const std::string& from, const std::string& to) {
  for (const std::string& prefix : {from, to}) {
    on_changed(prefix.substr(0, prefix.size() - 1));
    directories_->forget(prefix);
  }
  inodes_.rebind_directories(from, to);
}

void Names::on_stored(const std::string& key, const std::string& etag) {
  if (etag.empty()) return;
  const bool is_repeated = generations_.stored(key, etag);
  if (is_repeated && options_.on_etag_repeated) options_.on_etag_repeated(key, etag);
}

}  // namespace s3rdmafs::vfs
