// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fakes/fake_clock.h"
#include "fakes/fake_read_cache.h"
#include "fakes/s3/fake_object_store.h"
#include "reference_model.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/file_system.h"

namespace s3rdmafs::vfs {

/// One thing that happens to the bucket or the mount. Plain value.
struct Command {
  enum class Kind { kPut, kRemove, kLookup, kList, kOpen, kRead, kForget, kWait };
  static constexpr unsigned kNumberEnd = 64;  ///< numbers are below

  Kind kind;
  std::string key;      ///< of kLookup, kList and kOpen: a path, unless `number` picks a key
  unsigned number = 0;  ///< a size, a page size, which key, inode or handle, how long
};

/// Mistakes that a file system over this store would seem to have made, for controls.
enum class PlantedBug {
  kNone,
  kLookupMissesDirectories,  ///< probes see no directory, so files are not hidden
  kListingForgetsAKey,       ///< a page loses its last object
  kReadMixesVersions,        ///< gets take any version of the key
};

/// A FileSystem over a fake bucket, with the reference model beside it: runs commands on both and
/// compares after each. The clock moves on by a millisecond with each command.
class CheckedMount {
 public:
  explicit CheckedMount(std::chrono::milliseconds ttl, PlantedBug bug = PlantedBug::kNone);
  ~CheckedMount();
  CheckedMount(const CheckedMount&) = delete;
  CheckedMount& operator=(const CheckedMount&) = delete;

  /// From now on the server lists all keys below a prefix, which must make no difference.
  void ignore_delimiters() { store_.ignore_delimiters(); }

  /// Runs commands until one has an outcome the model does not allow. Returns what is wrong, or "".
  std::string run(const std::vector<Command>& commands);

 private:
  class BuggyStore;
  using Time = std::chrono::steady_clock::time_point;
  /// A directory or a version of a file, as the model knows it.
  struct Known {
    Ino ino = 0;  ///< 0 where a walk found nothing
    bool is_directory = false;
    std::string prefix;            ///< of a directory
    std::string key, etag, bytes;  ///< of a file
  };
  struct Opened {
    std::uint64_t handle;
    Known file;
  };

  std::string step(const Command& command);
  void change(const Command& command);
  /// Every other command that needs a path gets the one of a key that is there.
  [[nodiscard]] std::string path_of(const Command& command) const;
  std::string walk(const std::string& path, Known& found);
  std::string look_up(const std::string& name, Known& at);
  std::string list(const Command& command);
  /// Each name has to be in one of the states, and those that all have must be there.
  std::string listed_wrong(const std::map<std::string, Ino>& names, const std::string& prefix,
                           const std::vector<const ReferenceModel*>& states);
  std::string open(const Command& command);
  std::string open_file(const Known& file);
  std::string read(const Opened& opened);
  std::string forget_all();

  /// The node that a word of the model stands for.
  const Known& known(const std::string& identity);
  [[nodiscard]] const ReferenceModel& now() const { return states_.back().second; }
  /// The states that an answer no older than the ttl may show.
  [[nodiscard]] std::vector<const ReferenceModel*> believable() const;

  const std::chrono::milliseconds ttl_;
  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  std::unique_ptr<BuggyStore> buggy_store_;
  fakes::FakeReadCache cache_;
  std::shared_ptr<FileSystem> shared_fs_;
  FileSystem& fs_ = *shared_fs_;

  std::vector<std::pair<Time, ReferenceModel>> states_;  ///< each with when it began
  std::map<std::string, Known> known_;                   ///< by the model's word for it
  std::map<Ino, std::uint64_t> references_;
  std::vector<Known> files_seen_;  ///< those of which references are held
  std::vector<Opened> opened_;
};

}  // namespace s3rdmafs::vfs
