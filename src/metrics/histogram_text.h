// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "s3rdmafs/metrics/histogram.h"

namespace s3rdmafs::metrics {

/// Appends the samples of one histogram: name_bucket with cumulative counts, name_sum in seconds
/// and name_count. Nothing if it is empty.
/// @param labels  as in Registry; may be empty
void add_histogram_text(std::string_view name, std::string_view labels,
                        const Histogram::Snapshot& histogram, std::string& text);

}  // namespace s3rdmafs::metrics
