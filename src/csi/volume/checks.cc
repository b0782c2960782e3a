// SPDX-License-Identifier: Apache-2.0
#include "csi/volume/checks.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>

#include "s3rdmafs/base/printable.h"
#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs::csi {
namespace {

constexpr std::size_t kVolumeIdBytesMax = 128;
// Shorter values would tear words of a message apart; a real secret is longer.
constexpr std::size_t kSecretBytesMin = 4;

bool is_shortest_form(std::string_view path) {
  if (path.size() < 2 || path.front() != '/' || path.back() == '/') return false;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name.empty() || name == "." || name == ".." || name.size() > NAME_MAX) return false;
    at = end + 1;
  }
  return true;
}

}  // namespace

bool is_plain_text(std::string_view text) noexcept {
  const auto is_control = [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f;
  };
  return utf8_beginning(text).size() == text.size() && std::ranges::none_of(text, is_control);
}

Result<void> check_volume_id(std::string_view id) {
  if (id.empty()) return fail(ErrorCode::kInvalidArgument, "volume_id is missing");
  if (id.size() > kVolumeIdBytesMax || !is_plain_text(id)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("volume_id is not a text of at most {} bytes without control "
                            "characters",
                            kVolumeIdBytesMax));
  }
  return {};
}

Result<void> check_path(std::string_view field, std::string_view path) {
  if (path.empty()) return fail(ErrorCode::kInvalidArgument, fmt::format("{} is missing", field));
  if (path.size() >= PATH_MAX || !is_plain_text(path) || !is_shortest_form(path)) {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("{} is not an absolute path in its shortest form: '{}'", field,
                            printable(path.substr(0, 256))));
  }
  return {};
}

Result<void> check_capability(const Capability& capability) {
  if (!capability.is_mount) {
    return fail(ErrorCode::kInvalidArgument,
                "volume_capability asks for no file system; a bucket is not a block device");
  }
  if (!capability.fs_type.empty() && capability.fs_type != "s3rdma") {
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("fs_type is '{}', expected s3rdma or nothing",
                            printable(capability.fs_type.substr(0, 64))));
  }
  if (capability.mode < AccessMode::kSingleNodeWriter ||
      capability.mode > AccessMode::kSingleNodeMultiWriter) {
    return fail(ErrorCode::kInvalidArgument, "volume_capability has no known access mode");
  }
  return {};
}

bool is_read_only(AccessMode mode) noexcept {
  return mode == AccessMode::kSingleNodeReaderOnly || mode == AccessMode::kMultiNodeReaderOnly;
}

std::string without_secrets(std::string text, const Texts& secrets) {
  constexpr std::string_view kHidden = "********";
  for (const auto& [name, secret] : secrets) {
    if (secret.size() < kSecretBytesMin) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos;
         at = text.find(secret, at + kHidden.size())) {
      text.replace(at, secret.size(), kHidden);
    }
  }
  return text;
}

}  // namespace s3rdmafs::csi
