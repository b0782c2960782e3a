// SPDX-License-Identifier: Apache-2.0
#include "target/faults/fault.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <ranges>

#include <fmt/format.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::target {
namespace {

using Argument = FaultDescription::Argument;

// A late write without a time comes after a client that tries again at once has been served.
constexpr std::int64_t kLateMs = 200;
constexpr std::int64_t kDelayMs = 1000;
// Less than a page: every transfer worth a token is longer.
constexpr std::int64_t kTruncatedBytes = 1000;

constexpr std::array kDescriptions = std::to_array<FaultDescription>({
    {FaultKind::kDelayRequest, "delay-request", Argument::kDuration, kDelayMs},
    {FaultKind::kDelayTransfer, "delay-transfer", Argument::kDuration, kDelayMs},
    {FaultKind::kDelayAnswer, "delay-answer", Argument::kDuration, kDelayMs},
    {FaultKind::kCutBefore, "cut-before", Argument::kNone, 0},
    {FaultKind::kCutAfter, "cut-after", Argument::kNone, 0},
    {FaultKind::kLateWrite, "late-write", Argument::kDuration, kLateMs},
    {FaultKind::kDuplicateWrite, "duplicate-write", Argument::kDuration, kLateMs},
    {FaultKind::kDecline, "decline", Argument::kNone, 0},
    {FaultKind::kDeclineWithoutData, "decline-without-data", Argument::kNone, 0},
    {FaultKind::kError501, "error-501", Argument::kNone, 0},
    {FaultKind::kCorrupt, "corrupt", Argument::kNone, 0},
    {FaultKind::kTruncate, "truncate", Argument::kSize, kTruncatedBytes},
    {FaultKind::kWrongCount, "wrong-count", Argument::kDifference, -1},
    {FaultKind::kSuccessWithBody, "success-with-body", Argument::kNone, 0},
    {FaultKind::kNoReply, "no-reply", Argument::kNone, 0},
    {FaultKind::kZeroStore, "zero-store", Argument::kNone, 0},
    {FaultKind::kGarbageToken, "garbage-token", Argument::kNone, 0},
});
static_assert(kDescriptions.size() == kFaultKinds);

template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<std::int64_t> read_argument(const FaultDescription& kind, std::string_view text) {
  switch (kind.argument) {
    case Argument::kNone:
      return fail(ErrorCode::kInvalidArgument, fmt::format("{} takes no argument", kind.name));
    case Argument::kDuration: {
      const auto duration = parse_duration(text);
      if (!duration) return std::unexpected(duration.error());
      return duration->count();
    }
    case Argument::kSize: {
      const auto size = parse_size(text);
      if (!size) return std::unexpected(size.error());
      return static_cast<std::int64_t>(*size);
    }
    case Argument::kDifference:
      break;
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto difference = read_number<std::int64_t>(text);
  if (difference) return *difference;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("{} takes a number of bytes, for example {}:-1", kind.name, kind.name));
}

std::optional<FaultOperation> read_operation(std::string_view text) {
  if (text == "get") return FaultOperation::kGet;
  if (text == "put") return FaultOperation::kPut;
  if (text == "part") return FaultOperation::kPart;
  return std::nullopt;
}

bool read_count(std::string_view text, Fault& fault) {
  const bool is_every = text.starts_with('/');
  const bool is_onwards = text.ends_with('+');
  if (is_every) text.remove_prefix(1);
  if (is_onwards) text.remove_suffix(1);
  const auto number = read_number<std::uint64_t>(text);
  if (!number || *number == 0 || (is_every && is_onwards)) return false;
  fault.first = *number;
  fault.step = is_every ? *number : (is_onwards ? 1 : 0);
  return true;
}

std::string known_names() {
  return fmt::format(
      "{}", fmt::join(std::views::transform(kDescriptions, &FaultDescription::name), ", "));
}

}  // namespace

std::span<const FaultDescription> fault_descriptions() { return kDescriptions; }

std::string_view fault_name(FaultKind kind) {
  return std::ranges::find(kDescriptions, kind, &FaultDescription::kind)->name;
}

Result<Fault> parse_fault(std::string_view text) {
  const std::string_view what = text.substr(0, text.find('@'));
  std::string_view when = text.substr(what.size());
  const std::string_view name = what.substr(0, what.find(':'));
  const auto* kind = std::ranges::find(kDescriptions, name, &FaultDescription::name);
  if (kind == kDescriptions.end()) {
    return fail_with_advice(ErrorCode::kInvalidArgument,
                            fmt::format("there is no fault \"{}\"", name),
                            "choose one of " + known_names());
  }
  Fault fault{.kind = kind->kind, .argument = kind->standard, .operation = {}};
  if (name.size() < what.size()) {
    const auto argument = read_argument(*kind, what.substr(name.size() + 1));
    if (!argument) return std::unexpected(argument.error());
    fault.argument = *argument;
  }
  while (!when.empty()) {
    when.remove_prefix(1);
    const std::string_view item = when.substr(0, when.find('@'));
    when.remove_prefix(item.size());
    if (const auto operation = read_operation(item)) {
      fault.operation = operation;
    } else if (!read_count(item, fault)) {
      return fail_with_advice(ErrorCode::kInvalidArgument,
                              fmt::format("\"@{}\" selects no request", item),
                              "give @get, @put, @part, or @3 (the third only), @3+ (from the "
                              "third on), @/3 (every third)");
    }
  }
  return fault;
}

}  // namespace s3rdmafs::target
