// SPDX-License-Identifier: Apache-2.0
#include "s3/exchanges/put/wrong_object.h"

#include <memory>
#include <utility>

#include "s3/exchanges/query_exchange.h"
#include "s3/exchanges/removal.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {
namespace {

/// The write's own deadline is over by the time that its object has to be removed.
constexpr std::chrono::seconds kRemovalTime{10};

/// Asks whether the wrong object is still there. 404 has no ETag, and is "no".
std::unique_ptr<Exchange> make_wrong_object_query(const std::string& key, const WrongObject& wrong,
                                                  Done<bool> done) {
  return std::make_unique<QueryExchange<bool>>(
      QueryExchange<bool>::Query{.method = HttpMethod::kHead,
                                 .verb = "HEAD",
                                 .key = key,
                                 .subject = key,
                                 .parameters = {},
                                 .text_bytes_max = 0,
                                 .is_gone_fine = true},
      [wrong](const HttpResponse& head) -> Result<bool> { return wrong.is_described_by(head); },
      std::move(done));
}

}  // namespace

bool WrongObject::is_described_by(const HttpResponse& head) const {
  if (!head.is_success()) return false;
  if (etag.empty()) return head.headers.content_length == 0;
  return is_same_etag(head.headers.etag, etag);
}

void remove_wrong_object(RetryRunner& runner, const Clock& clock, const std::string& key,
                         const WrongObject& wrong, Done<void> done) {
  const Deadline deadline = clock.now() + kRemovalTime;
  auto on_removed = [key, done = std::move(done)](Result<void> removed) mutable {
    if (!removed) {
      log::error(
          "'{}': the server has stored a wrong object, which could not be removed: {}; "
          "remove it by hand",
          key, removed.error().detail);
    }
    done(std::move(removed));
  };
  auto on_head = [&runner, key, wrong, deadline,
                  on_removed = std::move(on_removed)](Result<bool> is_there) mutable {
    if (!is_there) return on_removed(std::unexpected(std::move(is_there.error())));
    if (!*is_there) return on_removed({});
    Removal removal{.verb = "DELETE", .key = key};
    if (!wrong.etag.empty()) removal.headers.emplace_back("if-match", wrong.etag);
    runner.run(make_removal(std::move(removal), std::move(on_removed)), deadline);
  };
  runner.run(make_wrong_object_query(key, wrong, std::move(on_head)), deadline);
}

}  // namespace s3rdmafs::s3
