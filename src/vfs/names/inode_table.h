// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/names/node.h"
#include "vfs/types.h"

namespace s3rdmafs::vfs {

/// A node that the kernel knows by number, and when the store last confirmed it.
struct Inode {
  Node node;
  SeenAt seen_at;
};

/// The number of a node before collisions are resolved: the same in every mount, on every machine.
[[nodiscard]] Ino hash_node(const Node& node) noexcept;

/// The numbers of one of several file systems of a mount.
struct InodeNumbers {
  Volume volume = 0;  ///< whose the numbers are
  /// Directories, by their prefixes, that are the roots of other volumes.
  std::map<std::string, Volume> roots = {};
};

/// Which node each inode number stands for, for as long as the kernel refers to it. The root is
/// always there. Thread-safe.
class InodeTable {
 public:
  using Hash = Ino (*)(const Node&) noexcept;

  /// @param inodes  follows the number of entries, the root included; borrowed
  /// @param hash    for tests, which make numbers collide
  InodeTable(std::string root_prefix, metrics::Gauge& inodes, Hash hash = hash_node,
             InodeNumbers numbers = {});

  /// Gives the kernel one more reference to the node; call before the reply that carries it.
  Ino add_lookup(const Node& node, SeenAt seen_at);
  /// The kernel drops `count` references; the entry goes with the last.
  void forget(Ino ino, std::uint64_t count);

  [[nodiscard]] std::optional<Inode> find(Ino ino) const;
  /// Whether the kernel refers to this node.
  [[nodiscard]] bool has(const Node& node) const;
  /// The number the node has, or would get now.
  [[nodiscard]] Ino number_of(const Node& node) const;

  /// The inode stands for another node from now on: what this mount has made of its file (stored
  /// again, renamed). It keeps its number, and lookups of that node give this number. Does nothing
  /// for a number that the kernel was never given.
  void rebind(Ino ino, const Node& node, SeenAt seen_at);

  /// This mount gave all keys below one prefix another one: their directories, the two themselves
  /// included, keep their numbers. Both end in "/". Costs a look at every inode.
  void rebind_directories(const std::string& from, const std::string& to);

  /// This mount removed the directory, so the kernel makes and looks up nothing in its inode any
  /// more: a directory that is made there again gets another number.
  void retire_directory(const std::string& prefix);

  /// True for the first call since the kernel came to know the inode.
  [[nodiscard]] bool mark_opened(Ino ino);

  /// Whether a lookup was answered by the store since then and no open has relied on the answer
  /// yet: true once for each answer.
  [[nodiscard]] bool take_answer(Ino ino, SeenAt since);

  /// The store said, to an open, that the name still stands for this node.
  /// @param posix  of the version now; null: not known
  void confirm(Ino ino, SeenAt seen_at, std::shared_ptr<const PosixAttributes> posix = nullptr);
  /// The name no longer stands for this node: nothing seen before is believed.
  void invalidate(Ino ino);

 private:
  struct Entry {
    Inode inode;
    std::uint64_t lookups = 0;  ///< references the kernel holds ("nlookup" in FUSE)
    bool was_opened = false;
    SeenAt relied_on = SeenAt::min();  ///< the newest answer that an open has relied on
    bool was_rebound = false;          ///< its number is not the hash of its node
  };

  /// The number of a node before collisions are resolved.
  [[nodiscard]] Ino number_wanted(const Node& node) const noexcept;
  /// @param hash  of the node
  Ino number_locked(const Node& node, Ino hash) const REQUIRES(mutex_);
  void rebind_locked(Ino ino, Entry& entry, const Node& node) REQUIRES(mutex_);
  void drop_rebound(Ino ino, const Entry& entry) REQUIRES(mutex_);

  const std::string root_prefix_;
  metrics::Gauge& inodes_gauge_;
  const Hash hash_;
  const InodeNumbers numbers_;
  const Ino root_;

  mutable Mutex mutex_;  // lock order 1
  std::unordered_map<Ino, Entry> entries_ GUARDED_BY(mutex_);
  /// The numbers of nodes that are not their hashes, by the hash of the node.
  std::unordered_multimap<Ino, Ino> rebound_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
