// SPDX-License-Identifier: Apache-2.0
#include "metrics/samples.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::metrics {
namespace {

/// One sample line: name{label="value",...} number
struct Line {
  std::string_view name;
  Labels labels;
  double number = 0;
};

// Takes `label="value"` from the front, and the comma after it. A backslash protects a character;
// "\n" is a line break.
bool take_label(std::string_view& rest, Labels& labels) {
  const std::size_t equals = rest.find("=\"");
  if (equals == std::string_view::npos) return false;
  std::string value;
  std::size_t at = equals + 2;
  for (; at < rest.size() && rest[at] != '"'; ++at) {
    const bool is_protected = rest[at] == '\\' && at + 1 < rest.size();
    if (is_protected) ++at;
    value += is_protected && rest[at] == 'n' ? '\n' : rest[at];
  }
  if (at >= rest.size()) return false;
  labels.emplace_back(rest.substr(0, equals), std::move(value));
  rest.remove_prefix(at + 1);
  if (rest.starts_with(',')) rest.remove_prefix(1);
  return true;
}

std::optional<double> number_of(std::string_view text) {
  if (text == "+Inf") return std::numeric_limits<double>::infinity();
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

std::optional<Line> parse_line(std::string_view text) {
  Line line;
  const std::size_t name_end = text.find_first_of("{ ");
  if (name_end == std::string_view::npos) return {};
  line.name = text.substr(0, name_end);
  std::string_view rest = text.substr(name_end);
  if (rest.starts_with('{')) {
    rest.remove_prefix(1);
    while (!rest.starts_with('}')) {
      if (!take_label(rest, line.labels)) return {};
    }
    rest.remove_prefix(1);
  }
  if (!rest.starts_with(' ')) return {};
  const auto number = number_of(rest.substr(1));
  if (!number) return {};
  line.number = *number;
  return line;
}

/// The samples so far, and what the last HELP and TYPE said.
class Reader {
 public:
  bool take(std::string_view line) {
    if (line.starts_with("# HELP ")) {
      help_ = after_name(line.substr(7));
      return true;
    }
    if (line.starts_with("# TYPE ")) {
      name_ = line.substr(7, line.find(' ', 7) - 7);
      type_ = after_name(line.substr(7));
      return true;
    }
    auto parsed = parse_line(line);
    if (!parsed || !parsed->name.starts_with(name_)) return false;
    if (type_ == "histogram") return take_of_histogram(std::move(*parsed));
    Sample& sample = add(std::move(parsed->labels));
    sample.value = parsed->number;
    return true;
  }
  [[nodiscard]] std::vector<Sample> samples() && { return std::move(samples_); }

 private:
  static std::string_view after_name(std::string_view text) {
    const std::size_t space = text.find(' ');
    return space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }

  Sample& add(Labels labels) {
    return samples_.emplace_back(Sample{.name = std::string(name_),
                                        .type = std::string(type_),
                                        .help = std::string(help_),
                                        .labels = std::move(labels)});
  }

  bool take_of_histogram(Line line) {
    const std::string_view part = line.name.substr(name_.size());
    double border = 0;
    if (part == "_bucket") {
      if (line.labels.empty() || line.labels.back().first != "le") return false;
      const auto number = number_of(line.labels.back().second);
      if (!number) return false;
      border = *number;
      line.labels.pop_back();
    }
    const bool continues =
        !samples_.empty() && samples_.back().name == name_ && samples_.back().labels == line.labels;
    Sample& sample = continues ? samples_.back() : add(std::move(line.labels));
    const auto count = static_cast<std::uint64_t>(line.number);
    if (part == "_bucket") {
      sample.buckets.push_back({.border_s = border, .count = count});
    } else if (part == "_sum") {
      sample.sum_s = line.number;
    } else if (part == "_count") {
      sample.count = count;
    } else {
      return false;
    }
    return true;
  }

  std::string_view name_, type_, help_;
  std::vector<Sample> samples_;
};

}  // namespace

Result<std::vector<Sample>> parse_prometheus_text(std::string_view text) {
  Reader reader;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && !reader.take(line)) {
      return fail(ErrorCode::kProtocol,
                  fmt::format("the daemon's numbers have the line '{}'", line));
    }
  }
  return std::move(reader).samples();
}

std::optional<double> percentile(const Sample& histogram, double share) {
  if (histogram.count == 0) return {};
  const double wanted = std::max(1.0, std::ceil(share * static_cast<double>(histogram.count)));
  double below = 0;
  for (const Bucket& bucket : histogram.buckets) {
    if (static_cast<double>(bucket.count) >= wanted) {
      return std::isinf(bucket.border_s) ? below : (below + bucket.border_s) / 2;
    }
    below = bucket.border_s;
  }
  return below;
}

std::optional<double> highest_border(const Sample& histogram) {
  const auto is_last = [&](const Bucket& bucket) { return bucket.count >= histogram.count; };
  const auto found = std::ranges::find_if(histogram.buckets, is_last);
  if (histogram.count == 0 || found == histogram.buckets.end() || std::isinf(found->border_s)) {
    return {};
  }
  return found->border_s;
}

}  // namespace s3rdmafs::metrics
