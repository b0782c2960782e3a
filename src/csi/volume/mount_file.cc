// SPDX-License-Identifier: Apache-2.0
// Each value becomes a TOML value of the type that its key has; a text is written so that nothing
// in it can end it. The result is then read as s3rdmafs reads it: a value that it would refuse is
// refused here, before anything is written.
#include "csi/volume/mount_file.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "config/load.h"

namespace s3rdmafs::csi {
namespace {

// The basic string of TOML 1.0.
std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string toml_list(std::string_view text) {
  std::string list = "[";
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (at != 0) list += ", ";
    list += toml_text(text.substr(at, end - at));
    at = end + 1;
  }
  return list + "]";
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 10 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Result<std::string> toml_value(const config::Key& key, const std::string& text) {
  if (std::holds_alternative<config::Boolean>(key.rule)) {
    if (text == "true" || text == "false") return text;
    return fail(ErrorCode::kInvalidArgument, key.full_name() + ": expected true or false");
  }
  if (std::holds_alternative<config::Integer>(key.rule)) {
    // TOML has no leading zeros.
    if (is_number(text) && (text.size() == 1 || text.front() != '0')) return text;
    return fail(ErrorCode::kInvalidArgument, key.full_name() + ": expected a number");
  }
  if (std::holds_alternative<config::TextList>(key.rule)) return toml_list(text);
  return toml_text(text);
}

const config::Key* key_named(const std::string& full_name) {
  const std::size_t dot = full_name.find('.');
  if (dot == std::string::npos) return config::find_key("", full_name);
  return config::find_key(full_name.substr(0, dot), full_name.substr(dot + 1));
}

Texts all_keys(const VolumeSettings& settings, const Identity& identity,
               const MountPlaces& places) {
  Texts keys = settings.keys;
  for (const auto& [name, value] : identity.keys) keys[name] = value;
  for (const auto& [name, file] : identity.file_keys) keys[name] = places.folder + "/" + file;
  keys["log.file"] = places.folder + "/" + kLogFile;
  keys["write.state_dir"] = places.journal;
  if (settings.authentication == Authentication::kAnonymous) keys["credentials.anonymous"] = "true";
  if (settings.authentication == Authentication::kPod) {
    keys["credentials.file"] = places.folder + "/" + kCredentialsFile;
    keys["credentials.profile"] = "default";
  }
  return keys;
}

}  // namespace

std::string credentials_text(const VolumeSettings& settings, const MountPlaces& places) {
  return fmt::format("[default]\nrole_arn = {}\nweb_identity_token_file = {}/{}\n",
                     settings.role_arn, places.folder, kTokenFile);
}

Result<MountFile> make_mount_file(const VolumeSettings& settings, const Identity& identity,
                                  const MountPlaces& places) {
  std::map<std::string, std::string> sections;  // the one without a name comes first
  for (const auto& [name, text] : all_keys(settings, identity, places)) {
    const config::Key* const key = key_named(name);
    if (key == nullptr) return fail(ErrorCode::kInvalidArgument, name + ": no such key");
    const auto value = toml_value(*key, text);
    if (!value) return std::unexpected(value.error());
    sections[std::string(key->section)] += fmt::format("{} = {}\n", key->name, *value);
  }
  MountFile file;
  for (const auto& [section, lines] : sections) {
    if (!section.empty()) file.text += fmt::format("[{}]\n", section);
    file.text += lines;
  }
  const config::Environment nothing{
      .variables = {}, .home = {}, .uid = 0, .gid = 0, .is_root = true};
  const auto loaded = config::load_mount_config_text(file.text, "volume", nothing);
  if (!loaded) return fail(ErrorCode::kInvalidArgument, loaded.error().detail);
  file.may_write = loaded->config.write.mode != config::WriteMode::kOff;
  return file;
}

}  // namespace s3rdmafs::csi
