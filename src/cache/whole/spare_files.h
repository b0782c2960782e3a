// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cache/whole/object_file.h"
#include "cache/whole/object_table.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/worker_thread.h"

namespace s3rdmafs::cache {

/// Makes files ahead of the opens that need them. Thread-safe.
class SpareFiles {
 public:
  /// A file of this capacity, without pages. Called on the thread.
  using MakeFile = std::function<Result<std::unique_ptr<ObjectFile>>(std::uint64_t)>;

  /// Borrows the table and the thread, which makes the files.
  /// @param bytes_max  of empty files, in bytes
  SpareFiles(ObjectTable& table, WorkerThread& thread, MakeFile make_file, std::uint64_t bytes_max)
      : table_(table), thread_(thread), make_file_(std::move(make_file)), bytes_max_(bytes_max) {}

  /// An object has needed a file of this capacity: the next ones are expected to.
  void want(std::uint64_t capacity_bytes);

 private:
  struct Spare {
    ObjectPool::FileId id = 0;
    std::uint64_t capacity_bytes = 0;
  };

  void make_one();
  [[nodiscard]] std::optional<Spare> reserve();
  [[nodiscard]] Result<std::unique_ptr<ObjectFile>> make_with_pages(std::uint64_t capacity_bytes);
  void add(const Spare& spare, std::unique_ptr<ObjectFile> file);
  void give_up(const Spare& spare);
  void ask_again();

  ObjectTable& table_;
  WorkerThread& thread_;
  const MakeFile make_file_;
  const std::uint64_t bytes_max_;

  std::uint64_t capacity_bytes_ GUARDED_BY(table_.mutex) = 0;  // of the file that was needed last
  bool is_making_ GUARDED_BY(table_.mutex) = false;
};

}  // namespace s3rdmafs::cache
