// SPDX-License-Identifier: Apache-2.0
// The author of a PersistentVolume says which bucket is mounted and how, and must not reach
// anything else of the node: no path, socket, address or log of it.
#include "csi/volume/volume_keys.h"

#include <algorithm>
#include <utility>

namespace s3rdmafs::csi {
namespace {

using enum KeySetter;

constexpr std::pair<std::string_view, KeySetter> kSetters[] = {
    {"profile", kVolume},
    {"bucket.name", kVolume},
    {"bucket.prefix", kVolume},
    {"bucket.requester_pays", kVolume},
    {"bucket.expected_owner", kVolume},
    {"endpoint.url", kVolume},
    {"endpoint.urls", kVolume},
    {"endpoint.hedge", kVolume},
    {"endpoint.region", kVolume},
    {"endpoint.addressing", kVolume},
    {"endpoint.tls_min", kVolume},
    {"endpoint.proxy", kVolume},
    {"endpoint.ca_file", kDriver},  // a Secret brings the certificate itself
    {"endpoint.client_certificate", kDriver},
    {"endpoint.client_key", kDriver},
    {"credentials.anonymous", kDriver},  // by the attribute "authentication"
    {"credentials.access_key_id", kSecret},
    {"credentials.secret_access_key", kSecret},
    {"credentials.session_token", kSecret},
    {"credentials.file", kDriver},
    {"credentials.profile", kDriver},
    {"credentials.sts_url", kVolume},
    {"encryption.mode", kVolume},
    {"encryption.kms_key", kVolume},
    {"encryption.customer_key", kSecret},
    {"rdma.mode", kVolume},
    {"rdma.fabric", kVolume},
    {"rdma.threshold", kVolume},
    {"rdma.token_header", kVolume},
    {"rdma.reply_header", kVolume},
    {"rdma.bytes_header", kVolume},
    {"rdma.byte_count", kVolume},
    {"rdma.transfer_timeout", kVolume},
    {"rdma.verify", kVolume},
    {"rdma.shm_socket", kDriver},
    {"rdma.dc_key", kSecret},
    {"rdma.token_form", kVolume},
    {"rdma.rails", kVolume},
    {"rdma.gid_index", kVolume},
    {"rdma.traffic_class", kVolume},
    {"rdma.service_level", kVolume},
    {"rdma.sessions_max", kVolume},
    {"rdma.bind_source", kVolume},
    {"cache.size", kVolume},
    {"cache.lock", kVolume},
    {"cache.resident_size", kVolume},
    {"cache.passthrough_max", kVolume},
    {"disk.path",
     kDriver},  // each mount needs a folder of its own, which must not be shared by two volumes
    {"disk.size", kDriver},
    {"disk.reserve", kDriver},
    {"write.mode", kVolume},
    {"write.part_size", kVolume},
    {"write.buffer_size", kVolume},
    {"write.parallel_parts", kVolume},
    {"write.rename_max_keys", kVolume},
    {"write.storage_class", kVolume},
    {"write.staging_dir", kDriver},
    {"write.staging_size", kVolume},
    {"write.state_dir", kDriver},
    {"read.mode", kVolume},
    {"read.buffered", kVolume},
    {"read.direct", kVolume},
    {"read_ahead.window_max", kVolume},
    {"http.event_threads", kVolume},
    {"http.connections_max", kVolume},
    {"http.connect_timeout", kVolume},
    {"http.request_timeout", kVolume},
    {"retry.attempts_max", kVolume},
    {"retry.backoff_first", kVolume},
    {"retry.backoff_max", kVolume},
    {"retry.deadline", kVolume},
    {"metadata.ttl", kVolume},
    {"metadata.open", kVolume},
    {"metadata.posix", kVolume},
    {"metadata.negative_ttl", kVolume},
    {"metadata.listing_memory", kVolume},
    {"metadata.manifest", kDriver},
    {"mount.point", kDriver},
    {"mount.uid", kVolume},
    {"mount.gid", kVolume},
    {"mount.file_mode", kVolume},
    {"mount.directory_mode", kVolume},
    {"mount.allow_other", kDriver},
    {"mount.threads", kVolume},
    {"mount.transport", kVolume},
    {"log.level", kVolume},
    {"log.file", kDriver},
    {"log.format", kDriver},
    {"metrics.listen", kDriver},
    {"metrics.mode", kDriver},
    {"metrics.group", kDriver},
};

const std::pair<std::string_view, KeySetter>* row_of(std::string_view full_name) noexcept {
  const auto* const found =
      std::ranges::find(kSetters, full_name, [](const auto& row) { return row.first; });
  return found == std::end(kSetters) ? nullptr : found;
}

}  // namespace

KeySetter setter_of(std::string_view full_name) noexcept {
  const auto* const row = row_of(full_name);
  return row == nullptr ? kDriver : row->second;
}

bool is_decided(std::string_view full_name) noexcept { return row_of(full_name) != nullptr; }

}  // namespace s3rdmafs::csi
