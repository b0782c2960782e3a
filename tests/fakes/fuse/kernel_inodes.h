// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fakes/fuse/fuse_request.h"

namespace s3rdmafs::fakes {

/// The state that a kernel keeps of a mount: references to inodes, open files with their I/O modes,
/// backing ids and the page cache. Each thing that Linux would refuse or that would leak there
/// becomes a violation. Guarded by its owner's lock.
class KernelInodes {
 public:
  /// References and open files end when the kernel sends the request, not when it is served.
  void on_sent(const FuseRequest& request);
  /// Of a successful reply that the kernel has taken.
  void on_reply(const FuseRequest& request, const FuseReply& reply);

  /// NOTIFY_STORE. @return 0 or an errno
  int store(std::uint64_t node, std::uint64_t offset, std::string_view bytes);

  /// @return the id, or a negative errno
  int open_backing(int fd);
  /// @return 0 or a negative errno
  int close_backing(std::uint32_t id);

  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& lookups() const { return lookups_; }
  /// Directories too.
  [[nodiscard]] std::size_t open_files() const { return files_.size() + directories_.size(); }
  [[nodiscard]] std::size_t backing_ids() const { return backings_.size(); }
  [[nodiscard]] std::string page_cache(std::uint64_t node) const;
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  void add_violation(std::string text) { violations_.push_back(std::move(text)); }

 private:
  struct OpenFile {
    std::uint64_t node = 0;
    std::uint32_t flags = 0;  ///< FOPEN_*
  };
  /// As fs/fuse/iomode.c counts them.
  struct IoMode {
    unsigned cached = 0;
    unsigned passthrough = 0;
    std::uint32_t backing_id = 0;
  };

  void add_reference(std::uint64_t node);
  void forget(std::uint64_t node, std::uint64_t count);
  void open(std::uint64_t node, const fuse_open_out& out);
  void release(std::uint64_t handle);
  void enter_passthrough(IoMode& mode, const fuse_open_out& out);

  std::map<std::uint64_t, std::uint64_t> lookups_;
  std::map<std::uint64_t, OpenFile> files_;  // by handle
  std::set<std::uint64_t> directories_;      // handles, which may equal those of files
  std::map<std::uint64_t, IoMode> modes_;
  std::map<std::uint32_t, std::uint64_t> backings_;  // id -> inode of the file
  std::map<std::uint64_t, std::string> page_cache_;
  std::uint32_t last_backing_id_ = 0;
  std::vector<std::string> violations_;
};

}  // namespace s3rdmafs::fakes
