// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/report.h"

#include <algorithm>

#include "daemon/doctor/context.h"
#include "daemon/doctor/report/json.h"
#include "s3rdmafs/base/enum_names.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::daemon::doctor {
namespace {

bool blocks(Level level) { return level == Level::kFail || level == Level::kSkipped; }

// A skipped check names the check that failed, not one that was skipped in between.
std::string skip_reason(const Entry& need) {
  if (need.finding.level == Level::kSkipped) return need.finding.seen;
  return fmt::format("because \"{}\" failed", need.name);
}

constexpr EnumNames<Level::kSkipped> kLevelNames({{Level::kPass, "pass"},
                                                  {Level::kNote, "note"},
                                                  {Level::kDegraded, "degraded"},
                                                  {Level::kFail, "fail"},
                                                  {Level::kSkipped, "skipped"}});

}  // namespace

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

Report run_checks(const Checks& checks, Context& context, Report report) {
  for (const Check& check : checks) {
    const auto need = std::ranges::find(report, check.needs, &Entry::name);
    const bool is_blocked = need != report.end() && blocks(need->finding.level);
    const auto begin = context.clock.now();
    Finding finding =
        is_blocked ? Finding{Level::kSkipped, skip_reason(*need), {}} : check.run(context);
    const std::chrono::duration<double> taken = context.clock.now() - begin;
    report.push_back({std::string(check.name), std::move(finding), taken.count()});
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

std::string_view level_name(Level level) { return kLevelNames[level]; }

toml::table entry_facts(const Entry& entry) {
  return toml::table{{"name", entry.name},
                     {"level", level_name(entry.finding.level)},
                     {"seen", entry.finding.seen},
                     {"advice", entry.finding.advice}};
}

std::string to_text(const Report& report) {
  std::string text;
  for (const Entry& entry : report) {
    const Finding& finding = entry.finding;
    text += fmt::format("{:<9} {}: {}\n", level_name(finding.level), printable(entry.name),
                        printable_lines(finding.seen));
    if (!finding.advice.empty()) {
      text += fmt::format("{:<9}   -> {}\n", "", printable_lines(finding.advice));
    }
  }
  return text + fmt::format("verdict: {}\n", verdict_name(report));
}

std::string to_json(const Report& report) {
  toml::array checks;
  for (const Entry& entry : report) checks.push_back(entry_facts(entry));
  return json_text(toml::table{{"verdict", verdict_name(report)},
                               {"exit_status", exit_status(report)},
                               {"checks", std::move(checks)}});
}

}  // namespace s3rdmafs::daemon::doctor
