// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace s3rdmafs::fault {

/// A real s3rdma-target on a free port of 127.0.0.1, over a folder of its own with one bucket.
class TargetProcess {
 public:
  static constexpr const char* kBucket = "bucket";
  static constexpr const char* kAccessKey = "TESTACCESSKEY";
  static constexpr const char* kSecretKey = "testsecretkey0123456789";

  /// Accepts connections when this returns. Fails the test where it does not start.
  explicit TargetProcess(const std::vector<std::string>& options);
  ~TargetProcess();
  TargetProcess(const TargetProcess&) = delete;
  TargetProcess& operator=(const TargetProcess&) = delete;

  [[nodiscard]] std::string endpoint() const;
  [[nodiscard]] std::string shm_socket() const;

  /// The file of an object: the bytes that any other client would get.
  [[nodiscard]] std::filesystem::path object(const std::string& key) const;
  void put_object(const std::string& key, const std::string& bytes) const;

  /// The sum of a counter over all its labels, from the server's own numbers.
  [[nodiscard]] std::uint64_t counter(const std::string& name) const;

  /// Ends it. No transfer of its is under way any more when this returns.
  void stop();

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  std::string port_;
};

}  // namespace s3rdmafs::fault
