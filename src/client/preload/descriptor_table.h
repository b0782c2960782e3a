// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "client/attached_file.h"

namespace s3rdmafs::client {

/// Which descriptors of this process are files that can be read past FUSE. Thread-safe.
class DescriptorTable {
 public:
  /// Higher numbers are read through the mount: few programs have more files open.
  static constexpr int kDescriptorsMax = 65'536;

  /// A descriptor in use: its file is not closed before this is destroyed.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    Use& operator=(Use&&) = delete;
    ~Use();
    /// False where the descriptor is to be read as the program asked for.
    [[nodiscard]] explicit operator bool() const noexcept { return entry_ != nullptr; }
    [[nodiscard]] AttachedFile& file() const;

   private:
    friend class DescriptorTable;
    explicit Use(struct DescriptorEntry* entry) : entry_(entry) {}
    struct DescriptorEntry* entry_ = nullptr;
  };

  /// The process's one. Never destroyed.
  [[nodiscard]] static DescriptorTable& instance();

  /// False in a child of vfork(2), which has its parent's memory and descriptors of its own.
  [[nodiscard]] bool is_own_process() const;

  /// A descriptor that the kernel has just given. Where this is not called, use() looks.
  void opened(int fd);
  /// The program closes it, or puts another file in its place.
  void closed(int fd);
  void closed_range(unsigned first, unsigned last);

  /// Attaches the file at the first call for a descriptor. Looks whether the descriptor is still of
  /// the file that open(2) gave: code that this library does not see may have closed it.
  [[nodiscard]] Use use(int fd);

 private:
  enum class State : unsigned char { kUnknown, kNotServed, kServed };

  constexpr DescriptorTable() = default;
  [[nodiscard]] bool serve(int fd);
  void leave(int fd);

  std::atomic<pid_t> pid_{0};
  std::atomic<State> states_[kDescriptorsMax] = {};
  std::atomic<struct DescriptorEntry*> entries_[kDescriptorsMax] = {};
};

}  // namespace s3rdmafs::client
