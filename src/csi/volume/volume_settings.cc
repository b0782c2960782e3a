// SPDX-License-Identifier: Apache-2.0
#include "csi/volume/volume_settings.h"

#include <sys/mount.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/load.h"
#include "config/nearest_name.h"
#include "csi/volume/checks.h"
#include "csi/volume/volume_keys.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs::csi {
namespace {

// Kubernetes adds attributes of its own, below these domains.
constexpr std::string_view kKubernetesPrefixes[] = {"csi.storage.k8s.io/",
                                                    "storage.kubernetes.io/"};
constexpr std::string_view kAuthentication = "authentication";
constexpr std::string_view kRoleArn = "roleArn";
constexpr std::string_view kAudience = "audience";
constexpr std::size_t kFlagsBytesMax = 4096;  // the specification's limit
constexpr std::size_t kValueBytesMax = 4096;  // more than any key of the mount file takes
constexpr std::size_t kIdDigitsMax = 10;      // of 32 bits

std::string shown(std::string_view name) { return printable(name.substr(0, 64)); }

std::unexpected<Error> refuse_name(std::string_view kind, const std::string& name) {
  const std::vector<std::string> known = config::all_full_names();
  if (std::ranges::find(known, name) != known.end()) {
    const bool is_secret = setter_of(name) == KeySetter::kSecret;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} {}: {}", kind, name,
                            is_secret ? "belongs into the volume's Secret"
                                      : "is the driver's own; a volume cannot set it"));
  }
  std::vector<std::string> allowed{std::string(kAuthentication), std::string(kRoleArn),
                                   std::string(kAudience)};
  std::ranges::copy_if(known, std::back_inserter(allowed), [](const std::string& each) {
    return setter_of(each) == KeySetter::kVolume;
  });
  return fail(ErrorCode::kInvalidArgument, fmt::format("{} '{}': no such key{}", kind, shown(name),
                                                       config::did_you_mean(name, allowed)));
}

Result<void> set_key(std::string_view kind, const std::string& name, const std::string& value,
                     VolumeSettings& settings) {
  if (setter_of(name) != KeySetter::kVolume) return refuse_name(kind, name);
  if (value.size() > kValueBytesMax || !is_plain_text(value)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} {}: is not a text of at most {} bytes without control characters",
                            kind, name, kValueBytesMax));
  }
  settings.keys[name] = value;
  return {};
}

Result<Authentication> authentication_named(std::string_view name) {
  if (name == "secret") return Authentication::kSecret;
  if (name == "pod") return Authentication::kPod;
  if (name == "node") return Authentication::kNode;
  if (name == "anonymous") return Authentication::kAnonymous;
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("attribute authentication: found '{}', expected secret, pod, node or "
                          "anonymous",
                          shown(name)));
}

Result<void> read_attribute(const std::string& name, const std::string& value,
                            VolumeSettings& settings) {
  if (name == kAuthentication) {
    const auto found = authentication_named(value);
    if (!found) return std::unexpected(found.error());
    settings.authentication = *found;
    return {};
  }
  if (name != kRoleArn && name != kAudience) return set_key("attribute", name, value, settings);
  // They go into a file of lines.
  if (value.empty() || value.size() > kValueBytesMax || !is_plain_text(value) ||
      value.contains(' ') || value.contains('#') || value.contains(';')) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("attribute {}: is not one word without '#' and ';'", name));
  }
  (name == kRoleArn ? settings.role_arn : settings.audience) = value;
  return {};
}

std::optional<std::uint64_t> attribute_of_flag(std::string_view flag) {
  if (flag == "ro") return MOUNT_ATTR_RDONLY;
  if (flag == "nosuid") return MOUNT_ATTR_NOSUID;
  if (flag == "nodev") return MOUNT_ATTR_NODEV;
  if (flag == "noexec") return MOUNT_ATTR_NOEXEC;
  if (flag == "noatime") return MOUNT_ATTR_NOATIME;
  if (flag == "rw") return 0;
  return std::nullopt;
}

Result<void> read_flag(const std::string& flag, VolumeSettings& settings) {
  if (const auto attribute = attribute_of_flag(flag)) {
    settings.mount_attributes |= *attribute;
    return {};
  }
  const std::size_t equals = flag.find('=');
  std::string name = flag.substr(0, equals);
  if (equals == std::string::npos) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("mount option '{}': expected ro, rw, nosuid, nodev, noexec, noatime, "
                            "uid=, gid= or SECTION.KEY=VALUE",
                            shown(flag)));
  }
  if (name == "uid" || name == "gid") name = "mount." + name;
  return set_key("mount option", name, flag.substr(equals + 1), settings);
}

// The pod's group owns the files, and may do what their owner may, as with other volumes that have
// an fsGroup.
Result<void> read_group(const std::string& group, VolumeSettings& settings) {
  if (group.empty()) return {};
  if (group.size() > kIdDigitsMax ||
      !std::ranges::all_of(group, [](char c) { return c >= '0' && c <= '9'; })) {
    return fail(ErrorCode::kInvalidArgument, "volume_mount_group is not a group id in decimal");
  }
  settings.keys["mount.gid"] = group;
  const auto mode = settings.keys.find("write.mode");
  const bool may_write = mode != settings.keys.end() && mode->second != "off";
  settings.keys.try_emplace("mount.file_mode", may_write ? "0664" : "0444");
  settings.keys.try_emplace("mount.directory_mode", may_write ? "0775" : "0555");
  return {};
}

Result<void> check_authentication(const VolumeSettings& settings) {
  const bool for_pod = settings.authentication == Authentication::kPod;
  if (for_pod && settings.role_arn.empty()) {
    return fail(ErrorCode::kInvalidArgument, "authentication = pod needs the attribute roleArn");
  }
  if (!for_pod && (!settings.role_arn.empty() || !settings.audience.empty())) {
    return fail(ErrorCode::kInvalidArgument,
                "the attributes roleArn and audience need authentication = pod");
  }
  return {};
}

}  // namespace

std::string VolumeSettings::digest_text() const {
  std::string text =
      fmt::format("{}\n{}\n{}\n", static_cast<int>(authentication), role_arn, audience);
  for (const auto& [name, value] : keys) text += fmt::format("{}={}\n", name, value);
  return text;
}

Result<VolumeSettings> read_settings(const VolumeUse& use) {
  VolumeSettings settings;
  for (const auto& [name, value] : use.context) {
    const bool is_of_kubernetes = std::ranges::any_of(
        kKubernetesPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
    if (is_of_kubernetes) continue;
    if (auto read = read_attribute(name, value, settings); !read) {
      return std::unexpected(read.error());
    }
  }
  std::size_t flags_bytes = 0;
  for (const std::string& flag : use.capability.mount_flags) {
    flags_bytes += flag.size();
    if (flags_bytes > kFlagsBytesMax) {
      return fail(ErrorCode::kInvalidArgument, "mount options are longer than 4 KiB");
    }
    if (auto read = read_flag(flag, settings); !read) return std::unexpected(read.error());
  }
  if (auto read = read_group(use.capability.mount_group, settings); !read) {
    return std::unexpected(read.error());
  }
  if (auto good = check_authentication(settings); !good) return std::unexpected(good.error());
  settings.read_only = use.read_only || is_read_only(use.capability.mode) ||
                       (settings.mount_attributes & MOUNT_ATTR_RDONLY) != 0;
  if (settings.read_only) settings.mount_attributes |= MOUNT_ATTR_RDONLY;
  return settings;
}

}  // namespace s3rdmafs::csi
