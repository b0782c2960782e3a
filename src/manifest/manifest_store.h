// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "manifest/manifest.h"
#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/cooldown.h"
#include "s3rdmafs/base/worker_thread.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::manifest {

/// A bucket whose names, sizes and versions are those of a manifest, and whose bytes come from
/// another store: no LIST and no HEAD is sent. Answers to head() and list() are S3's, in its order;
/// continuation tokens are its own. Answers run on its thread. Thread-safe.
///
/// A get() of an object that has another version by now fails with kConfig, never kStale: the
/// manifest is what has to change. Further errors of head() and list(): kCorrupt and kSystem, of
/// the manifest itself. Their deadline counts until the answer is looked for; a disk that hangs can
/// delay it further. Errors that only this store knows are logged, at most one a second.
class ManifestStore final : public s3::ObjectStore {
 public:
  /// Borrows all but the manifest.
  ManifestStore(std::unique_ptr<Manifest> manifest, s3::ObjectStore& bytes, const Clock& clock,
                metrics::Registry& metrics);

  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override;
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override;
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override;
  /// Also shuts the store of the bytes down.
  void shut_down() override;

 private:
  template <class T>
  void answer(std::move_only_function<Result<T>()> find, Deadline deadline, Done<T> done);
  Result<s3::ObjectInfo> find(const std::string& key);
  Result<s3::ListPage> find_page(const s3::ListRequest& request);
  [[nodiscard]] Error changed(const std::string& key, const std::string& etag);
  void log(const Error& error);

  const std::string name_;                    ///< of the manifest
  const std::unique_ptr<Manifest> manifest_;  ///< of the thread alone
  s3::ObjectStore& bytes_;
  const Clock& clock_;
  metrics::Counter& heads_;
  metrics::Counter& lists_;
  metrics::Counter& changed_;
  Cooldown log_pause_;  ///< between two lines
  std::atomic<std::uint64_t> unlogged_ = 0;
  WorkerThread thread_;  // last: ends before what its jobs use
};

}  // namespace s3rdmafs::manifest
