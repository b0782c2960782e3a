// SPDX-License-Identifier: Apache-2.0
// A server that is down makes each of a thousand requests log the same line with another key. The
// lines themselves carry no name of their kind, so it is made of the text.
#include "base/repeat_limiter.h"

#include <iterator>

namespace s3rdmafs {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The apostrophe of "server's" begins nothing.
bool begins_quotation(std::string_view line, std::size_t at) {
  const bool is_mark = line[at] == '\'' || line[at] == '"';
  return is_mark && (at == 0 || line[at - 1] == ' ' || line[at - 1] == '(' || line[at - 1] == '=');
}

std::string kind_of(std::string_view line) {
  std::string kind;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (is_digit(line[i])) {
      if (!kind.ends_with('0')) kind += '0';
      continue;
    }
    kind += line[i];
    if (!begins_quotation(line, i)) continue;
    const std::size_t end = line.find(line[i], i + 1);
    if (end != std::string_view::npos) i = end;
  }
  return kind;
}

}  // namespace

// A clock that was set back ends a window too.
bool RepeatLimiter::is_over(const Kind& kind, Time now) {
  return now - kind.window_begin >= kWindow || now < kind.window_begin;
}

bool RepeatLimiter::may_pass(std::string_view line, Time now) {
  std::string name = kind_of(line);
  auto found = kinds_.find(name);
  if (found == kinds_.end()) {
    if (kinds_.size() >= kKindsMax) {
      std::erase_if(kinds_, [&](const auto& kind) {
        return is_over(kind.second, now) && kind.second.dropped.count == 0;
      });
    }
    if (kinds_.size() >= kKindsMax) return true;
    found = kinds_.emplace(std::move(name), Kind{.window_begin = now}).first;
  }
  Kind& kind = found->second;
  if (is_over(kind, now)) {
    kind.window_begin = now;
    kind.passed = 0;
  }
  if (kind.passed < kLinesMax) {
    ++kind.passed;
    if (kind.passed == kLinesMax) kind.dropped.example = line;
    return true;
  }
  ++kind.dropped.count;
  return false;
}

std::vector<RepeatLimiter::Dropped> RepeatLimiter::take_dropped(Time now) {
  std::vector<Dropped> taken;
  for (auto& [name, kind] : kinds_) {
    if (kind.dropped.count == 0 || !is_over(kind, now)) continue;
    taken.push_back(kind.dropped);
    kind.dropped.count = 0;
  }
  return taken;
}

}  // namespace s3rdmafs
