// SPDX-License-Identifier: Apache-2.0
#include "s3rdmafs/base/units.h"

#include <charconv>
#include <limits>

namespace s3rdmafs {
namespace {

struct Unit {
  std::string_view suffix;
  std::uint64_t bytes;
};

// Largest first, so that format_size finds the shortest spelling first.
constexpr Unit kUnits[] = {{"TiB", kTiB}, {"GiB", kGiB}, {"MiB", kMiB}, {"KiB", kKiB}, {"B", 1}};

struct DurationUnit {
  std::string_view suffix;
  std::int64_t milliseconds;
};

constexpr DurationUnit kDurationUnits[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}};

std::unexpected<Error> not_a_size(std::string_view text) {
  return fail(ErrorCode::kInvalidArgument,
              "'" + std::string(text) +
                  "' is not a size; write it like \"64KiB\", \"8MiB\", \"1GiB\" "
                  "or as a plain number of bytes");
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return not_a_size(text);

  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  if (suffix.empty()) return number;
  for (const Unit& unit : kUnits) {
    if (suffix != unit.suffix) continue;
    if (number > std::numeric_limits<std::uint64_t>::max() / unit.bytes) return not_a_size(text);
    return number * unit.bytes;
  }
  return not_a_size(text);
}

std::string format_size(std::uint64_t bytes) {
  for (const Unit& unit : kUnits) {
    if (bytes == 0 || unit.bytes == 1 || bytes % unit.bytes != 0) continue;
    return std::to_string(bytes / unit.bytes) + std::string(unit.suffix);
  }
  return std::to_string(bytes);
}

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  constexpr std::int64_t kLongestMs = std::int64_t{10} * 365 * 24 * 3'600'000;  // ten years: typos
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!suffix.empty() && suffix.front() == ' ') suffix.remove_prefix(1);
  for (const DurationUnit& unit : kDurationUnits) {
    if (error != std::errc{} || suffix != unit.suffix) continue;
    if (number < 0 || number > kLongestMs / unit.milliseconds) break;
    return std::chrono::milliseconds(number * unit.milliseconds);
  }
  return fail(ErrorCode::kInvalidArgument, "'" + std::string(text) +
                                               "' is not a duration; write it like \"200ms\", "
                                               "\"30s\", \"5m\" or \"1h\"");
}

std::string format_duration(std::chrono::milliseconds duration) {
  for (const DurationUnit& unit : kDurationUnits) {
    if (duration.count() == 0 || duration.count() % unit.milliseconds != 0) continue;
    return std::to_string(duration.count() / unit.milliseconds) + std::string(unit.suffix);
  }
  return "0s";
}

}  // namespace s3rdmafs
