// SPDX-License-Identifier: Apache-2.0
// A mount is judged by the numbers that it counts anyway. Each cause (causes.h) looks for its own
// sign and says nothing where it is not there, so a fast mount gets an empty list.
#include "daemon/explain/explanation.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

bool has_moved(const TopModel& rates) {
  return rates.programs().read + rates.programs().written + rates.rdma.read + rates.http.read > 0 ||
         !rates.requests.empty() || !rates.opens.empty();
}

std::string summary_of(const Look& look) {
  const double by_rdma = look.rates.rdma.read + look.rates.rdma.written;
  const double moved = look.from_servers() + look.to_servers();
  return fmt::format(
      "{}: read {}, from servers {}; written {}, to servers {}; by RDMA {}",
      look.is_since_mount ? "nothing moved while looking; since the mount"
                          : fmt::format("in {:.0f} s", look.time.count()),
      format_rate(look.rates.programs().read), format_rate(look.from_servers()),
      format_rate(look.rates.programs().written), format_rate(look.to_servers()),
      moved == 0 ? std::string("-") : fmt::format("{:.1f} %", 100 * by_rdma / moved));
}

std::string_view meaning_of(std::string_view way) {
  if (way == "kernel") return "the kernel reads it by itself (passthrough), at the speed of memory";
  if (way == "memory") return "the program reads the mount's memory (past FUSE)";
  if (way == "direct") return "each read asks the daemon, past the page cache (direct)";
  return "the page cache asks the daemon for what it lacks (cached)";
}

std::vector<std::string> about_file(const Look& look, const std::string& path) {
  std::vector<std::string> lines;
  for (const TopModel::File& file : look.rates.files) {
    if (file.path != path) continue;
    const bool is_seen = file.way != "kernel";
    lines.push_back(fmt::format("{}: open by {}; {}{}", path, file.process, meaning_of(file.way),
                                is_seen
                                    ? fmt::format("; read at {}, written at {}",
                                                  format_rate(file.read), format_rate(file.written))
                                    : ""));
  }
  if (lines.empty()) {
    lines.push_back(path + ": no program has it open; look while it is read or written");
  }
  return lines;
}

}  // namespace

Look look_between(const TopSample& before, const TopSample& now) {
  Look look{.rates = compare(before, now), .time = now.at - before.at};
  if (has_moved(look.rates)) return look;
  const TopSample mounted{.at = now.at - now.activity.age, .counters = {}, .activity = {}};
  return {.rates = compare(mounted, now), .is_since_mount = true, .time = now.activity.age};
}

Explanation explain(const Look& look, const std::string& path) {
  Explanation explanation{.summary = summary_of(look), .file = {}, .causes = {}};
  if (!path.empty()) explanation.file = about_file(look, path);
  for (const Cause& cause : all_causes()) {
    if (auto found = cause.find(look)) {
      explanation.causes.push_back({std::string(cause.name), *std::move(found)});
    }
  }
  return explanation;
}

std::string to_text(const Explanation& explanation) {
  std::string text = explanation.summary + "\n";
  for (const std::string& line : explanation.file) text += line + "\n";
  if (explanation.causes.empty()) text += "nothing was found that slows it down\n";
  for (std::size_t i = 0; i < explanation.causes.size(); ++i) {
    const Finding& finding = explanation.causes[i].finding;
    text += fmt::format("\n{}. {}\n   {}\n   -> {}\n", i + 1, finding.cause, finding.evidence,
                        finding.advice);
  }
  return text;
}

std::string to_json(const Explanation& explanation) {
  using Json = nlohmann::json;
  Json causes = Json::array();
  for (const auto& [name, finding] : explanation.causes) {
    causes.push_back({{"name", name},
                      {"cause", finding.cause},
                      {"evidence", finding.evidence},
                      {"advice", finding.advice}});
  }
  const Json json = {
      {"summary", explanation.summary}, {"file", explanation.file}, {"causes", std::move(causes)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace s3rdmafs::daemon
