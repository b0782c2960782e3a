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

/// What checks build on and leave behind for each other. Members go in reverse.
struct Context {
  std::string file;                             ///< the mount file; empty: the machine alone
  bool measures_long = false;                   ///< more sizes, and longer
  std::size_t test_bytes = TestMemory::kBytes;  ///< of the test object
  std::unique_ptr<Machine> machine = std::make_unique<Machine>();
  config::Environment environment = config::Environment::of_this_process();
  SystemClock clock;
  metrics::Registry metrics;

  std::optional<config::LoadedConfig> loaded;          ///< by "mount file"
  std::optional<s3::HttpResponse> answer;              ///< to an unsigned request, by "HTTP"
  std::unique_ptr<s3::StaticCredentials> credentials;  ///< by "credentials"
  std::optional<Error> listing_error;                  ///< of the signed request; by "credentials"
  std::unique_ptr<rdma::Fabric> fabric;                ///< by "RDMA fabric"
  std::unique_ptr<TestMemory> memory;                  ///< by "test object"
  std::unique_ptr<s3::HttpObjectStore> http;           ///< goes by HTTP alone; by "credentials"
  std::unique_ptr<s3::HttpObjectStore> rdma;           ///< by RDMA or not at all; "RDMA fabric"
  /// Read by the transfer checks; the bytes are what TestMemory::expected() holds.
  std::optional<s3::ObjectInfo> object;
  std::vector<Rail> rails;           ///< each by itself; by "RDMA rails"
  bool rdma_works = false;           ///< by "RDMA read"
  bool may_write = false;            ///< what we write can be written, and is to be tested
  std::vector<std::string> written;  ///< test objects, which must go again

  Context() = default;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  /// Removes the test objects, whatever failed.
  ~Context();

  [[nodiscard]] const config::MountConfig& config() const { return loaded->config; }
};

/// Where test objects are, behind bucket.prefix.
inline constexpr std::string_view kTestFolder = ".s3rdmafs-doctor";

/// How long one question to the server may take.
inline constexpr std::chrono::seconds kQuestionTimeout{10};

}  // namespace s3rdmafs::daemon::doctor
