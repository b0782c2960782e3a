// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/report/full_report.h"

#include <chrono>
#include <sstream>

#include "config/print.h"
#include "daemon/doctor/report/json.h"
#include "daemon/doctor/report/machine_facts.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::string_view kRedacted = "********";
// The version of the report's format; raised when the meaning of a name changes.
constexpr int kFormat = 1;

toml::array check_facts(const Report& report) {
  toml::array checks;
  for (const Entry& entry : report) {
    toml::table facts = entry_facts(entry);
    facts.insert("evidence", entry.finding.evidence);
    facts.insert("seconds", entry.seconds);
    checks.push_back(std::move(facts));
  }
  return checks;
}

// One line for each key.
toml::array settings(const Context& context) {
  toml::array lines;
  if (!context.loaded) return lines;
  std::istringstream text(config::print_config(*context.loaded));
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

double seconds_of(const Report& report) {
  double seconds = 0;
  for (const Entry& entry : report) seconds += entry.seconds;
  return seconds;
}

}  // namespace

std::vector<std::string> secrets_of(const Context& context) {
  std::vector<std::string> secrets;
  const auto add = [&secrets](const std::string& secret) {
    if (!secret.empty()) secrets.push_back(secret);
  };
  if (context.credentials) {
    if (const auto credentials = context.credentials->get()) {
      add(credentials->secret_access_key);
      add(credentials->session_token);
      add(credentials->access_key_id);
    }
  }
  const auto add_all_of = [&add](const config::MountConfig& config) {
    add(config.credentials.secret_access_key);
    add(config.credentials.session_token);
    add(config.credentials.access_key_id);
    if (config.rdma.dc_key != 0) add(fmt::format("{:x}", config.rdma.dc_key));
  };
  if (context.loaded) {
    add_all_of(context.loaded->config);
    for (const auto& directory : context.loaded->config.directories) add_all_of(*directory.config);
  }
  for (const std::string& secret : context.secrets) add(secret);
  return secrets;
}

std::string redacted(std::string text, const std::vector<std::string>& secrets) {
  for (const std::string& secret : secrets) {
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kRedacted.size())) {
      text.replace(at, secret.size(), kRedacted);
    }
  }
  return text;
}

std::string full_report(const Report& report, const Context& context, const std::string& version) {
  const auto now = std::chrono::floor<std::chrono::seconds>(context.clock.wall_now());
  toml::table all{{"format", kFormat},
                  {"written_at_unix", now.time_since_epoch().count()},
                  {"seconds", seconds_of(report)},
                  {"verdict", verdict_name(report)},
                  {"exit_status", exit_status(report)},
                  {"mount_file", context.file},
                  {"versions", version_facts(version)},
                  {"machine", machine_facts()},
                  {"settings", settings(context)},
                  {"checks", check_facts(report)}};
  if (const auto devices = context.machine->rdma_devices()) {
    all.insert("devices", device_facts(*devices, "/sys"));
  } else {
    all.insert("devices", toml::array());
  }
  const std::vector<std::string> secrets = secrets_of(context);
  change_texts(all, [&secrets](const std::string& text) { return redacted(text, secrets); });
  return json_text(all);
}

}  // namespace s3rdmafs::daemon::doctor
