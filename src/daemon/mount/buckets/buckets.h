// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "config/environment.h"
#include "config/mount_config.h"
#include "daemon/mount/mounted_bucket.h"
#include "manifest/manifest_store.h"
#include "rdma/fabric.h"
#include "s3/http_object_store.h"
#include "s3/joined/directory_store.h"
#include "s3/joined/joined_store.h"
#include "s3/upload_log.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon {

/// The stores of a mount: of its one bucket, or of those of its [[bucket]] tables, which are joined
/// to one (s3/joined/joined_store.h). Thread-safe once it is open.
class Buckets {
 public:
  /// Builds every store; sends nothing. Borrows all but the plan.
  /// Errors: keys that cannot be had; a manifest that cannot be read or is of another bucket.
  [[nodiscard]] static Result<std::unique_ptr<Buckets>> open(const MountPlan& plan,
                                                             rdma::Fabric& fabric,
                                                             const Clock& clock,
                                                             metrics::Registry& metrics);

  /// One bucket and what the mount shows of it.
  struct One {
    std::string directory = {};  ///< below the mount point: empty, or ends in "/"
    config::MountConfig config;
    /// The numbers of this bucket, by the label `bucket`; null where it is the mount's only one.
    std::unique_ptr<metrics::Registry> numbers = {};
    std::unique_ptr<s3::CredentialSource> credentials = {};
    std::unique_ptr<s3::HttpObjectStore> store = {};
    std::unique_ptr<manifest::ManifestStore> names = {};  ///< null without metadata.manifest
    std::unique_ptr<s3::UploadLog> upload_log = {};       ///< null where `store` has the mount's

    /// The bucket as the mount shows it.
    [[nodiscard]] s3::ObjectStore& shown() const {
      if (names) return *names;
      return *store;
    }
    [[nodiscard]] bool is_writable() const { return config.write.mode != config::WriteMode::kOff; }
    [[nodiscard]] bool is_staged() const { return config.write.mode == config::WriteMode::kStaged; }
  };

  [[nodiscard]] const std::vector<One>& all() const { return all_; }
  [[nodiscard]] bool are_directories() const { return joined_ != nullptr; }
  [[nodiscard]] bool any_writable() const;
  [[nodiscard]] bool any_staged() const;

  /// Everything that the mount shows, by keys that its file systems, caches and journals use.
  [[nodiscard]] s3::ObjectStore& shown();
  [[nodiscard]] s3::ObjectWriter& writer();
  /// The same with names from the servers, never from a manifest: for the end of old renames.
  [[nodiscard]] s3::ObjectStore& stored();
  /// The prefix that a file system of this bucket has among those keys.
  [[nodiscard]] static std::string prefix_of(const One& one);
  /// The root of a mount of directories.
  [[nodiscard]] s3::ObjectStore& root() { return *root_; }

  /// Asks each server, all at once, whether its bucket answers; with a manifest none is asked.
  /// Blocks until the deadline of retry.deadline. Errors: the first bucket's that does not.
  [[nodiscard]] Result<void> check_answers(const Clock& clock);
  /// Before the first operation that writes. Borrows the log.
  void set_upload_log(s3::UploadLog& log);
  /// Names the buckets: a folder or a file that is of them alone has this in its name.
  [[nodiscard]] std::string identity() const;

 private:
  Buckets() = default;
  void join();

  std::vector<One> all_;
  std::unique_ptr<s3::JoinedStore> joined_;  // null for one bucket
  std::unique_ptr<s3::JoinedStore> joined_stored_;
  std::unique_ptr<s3::DirectoryStore> root_;
};

/// The settings of each bucket, with the name of its directory: of one bucket the mount's own, and
/// no name.
[[nodiscard]] std::vector<std::pair<std::string, config::MountConfig>> settings_of_buckets(
    const config::MountConfig& config);

/// Chooses the keys of each bucket, for the plan. Returns warnings, one line each.
/// Errors: those of config::choose_credentials.
[[nodiscard]] Result<std::vector<std::string>> choose_keys(const config::Environment& environment,
                                                           MountPlan& plan);

/// The settings with RDMA off, also those of each table.
[[nodiscard]] config::MountConfig without_rdma(config::MountConfig config);

/// The mount's settings with the servers of all its buckets as its endpoints: what its fabric has
/// to reach. Unchanged for one bucket.
[[nodiscard]] config::MountConfig with_all_endpoints(const config::MountConfig& config);

}  // namespace s3rdmafs::daemon
