// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "s3rdmafs/base/error.h"
#include "target/rdma/rc/rc_link.h"
#include "target/rdma/staging_pool.h"

namespace s3rdmafs::target {

/// An RDMA device opened for the server side of the rc dialect, with the memory that transfers pass
/// through. Thread-safe. Outlives the links it made.
class RcDevice {
 public:
  struct Choice {
    std::string name;                       ///< empty: the device that has `address`
    std::optional<std::uint8_t> gid_index;  ///< the best one if not given
    std::string address;                    ///< "10.0.0.1:9000", where HTTP listens
  };

  /// Errors: kNotFound (no such device, or none with that address), kNoMemory (locked-memory
  /// limit), kSystem.
  [[nodiscard]] static Result<std::unique_ptr<RcDevice>> open(const Choice& choice);

  virtual ~RcDevice() = default;
  [[nodiscard]] virtual RcConnector& connector() = 0;
  [[nodiscard]] virtual StagingPool& staging() = 0;
};

}  // namespace s3rdmafs::target
