// SPDX-License-Identifier: Apache-2.0
#include "credentials/open_credentials.h"

#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "credentials/file_keys.h"
#include "credentials/metadata_keys.h"
#include "credentials/process_keys.h"
#include "credentials/rotating_credentials.h"
#include "credentials/sso_keys.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/loopback.h"

namespace s3rdmafs::credentials {
namespace {

// While a mount can still wait; its first requests to the bucket come after it.
constexpr std::chrono::seconds kFirstTime{20};

/// Keys that stay: those that sign for a role.
class FixedKeys final : public KeySource {
 public:
  explicit FixedKeys(s3::Credentials keys) : keys_(std::move(keys)) {}
  [[nodiscard]] Result<FetchedKeys> fetch(const std::stop_token&) override {
    return FetchedKeys{.keys = keys_};
  }

 private:
  const s3::Credentials keys_;
};

struct MakeSource {
  const Sts& sts;
  const Clock& clock;

  std::unique_ptr<KeySource> operator()(const config::Credentials& keys) const {
    return std::make_unique<FixedKeys>(keys_of(keys));
  }
  std::unique_ptr<KeySource> operator()(const config::KeysInFile& source) const {
    return std::make_unique<FileKeys>(source);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfProcess& source) const {
    return std::make_unique<ProcessKeys>(source.command);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfWebIdentity& source) const {
    return std::make_unique<WebIdentityKeys>(source, sts);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfRole& source) const {
    return std::make_unique<RoleKeys>(source, std::visit(*this, source.source->source), sts, clock);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfContainer& source) const {
    return std::make_unique<ContainerKeys>(source);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfInstance& source) const {
    return std::make_unique<InstanceKeys>(source);
  }
  std::unique_ptr<KeySource> operator()(const config::KeysOfSso& source) const {
    return std::make_unique<SsoKeys>(source, clock);
  }
};

/// A thousand mounts of a job may ask at once, and a service be slow to wake up.
Result<FetchedKeys> fetch_first(KeySource& source, const Clock& clock) {
  const Deadline end = clock.now() + kFirstTime;
  for (std::chrono::milliseconds pause{500};; pause *= 2) {
    auto fetched = source.fetch({});
    if (fetched || !is_retryable(fetched.error().code) || clock.now() + pause >= end) {
      return fetched;
    }
    std::this_thread::sleep_for(pause);
  }
}

void warn_of_open_sts(const config::CredentialChoice& choice, const Sts& sts) {
  const bool asks_sts = std::holds_alternative<config::KeysOfRole>(choice.source) ||
                        std::holds_alternative<config::KeysOfWebIdentity>(choice.source);
  if (!asks_sts || !sts.url.starts_with("http://") || is_loopback_url(sts.url)) return;
  log::warn("credentials: {} gives keys without TLS: anyone on the way can read them", sts.url);
}

}  // namespace

Result<std::unique_ptr<s3::CredentialSource>> open_credentials(
    const config::CredentialChoice& choice, const Sts& sts, const Clock& clock,
    metrics::Registry& metrics) {
  if (const auto* fixed = std::get_if<config::Credentials>(&choice.source)) {
    return std::make_unique<s3::StaticCredentials>(keys_of(*fixed));
  }
  auto source = std::visit(MakeSource{.sts = sts, .clock = clock}, choice.source);
  warn_of_open_sts(choice, sts);
  // A machine without a role has to be told at once.
  auto first = choice.searched.empty() ? fetch_first(*source, clock) : source->fetch({});
  if (first && first->end && *first->end <= clock.wall_now()) {
    first = fail(ErrorCode::kNoCredentials, "they have ended already");
  }
  if (!first && !choice.searched.empty()) {
    return fail(ErrorCode::kConfig, fmt::format("{}; this machine has no role either ({})",
                                                choice.searched, first.error().detail));
  }
  if (!first) return fail_with_context("no keys from " + choice.origin, first.error());
  return std::make_unique<RotatingCredentials>(std::move(source), std::move(*first), choice.origin,
                                               clock, metrics);
}

}  // namespace s3rdmafs::credentials
