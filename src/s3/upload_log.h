// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace s3rdmafs::s3 {

/// Where a store notes the uploads that it begins by itself, for large copies and for probes: no
/// caller knows their ids. After a crash they are aborted by these notes. Called on event threads;
/// must not wait. Thread-safe.
class UploadLog {
 public:
  virtual ~UploadLog() = default;
  /// Before the first part is sent.
  virtual void begun(const std::string& key, const std::string& upload_id) = 0;
  /// It was completed or aborted.
  virtual void ended(const std::string& upload_id) = 0;
};

}  // namespace s3rdmafs::s3
