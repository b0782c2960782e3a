// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/probe_object.h"

#include <cstdint>
#include <random>
#include <utility>

#include "s3/wire/xml/xml_reader.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

std::string probe_key(const std::string& key) {
  std::random_device random;
  const std::uint64_t number = (static_cast<std::uint64_t>(random()) << 32U) | random();
  const std::size_t slash = key.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : key.substr(0, slash + 1);
  return fmt::format("{}.s3rdmafs-probe-{:016x}", folder, number);
}

ProbeObject::~ProbeObject() {
  if (!may_be_there_) return;
  log::warn("test object '{}' may be left: its removal was not sent in time; remove it by hand",
            key_);
}

Result<HttpRequest> ProbeObject::build_removal(Endpoint& endpoint) const {
  return endpoint.builder.build({.method = HttpMethod::kDelete, .key = key_});
}

Exchange::Next ProbeObject::on_removed(const Endpoint& endpoint, const HttpOutcome& outcome) {
  const bool is_gone = outcome && (outcome->is_success() || outcome->status == 404);
  if (!is_gone && !std::exchange(has_failed_to_remove_, true)) {
    Exchange::Next next =
        outcome ? Exchange::refused(endpoint, "DELETE", key_, *outcome, parse_error(outcome->text))
                : Exchange::failed(outcome.error().error);
    if (is_retryable(next.error.code)) return next;
  }
  may_be_there_ = false;
  if (!is_gone) {
    log::warn("test object '{}' could not be removed: {}; remove it by hand", key_,
              outcome ? fmt::format("HTTP {}", outcome->status) : outcome.error().error.detail);
  }
  return Exchange::send_again();
}

}  // namespace s3rdmafs::s3
