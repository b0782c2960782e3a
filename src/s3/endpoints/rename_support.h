// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace s3rdmafs::s3 {

/// Whether one endpoint has RenameObject. Few servers do, and one that ignores the query takes the
/// request for a PUT of an empty object, so nothing is renamed before a probe has found out. Valid
/// for as long as the mount lives. Thread-safe.
class RenameSupport {
 public:
  [[nodiscard]] bool works() const { return state_ == State::kWorks; }
  [[nodiscard]] bool lacks() const { return state_ == State::kLacks; }

  /// True for one caller, which probes and tells the finding by one of the functions below. Others
  /// do not wait for it: they copy.
  [[nodiscard]] bool begin_probe() {
    State unknown = State::kUnknown;
    return state_.compare_exchange_strong(unknown, State::kProbing);
  }
  void on_works() { state_ = State::kWorks; }
  void on_lacks() { state_ = State::kLacks; }
  void on_probe_lost() { state_ = State::kUnknown; }  ///< no finding: another may probe

 private:
  enum class State { kUnknown, kProbing, kWorks, kLacks };

  std::atomic<State> state_ = State::kUnknown;
};

}  // namespace s3rdmafs::s3
