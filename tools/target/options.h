// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "s3rdmafs/base/error.h"
#include "target/auth/keys.h"
#include "target/auth/terms.h"
#include "target/behaviour/behaviour.h"
#include "target/digest/etag.h"
#include "target/faults/fault.h"
#include "target/rdma/shm/shm_service.h"
#include "target/rdma/shm/shm_users.h"

namespace s3rdmafs::target {

/// The checked command line.
struct Options {
  std::string root;
  std::string listen = "127.0.0.1:9000";
  Keys keys;
  bool anonymous_read = false;
  BucketTerms terms;
  EtagKind etags = EtagKind::kMd5;
  std::string domain;
  std::string region;
  std::string log_level = "info";
  std::string port_file;            ///< empty: none
  std::string shm_socket = "auto";  ///< a socket's name, "auto" or "off"
  ShmUsers shm_users;
  std::string rc_device = "auto";            ///< a device's name, "auto" or "off"
  Dma dma = Dma::kCopy;                      ///< of the shm fabric
  std::optional<std::uint8_t> rc_gid_index;  ///< the best one if not given
  Behaviour behaviour;
  std::vector<Fault> faults;
  bool has_fault_control = false;
  std::chrono::milliseconds delay{};  ///< before each answer
};

/// Serve with `options`, or end with `exit_code` because help or an error was printed.
struct ParsedOptions {
  Options options;
  bool serve = false;
  int exit_code = 0;
};
[[nodiscard]] ParsedOptions parse_options(int argc, char** argv);

}  // namespace s3rdmafs::target
