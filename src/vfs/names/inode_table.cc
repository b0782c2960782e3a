// SPDX-License-Identifier: Apache-2.0
// Inode table: which version of which key each inode number known to the kernel stands for.
//
// Why it exists. The kernel names files by number, S3 by key and ETag, and neither tells us when
// the other changes. This is the only place that holds the pair and decides when it may be dropped.
//
// Numbers. A number is a hash of kind, key and ETag, so it is the same after forget and lookup, and
// in every mount of a bucket; programs that compare st_ino over time (tar, rsync) see what they
// expect. An inode that this mount has rebound keeps its number until the kernel forgets it. Where
// the number is taken, by a node that hashes alike or by an inode that was rebound, the node gets
// the next free one, and keeps it too: rebound_ has every number that is not its node's hash. A
// directory that was removed keeps its number as well: the kernel refuses all names in an inode
// that it saw removed, for as long as a program has the directory open, or a file that was in it. A
// version whose ETag named another version before (vfs/names/generations.h) has a number of its
// own, valid in this mount only.
//
// Lifetime. Every reply that hands an inode to the kernel adds one to its lookup count; forget(n)
// takes n away, and at zero the entry goes. Open files hold what they need themselves.
//
// Locks. One mutex, first in the lock order, held for a few map operations and never over a call.
#include "vfs/names/inode_table.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "s3rdmafs/base/checksum.h"

namespace s3rdmafs::vfs {

Ino hash_node(const Node& node) noexcept {
  const auto add = [](std::uint64_t crc, std::string_view text) {
    return crc64nvme(crc, std::as_bytes(std::span(text)));
  };
  constexpr std::string_view kNul("\0", 1);  // in no key, so no two nodes hash the same bytes
  std::uint64_t crc = add(0, node.is_directory ? "d" : node.is_symlink() ? "l" : "f");
  crc = add(crc, node.object.key);
  crc = add(crc, kNul);
  crc = add(crc, node.object.etag);
  if (node.generation == 0) return crc;
  return add(add(crc, kNul), std::to_string(node.generation));
}

InodeTable::InodeTable(std::string root_prefix, metrics::Gauge& inodes, Hash hash,
                       InodeNumbers numbers)
    : root_prefix_(std::move(root_prefix)),
      inodes_gauge_(inodes),
      hash_(hash),
      numbers_(std::move(numbers)),
      root_(number_in(numbers_.volume, kRootIno)) {
  const MutexLock lock(mutex_);
  entries_[root_].inode.node = Node::directory(root_prefix_);
  inodes_gauge_.add(1);
}

Ino InodeTable::number_wanted(const Node& node) const noexcept {
  if (!numbers_.roots.empty() && node.is_directory) {
    const auto root = numbers_.roots.find(node.object.key);
    if (root != numbers_.roots.end()) return number_in(root->second, kRootIno);
  }
  return number_in(numbers_.volume, hash_(node));
}

Ino InodeTable::number_locked(const Node& node, Ino hash) const {
  if (node.is_directory && node.object.key == root_prefix_) return root_;
  const auto [first, last] = rebound_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const auto found = entries_.find(at->second);
    if (found != entries_.end() && found->second.inode.node.same_as(node)) return at->second;
  }
  for (Ino number = hash;; ++number) {
    const Ino ino = number_in(numbers_.volume, number);
    if (ino < kFirstObjectIno || ino == root_) continue;
    const auto found = entries_.find(ino);
    if (found == entries_.end() || found->second.inode.node.same_as(node)) return ino;
  }
}

Ino InodeTable::add_lookup(const Node& node, SeenAt seen_at) {
  const Ino hash = number_wanted(node);
  const MutexLock lock(mutex_);
  const Ino ino = number_locked(node, hash);
  const auto [at, is_new] = entries_.try_emplace(ino);
  Entry& entry = at->second;
  if (is_new) {
    inodes_gauge_.add(1);
    entry.was_rebound = ino != hash;
    if (entry.was_rebound) rebound_.emplace(hash, ino);
  }
  // The same version, stored again, has a newer time stamp; an answer that was overtaken on its way
  // has an older one.
  if (is_new || entry.inode.seen_at <= seen_at) entry.inode = {node, seen_at};
  ++entry.lookups;
  return ino;
}

void InodeTable::forget(Ino ino, std::uint64_t count) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (ino == root_ || found == entries_.end()) return;
  found->second.lookups -= std::min(count, found->second.lookups);
  if (found->second.lookups > 0) return;
  drop_rebound(ino, found->second);
  entries_.erase(found);
  inodes_gauge_.add(-1);
}

void InodeTable::rebind(Ino ino, const Node& node, SeenAt seen_at) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (ino == root_ || found == entries_.end()) return;
  found->second.inode.seen_at = seen_at;
  rebind_locked(ino, found->second, node);
}

void InodeTable::rebind_locked(Ino ino, Entry& entry, const Node& node) {
  drop_rebound(ino, entry);
  entry.inode.node = node;
  entry.was_rebound = true;
  rebound_.emplace(number_wanted(node), ino);
}

void InodeTable::rebind_directories(const std::string& from, const std::string& to) {
  const MutexLock lock(mutex_);
  for (auto& [ino, entry] : entries_) {
    const Node& node = entry.inode.node;
    if (ino == root_ || !node.is_directory || !node.object.key.starts_with(from)) continue;
    rebind_locked(ino, entry, Node::directory(to + node.object.key.substr(from.size())));
  }
}

void InodeTable::retire_directory(const std::string& prefix) {
  Node node = Node::directory(prefix);
  const MutexLock lock(mutex_);
  const Ino ino = number_locked(node, number_wanted(node));
  const auto found = entries_.find(ino);
  if (ino == root_ || found == entries_.end()) return;
  node.object.etag = "removed";  // no lookup finds a directory with an ETag
  rebind_locked(ino, found->second, node);
}

void InodeTable::drop_rebound(Ino ino, const Entry& entry) {
  if (!entry.was_rebound) return;
  const auto [first, last] = rebound_.equal_range(number_wanted(entry.inode.node));
  const auto at =
      std::find_if(first, last, [ino](const auto& rebound) { return rebound.second == ino; });
  if (at != last) rebound_.erase(at);
}

std::optional<Inode> InodeTable::find(Ino ino) const {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (found == entries_.end()) return std::nullopt;
  return found->second.inode;
}

bool InodeTable::has(const Node& node) const {
  const Ino hash = number_wanted(node);
  const MutexLock lock(mutex_);
  return entries_.contains(number_locked(node, hash));
}

Ino InodeTable::number_of(const Node& node) const {
  const Ino hash = number_wanted(node);
  const MutexLock lock(mutex_);
  return number_locked(node, hash);
}

bool InodeTable::mark_opened(Ino ino) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  return found != entries_.end() && !std::exchange(found->second.was_opened, true);
}

bool InodeTable::take_answer(Ino ino, SeenAt since) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (found == entries_.end()) return false;
  Entry& entry = found->second;
  if (entry.inode.seen_at < since || entry.inode.seen_at <= entry.relied_on) return false;
  entry.relied_on = entry.inode.seen_at;
  return true;
}

void InodeTable::confirm(Ino ino, SeenAt seen_at, std::shared_ptr<const PosixAttributes> posix) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (posix && entry.inode.seen_at <= seen_at) entry.inode.node.posix = std::move(posix);
  entry.inode.seen_at = std::max(entry.inode.seen_at, seen_at);
  entry.relied_on = std::max(entry.relied_on, seen_at);
}

void InodeTable::invalidate(Ino ino) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(ino);
  if (found != entries_.end()) found->second.inode.seen_at = SeenAt::min();
}

}  // namespace s3rdmafs::vfs
