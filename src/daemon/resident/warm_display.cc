// SPDX-License-Identifier: Apache-2.0
#include "daemon/resident/warm_display.h"

#include <charconv>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

// Often enough for a log, rare enough to keep it short.
constexpr std::chrono::seconds kLineInterval{5};

std::string_view take_word(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

std::uint64_t take_number(std::string_view& text) {
  const std::string_view word = take_word(text);
  std::uint64_t number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

// For people: one decimal and the unit.
std::string rounded(std::uint64_t bytes) {
  constexpr std::pair<std::uint64_t, const char*> kUnits[] = {
      {kTiB, "TiB"}, {kGiB, "GiB"}, {kMiB, "MiB"}, {kKiB, "KiB"}};
  for (const auto& [unit, name] : kUnits) {
    if (bytes >= unit) {
      return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(unit), name);
    }
  }
  return fmt::format("{} bytes", bytes);
}

double seconds_between(std::chrono::steady_clock::time_point from,
                       std::chrono::steady_clock::time_point to) {
  constexpr double kLeast = 1e-3;  // nothing to divide by
  return std::max(kLeast, std::chrono::duration<double>(to - from).count());
}

// In powers of ten, as networks and devices are rated.
std::string rate(std::uint64_t bytes, double seconds) {
  return fmt::format("{:.2f} GB/s", static_cast<double>(bytes) / 1e9 / seconds);
}

std::string count(std::uint64_t objects) {
  return fmt::format("{} object{}", objects, objects == 1 ? "" : "s");
}

}  // namespace

WarmDisplay::WarmDisplay(std::FILE* out, bool is_terminal,
                         std::chrono::steady_clock::time_point begin, std::string_view where)
    : out_(out),
      is_terminal_(is_terminal),
      where_(where),
      begin_(begin),
      next_line_(begin + kLineInterval),
      last_at_(begin) {}

void WarmDisplay::next_answer() {
  ended_objects_ = objects_;
  ended_bytes_ = bytes_;
  has_ended_ = false;
}

void WarmDisplay::take(std::string_view line, std::chrono::steady_clock::time_point now) {
  const std::string_view word = take_word(line);
  if (word == "found") {
    is_warm_ = true;
    objects_ += take_number(line);
    bytes_ += take_number(line);
  } else if (word == "progress") {
    const std::uint64_t objects = take_number(line);
    show_progress(ended_objects_ + objects, ended_bytes_ + take_number(line), now);
  } else if (word == "problem") {
    complain(line);
  } else if (word == "error") {
    complain(line);
    was_refused_ = has_ended_ = true;
  } else if (word == "fetched") {
    fetched_ += take_number(line);
    fetched_bytes_ += take_number(line);
  } else if (word == "were_there") {
    were_there_ += take_number(line);
    were_there_bytes_ += take_number(line);
  } else if (word == "no_room") {
    no_room_ += take_number(line);
    no_room_bytes_ += take_number(line);
    room_bytes_ = take_number(line);
  } else if (word == "failed") {
    failed_ += take_number(line);
  } else if (word == "released") {
    const std::uint64_t objects = take_number(line);
    fmt::print(out_, "released {}, {}\n", count(objects), rounded(take_number(line)));
  } else if (word == "end") {
    has_ended_ = true;
  }
}

void WarmDisplay::finish(std::chrono::steady_clock::time_point now) {
  if (no_room_ > 0) {
    complain(
        fmt::format("no room for {} of {}: whole objects may take {} in all; raise "
                    "cache.resident_size, and cache.size with it",
                    count(no_room_), rounded(no_room_bytes_), format_size(room_bytes_)));
  }
  if (failed_ > 0) complain(fmt::format("{} failed", failed_));
  if (is_warm_ && has_ended_) show_result(now);
}

void WarmDisplay::show_progress(std::uint64_t objects, std::uint64_t bytes,
                                std::chrono::steady_clock::time_point now) {
  if (!is_terminal_ && now < next_line_) return;
  next_line_ = now + kLineInterval;
  clear_line();
  const std::uint64_t more = bytes - std::min(bytes, last_bytes_);
  fmt::print(out_, "{}/{} objects, {} of {}, {}{}", objects, objects_, rounded(bytes),
             rounded(bytes_), rate(more, seconds_between(last_at_, now)), is_terminal_ ? "" : "\n");
  std::fflush(out_);
  has_line_ = is_terminal_;
  last_bytes_ = bytes;
  last_at_ = now;
}

void WarmDisplay::show_result(std::chrono::steady_clock::time_point now) {
  clear_line();
  const double seconds = seconds_between(begin_, now);
  std::string fetched;
  if (fetched_ > 0) {
    fetched = fmt::format("; fetched {}, {} in {:.1f} s, {}", fetched_, rounded(fetched_bytes_),
                          seconds, rate(fetched_bytes_, seconds));
  }
  const std::string there = were_there_ > 0 ? fmt::format("; {} already were", were_there_) : "";
  fmt::print(out_, "{} {}, {}{}{}\n", count(fetched_ + were_there_), where_,
             rounded(fetched_bytes_ + were_there_bytes_), there, fetched);
}

void WarmDisplay::complain(std::string_view text) {
  clear_line();
  has_problem_ = true;
  std::fflush(out_);
  fmt::print(stderr, "s3rdmafs: {}\n", printable(text));
}

void WarmDisplay::clear_line() {
  if (has_line_) fmt::print(out_, "\r\x1b[K");
  has_line_ = false;
}

}  // namespace s3rdmafs::daemon
