// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "metrics/samples.h"
#include "s3rdmafs/base/error.h"

namespace s3rdmafs::daemon {

/// The numbers of a mount at one time, read from its Prometheus text. Names are without the
/// "s3rdmafs_" prefix. Plain value.
class Counters {
 public:
  /// Counters and gauges; histograms are left out. Errors: kProtocol.
  [[nodiscard]] static Result<Counters> parse(std::string_view text);

  /// Over all labels; 0 where there is none.
  [[nodiscard]] double sum(std::string_view name) const;
  /// Of those that have this label with this value.
  [[nodiscard]] double sum(std::string_view name, std::string_view label,
                           std::string_view value) const;
  /// By the values of a label.
  [[nodiscard]] std::map<std::string, double> by(std::string_view name,
                                                 std::string_view label) const;
  /// The same with the least in place of the sum.
  [[nodiscard]] std::map<std::string, double> least_by(std::string_view name,
                                                       std::string_view label) const;

 private:
  template <class Join>
  [[nodiscard]] std::map<std::string, double> joined_by(std::string_view name,
                                                        std::string_view label, Join join) const;

  std::multimap<std::string, metrics::Sample, std::less<>> numbers_;
};

}  // namespace s3rdmafs::daemon
