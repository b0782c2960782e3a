// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s3rdmafs/base/unique_fd.h"
#include "target/s3_error.h"
#include "target/store/metadata.h"
#include "target/store/part_places.h"

namespace s3rdmafs::target {

/// An object opened for reading: whatever is put over its key later, these are its bytes.
struct OpenObject {
  UniqueFd fd;  ///< a folder's for a key ending in "/"
  std::uint64_t size_bytes = 0;
  timespec modified{};
  Metadata metadata;
};

/// A file that is being written and not yet visible. Removed with this object unless published.
class StagedFile {
 public:
  /// Creates it in `folder` (borrowed; must outlive this).
  [[nodiscard]] static S3Result<StagedFile> create(int folder);
  /// The file `name` of `folder`, which is there already.
  [[nodiscard]] static StagedFile adopt(int folder, UniqueFd fd, std::string name);
  /// A part at its place in a file that others write to as well, which is neither removed nor
  /// published.
  [[nodiscard]] static S3Result<StagedFile> in_place(UniqueFd shared, PartPlace place);
  StagedFile(StagedFile&& other) noexcept;
  StagedFile& operator=(StagedFile&&) = delete;
  ~StagedFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Where in fd() its content begins. The file's position is there at first.
  [[nodiscard]] std::uint64_t offset_bytes() const { return place_ ? place_->offset_bytes() : 0; }
  [[nodiscard]] std::optional<PartPlace>& place() { return place_; }
  [[nodiscard]] S3Result<void> append(const void* data, std::size_t size);
  /// Moves it to `name` in `to`, at once and whole. Replaces what is there, unless
  /// `only_if_absent`. 0 or errno; the file may be published elsewhere after a failure.
  [[nodiscard]] int publish(int to, const std::string& name, bool only_if_absent);
  /// Leaves it where it is.
  void keep() { name_.clear(); }

 private:
  StagedFile(int folder, UniqueFd fd, std::string name)
      : folder_(folder), fd_(std::move(fd)), name_(std::move(name)) {}
  int folder_;
  UniqueFd fd_;
  std::string name_;  // empty once published, and in place
  std::optional<PartPlace> place_;
};

/// One bucket, that is one folder. Thread-safe: all its state is the file system's.
class Bucket {
 public:
  /// A DELETE may remove a parent between its making and the rename into it; each lost race means
  /// that another request succeeded, so a few tries are plenty.
  static constexpr int kRaceTries = 16;

  Bucket(std::string name, UniqueFd folder) : name_(std::move(name)), folder_(std::move(folder)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] int folder() const { return folder_.get(); }

  /// Errors: kNoSuchKey, also for a folder that was not put and for anything but a plain file.
  [[nodiscard]] S3Result<OpenObject> open_object(const std::string& key) const;

  /// Publishes `file` under `key`, with the parents it needs.
  /// Errors: kPreconditionFailed if `only_if_absent` and there is one; kKeyConflict.
  [[nodiscard]] S3Result<void> put(const std::string& key, StagedFile& file,
                                   bool only_if_absent) const;

  /// Makes or re-describes the folder of a key that ends in "/".
  [[nodiscard]] S3Result<void> put_folder(const std::string& key, Metadata& metadata) const;

  /// Gives an object that is there another key, at once, with the parents it needs, and removes the
  /// folders that are left with nothing. Replaces what `to` has, unless `only_if_absent`. Neither
  /// ends in "/". Errors: kNoSuchKey, kPreconditionFailed, kKeyConflict.
  [[nodiscard]] S3Result<void> rename(const std::string& from, const std::string& to,
                                      bool only_if_absent) const;

  /// Removes the object and the folders above that are left with neither content nor mark.
  /// No error if there is none.
  [[nodiscard]] S3Result<void> remove(const std::string& key) const;

 private:
  /// Opens (making what is missing) the folder of `path`, which is empty or ends in "/".
  [[nodiscard]] S3Result<UniqueFd> make_folders(const std::string& path) const;
  void remove_empty_parents(std::string path) const;

  std::string name_;
  UniqueFd folder_;
};

}  // namespace s3rdmafs::target
