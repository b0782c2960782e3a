// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report.h"

#include <algorithm>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

bool blocks(Level level) { return level == Level::kFail || level == Level::kSkipped; }

// What is skipped for want of something names the fault itself, not what it led to.
std::string skip_reason(const Entry& need) {
  if (need.finding.level == Level::kSkipped) return need.finding.seen;
  return fmt::format("because \"{}\" failed", need.name);
}

std::string_view verdict_name(const Report& report) {
  switch (exit_status(report)) {
    case kExitPass:
      return "pass";
    case kExitDegraded:
      return "degraded";
    default:
      return "fail";
  }
}

// RFC 8259 section 7; bytes that are no ASCII pass as they are.
std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      result += c;
    }
  }
  return result + '"';
}

}  // namespace

Report run_checks(const Checks& checks, Context& context) {
  Report report;
  for (const auto& check : checks) {
    const auto need = std::ranges::find(report, check->needs(), &Entry::name);
    const bool is_blocked = need != report.end() && blocks(need->finding.level);
    report.push_back(
        {std::string(check->name()),
         is_blocked ? Finding{Level::kSkipped, skip_reason(*need), {}} : check->run(context)});
  }
  return report;
}

int exit_status(const Report& report) {
  const auto has = [&report](Level level) {
    return std::ranges::any_of(
        report, [level](const Entry& entry) { return entry.finding.level == level; });
  };
  if (has(Level::kFail)) return kExitFail;
  return has(Level::kDegraded) ? kExitDegraded : kExitPass;
}

std::string_view level_name(Level level) {
  switch (level) {
    case Level::kPass:
      return "pass";
    case Level::kNote:
      return "note";
    case Level::kDegraded:
      return "degraded";
    case Level::kFail:
      return "fail";
    case Level::kSkipped:
      break;
  }
  return "skipped";
}

std::string to_text(const Report& report) {
  std::string text;
  for (const auto& [name, finding] : report) {
    text += fmt::format("{:<9} {}: {}\n", level_name(finding.level), name, finding.seen);
    if (!finding.advice.empty()) text += fmt::format("{:<9}   -> {}\n", "", finding.advice);
  }
  return text + fmt::format("verdict: {}\n", verdict_name(report));
}

std::string to_json(const Report& report) {
  std::string checks;
  for (const auto& [name, finding] : report) {
    checks += fmt::format(R"({}{{"name":{},"level":"{}","seen":{},"advice":{}}})",
                          checks.empty() ? "" : ",", json_string(name), level_name(finding.level),
                          json_string(finding.seen), json_string(finding.advice));
  }
  return fmt::format(R"({{"verdict":"{}","exit_status":{},"checks":[{}]}})"
                     "\n",
                     verdict_name(report), exit_status(report), checks);
}

}  // namespace s3rdmafs::daemon::doctor
