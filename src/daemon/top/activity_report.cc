// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/activity_report.h"

#include <nlohmann/json.hpp>

#include "metrics/stats_socket.h"

namespace s3rdmafs::daemon {
namespace {

using Json = nlohmann::json;

Json to_json(const ActivityReport::File& file) {
  return {{"handle", file.handle},         {"path", file.path},
          {"process", file.process},       {"way", file.way},
          {"read_bytes", file.read_bytes}, {"written_bytes", file.written_bytes}};
}

Json to_json(const ActivityReport::Process& process) {
  return {{"id", process.id},
          {"name", process.name},
          {"opens", process.opens},
          {"read_bytes", process.read_bytes},
          {"written_bytes", process.written_bytes}};
}

ActivityReport::File file_of(const Json& json) {
  return {.handle = json.at("handle"),
          .path = json.at("path"),
          .process = json.at("process"),
          .way = json.at("way"),
          .read_bytes = json.at("read_bytes"),
          .written_bytes = json.at("written_bytes")};
}

ActivityReport::Process process_of(const Json& json) {
  return {.id = json.at("id"),
          .name = json.at("name"),
          .opens = json.at("opens"),
          .read_bytes = json.at("read_bytes"),
          .written_bytes = json.at("written_bytes")};
}

}  // namespace

std::string to_text(const ActivityReport& report) {
  Json files = Json::array();
  for (const auto& file : report.files) files.push_back(to_json(file));
  Json processes = Json::array();
  for (const auto& process : report.processes) processes.push_back(to_json(process));
  const Json json = {{"bucket", report.bucket},           {"endpoint", report.endpoint},
                     {"age_seconds", report.age.count()}, {"settings", report.settings},
                     {"files", std::move(files)},         {"files_left_out", report.files_left_out},
                     {"processes", std::move(processes)}};
  // Names of files are bytes; those that are not UTF-8 are shown all the same.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// nlohmann/json throws; no exception leaves this function.
Result<ActivityReport> read_activity(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    ActivityReport report{.bucket = json.at("bucket"),
                          .endpoint = json.at("endpoint"),
                          .age = std::chrono::seconds(json.at("age_seconds").get<std::int64_t>()),
                          .settings = json.at("settings"),
                          .files = {},
                          .files_left_out = json.at("files_left_out"),
                          .processes = {}};
    for (const Json& file : json.at("files")) report.files.push_back(file_of(file));
    for (const Json& process : json.at("processes")) {
      report.processes.push_back(process_of(process));
    }
    return report;
  } catch (const Json::exception& error) {
    return fail(ErrorCode::kProtocol,
                std::string("the daemon's answer cannot be read: ") + error.what());
  }
}

std::string activity_socket_path(std::string_view mount_point) {
  return metrics::stats_socket_path(mount_point) + ".activity";
}

}  // namespace s3rdmafs::daemon
