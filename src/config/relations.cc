// SPDX-License-Identifier: Apache-2.0
#include "config/relations.h"

#include <algorithm>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/loopback.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

class Relations {
 public:
  explicit Relations(const MountConfig& config) : config_(config) {}

  std::vector<Conflict> find() {
    check_credentials();
    check_read_ahead();
    check_connection_relations();
    check_encryption_relations();
    check_resident_relations();
    check_write_relations();
    check_metrics_relations();
    return std::move(found_);
  }

 private:
  void check_credentials() {
    const MountConfig::Credentials& keys = config_.credentials;
    if (keys.access_key_id.empty() != keys.secret_access_key.empty()) {
      relate(
          "credentials", keys.access_key_id.empty() ? "secret_access_key" : "access_key_id",
          "one of access_key_id and secret_access_key is set without the other; set both or none");
    }
    if (!keys.session_token.empty() && keys.access_key_id.empty()) {
      relate("credentials", "session_token", "belongs to an access_key_id, and none is set");
    }
    if (keys.anonymous && (!keys.access_key_id.empty() || !keys.file.empty())) {
      relate("credentials", "anonymous", "is true although keys are given; remove one of the two");
    }
  }

  void check_read_ahead() {
    if (config_.retry.backoff_first > config_.retry.backoff_max) {
      relate("retry", "backoff_first", "is longer than retry.backoff_max");
    }
    if (config_.read_ahead.window_max_bytes > config_.cache.size_bytes) {
      relate("read_ahead", "window_max", "is larger than cache.size, which must hold it");
    }
  }

  void check_connection_relations() {
    const net::ConnectionOptions& connection = config_.endpoint.connection;
    if (!connection.client_key.empty() && connection.client_certificate.empty()) {
      relate("endpoint", "client_key", "belongs to a client_certificate, and none is set");
    }
  }

  void check_encryption_relations() {
    const MountConfig::EncryptionKeys& encryption = config_.encryption;
    if (!encryption.kms_key.empty() && encryption.mode != Encryption::kSseKms) {
      relate("encryption", "kms_key", "needs encryption.mode = \"sse-kms\"");
    }
    if (!encryption.customer_key.empty() && encryption.mode != Encryption::kSseC) {
      relate("encryption", "customer_key", "needs encryption.mode = \"sse-c\"");
    }
    if (encryption.mode != Encryption::kSseC) return;
    if (encryption.customer_key.empty()) {
      relate("encryption", "mode", "is \"sse-c\", which needs encryption.customer_key");
    }
    const auto shows_key = [](const std::string& url) {
      return url.starts_with("http:") && !is_loopback_url(url);
    };
    if (std::ranges::any_of(config_.endpoint.all_urls(), shows_key)) {
      relate("encryption", "mode",
             "is \"sse-c\", which needs https:// endpoints: the key goes along with each request");
    }
  }

  void check_metrics_relations() {
    if (!config_.metrics.group.empty() && !config_.metrics.listen.starts_with("unix:")) {
      relate("metrics", "group", "needs metrics.listen = \"unix:/PATH\"");
    }
  }

  // Objects that are read in blocks need memory too.
  void check_resident_relations() {
    const MountConfig::Cache& cache = config_.cache;
    if (!config_.resident.empty()) {
      constexpr std::string_view kNone = "is 0, which leaves nothing for [[resident]]";
      if (cache.passthrough_max_bytes == 0) relate("cache", "passthrough_max", kNone);
      if (cache.resident_bytes == 0U) relate("cache", "resident_size", kNone);
    }
    if (cache.resident_bytes.value_or(0) + kBlocksBytesMin > cache.size_bytes) {
      relate("cache", "resident_size",
             fmt::format("leaves less than {} of cache.size for other objects",
                         format_size(kBlocksBytesMin)));
    }
  }

  void check_write_relations() {
    const MountConfig::Write& write = config_.write;
    if (write.buffer_bytes < 2 * write.part_bytes) {
      relate("write", "buffer_size",
             "is less than twice write.part_size: one part is sent while the next one fills");
    }
    if (write.mode != WriteMode::kOff && !config_.metadata.manifest.empty()) {
      relate("metadata", "manifest",
             "needs write.mode = \"off\": a manifest does not show what is written");
    }
    check_posix_relations();
  }

  void check_posix_relations() {
    if (config_.metadata.posix == PosixMetadata::kWrite &&
        config_.write.mode != WriteMode::kStaged) {
      relate(
          "metadata", "posix",
          "is \"write\", which needs write.mode = \"staged\": a sequential upload has its metadata "
          "before its file has all attributes");
    }
    if (config_.metadata.posix != PosixMetadata::kOff && !config_.metadata.manifest.empty()) {
      relate("metadata", "posix", "needs an empty metadata.manifest: it has no user metadata");
    }
  }

  void relate(std::string_view section, std::string_view name, std::string_view detail) {
    found_.push_back({section, name, std::string(detail)});
  }

  const MountConfig& config_;
  std::vector<Conflict> found_;
};

}  // namespace

std::vector<Conflict> conflicts_in(const MountConfig& config) { return Relations(config).find(); }

}  // namespace s3rdmafs::config
