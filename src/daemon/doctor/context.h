// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/environment.h"
#include "config/load.h"
#include "daemon/doctor/machine.h"
#include "daemon/doctor/probes/rail.h"
#include "daemon/doctor/test_memory.h"
#include "rdma/fabric.h"
#include "s3/http_object_store.h"
#include "s3/wire/credentials.h"
#include "s3/wire/http_message.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::daemon::doctor {

/// The state that checks share: settings, and the results that later checks build on. Members are
/// destroyed in reverse. Used by one thread.
struct Context {
  std::string file;  ///< the mount file; empty: check the machine alone
  /// The settings of one of several buckets, which the checks are about; null: those of the file.
  std::shared_ptr<const config::MountConfig> bucket;
  bool measures_long = false;                   ///< more sizes, for longer (--measure)
  std::size_t test_bytes = TestMemory::kBytes;  ///< of the test object
  std::shared_ptr<Machine> machine = std::make_shared<Machine>();
  config::Environment environment = config::Environment::of_this_process();
  SystemClock clock;
  metrics::Registry metrics;

  std::optional<config::LoadedConfig> loaded;         ///< by "mount file"
  std::optional<s3::HttpResponse> answer;             ///< to an unsigned request, by "HTTP"
  std::unique_ptr<s3::CredentialSource> credentials;  ///< by "credentials"
  std::optional<Error> listing_error;                 ///< of the signed request; by "credentials"
  std::unique_ptr<rdma::Fabric> fabric;               ///< by "RDMA fabric"
  std::unique_ptr<TestMemory> memory;                 ///< by "test object"
  std::unique_ptr<s3::HttpObjectStore> http;          ///< goes by HTTP alone; by "credentials"
  std::unique_ptr<s3::HttpObjectStore> rdma;          ///< by RDMA or not at all; "RDMA fabric"
  /// The object that the transfer checks read; TestMemory::expected() has its first bytes.
  std::optional<s3::ObjectInfo> object;
  std::vector<Rail> rails;           ///< each with a fabric of its own; by "RDMA rails"
  bool rdma_works = false;           ///< by "RDMA read"
  bool may_write = false;            ///< whether writing is allowed, and to be tested
  std::vector<std::string> written;  ///< keys of the test objects to remove
  std::vector<std::string> secrets;  ///< those of buckets that were checked before

  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  /// Removes the test objects, whichever check failed, and shuts everything down.
  ~Context();

  /// The settings that the checks are about.
  [[nodiscard]] const config::MountConfig& config() const {
    return bucket ? *bucket : loaded->config;
  }
};

/// The directory of test objects, below bucket.prefix.
inline constexpr std::string_view kTestFolder = ".s3rdmafs-doctor";

/// The bound on one request to the server.
inline constexpr std::chrono::seconds kQuestionTimeout{10};

}  // namespace s3rdmafs::daemon::doctor
