// SPDX-License-Identifier: Apache-2.0
// The answers of a server, out of a manifest.
//
// Versions. A read names the manifest's ETag in If-Match, as every read names the version that it
// wants. Where the server has another, a layer above would take kStale for news: it would forget
// what it knows, have the kernel look the name up again, and find the same version here, for ever.
// So kStale becomes kConfig, which no layer acts on.
//
// Directories. A listing with a delimiter shows the keys below a directory as one common prefix. A
// few are passed one by one; then a search leads past the rest, however many there are.
#include "manifest/manifest_store.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::manifest {
namespace {

// The first letter of a continuation token: what the last page ended with.
constexpr char kAfterKey = 'k';
constexpr char kAfterPrefix = 'p';

// S3's own limit (ListObjectsV2, max-keys).
constexpr std::uint32_t kPageKeysMax = 1000;
// To pass a record costs some 50 ns, a search some 5 us.
constexpr int kPassedOneByOne = 64;
// An outdated manifest can make every read fail; a line a second tells as much.
constexpr std::chrono::seconds kLogPause{1};

std::unexpected<Error> manifest_closed() {
  return fail(ErrorCode::kCancelled, "the mount is ending");
}

metrics::Counter& answers(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("manifest_answers_total",
                         "Requests that the manifest answered in place of the server.", labels);
}

// The least text that is greater than every text with this prefix; nothing if there is none.
std::optional<std::string> end_of_prefix(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  return prefix;
}

// One listing: where it is in the manifest, and the page that it fills.
class PageListing {
 public:
  PageListing(Manifest& manifest, const s3::ListRequest& request)
      : manifest_(manifest), request_(request) {}

  Result<s3::ListPage> page() {
    if (auto begun = begin(); !begun) return std::unexpected(begun.error());
    const std::uint32_t keys_max = std::clamp(request_.keys_max, 1U, kPageKeysMax);
    for (std::uint32_t keys = 0; is_inside(); ++keys) {
      if (keys == keys_max) {
        page_.next_token = std::move(token_);
        break;
      }
      if (auto taken = take(); !taken) return std::unexpected(taken.error());
    }
    return std::move(page_);
  }

 private:
  [[nodiscard]] const std::string& key() const { return cursor_->entry()->object.key; }
  [[nodiscard]] bool is_inside() const {
    return cursor_ && cursor_->entry() != nullptr && key().starts_with(request_.prefix);
  }

  Result<void> seek(std::string_view from) {
    auto found = manifest_.seek(from);
    if (!found) return std::unexpected(found.error());
    cursor_ = std::move(*found);
    return {};
  }

  Result<void> seek_after(std::string_view from) {
    if (auto found = seek(from); !found) return found;
    const bool is_there = cursor_->entry() != nullptr && key() == from;
    return is_there ? cursor_->advance() : Result<void>();
  }

  Result<void> begin() {
    const std::string_view token = request_.continuation_token;
    if (token.empty()) {
      const std::string& after = request_.start_after;
      const bool is_inside = !after.empty() && after >= request_.prefix;
      return is_inside ? seek_after(after) : seek(request_.prefix);
    }
    if (token.front() == kAfterKey) return seek_after(token.substr(1));
    if (token.front() == kAfterPrefix) return pass(std::string(token.substr(1)));
    return fail(ErrorCode::kInvalidArgument, "the continuation token is not one of a manifest");
  }

  Result<void> take() {
    const std::string& delimiter = request_.delimiter;
    const std::size_t at =
        delimiter.empty() ? std::string::npos : key().find(delimiter, request_.prefix.size());
    if (at == std::string::npos) {
      page_.objects.push_back(cursor_->entry()->object);
      token_ = kAfterKey + key();
      return cursor_->advance();
    }
    const std::string below = key().substr(0, at + delimiter.size());
    page_.common_prefixes.push_back(below);
    token_ = kAfterPrefix + below;
    for (int passed = 0; passed < kPassedOneByOne; ++passed) {
      if (auto moved = cursor_->advance(); !moved) return moved;
      if (cursor_->entry() == nullptr || !key().starts_with(below)) return {};
    }
    return pass(below);
  }

  // To the first key past all with this prefix.
  Result<void> pass(const std::string& below) {
    const std::optional<std::string> end = end_of_prefix(below);
    if (end) return seek(*end);
    cursor_.reset();
    return {};
  }

  Manifest& manifest_;
  const s3::ListRequest& request_;
  std::optional<Cursor> cursor_;  ///< nothing: at the end
  s3::ListPage page_;
  std::string token_;
};

}  // namespace

ManifestStore::ManifestStore(std::unique_ptr<Manifest> manifest, s3::ObjectStore& bytes,
                             const Clock& clock, metrics::Registry& metrics)
    : name_(manifest->name()),
      manifest_(std::move(manifest)),
      bytes_(bytes),
      clock_(clock),
      heads_(answers(metrics, R"(operation="head")")),
      lists_(answers(metrics, R"(operation="list")")),
      changed_(metrics.counter("manifest_changed_objects_total",
                               "Reads that failed because the server has another version than "
                               "the manifest.")),
      log_pause_(clock),
      thread_("manifest", clock, [] {}) {}

template <class T>
void ManifestStore::answer(std::move_only_function<Result<T>()> find, Deadline deadline,
                           Done<T> done) {
  // Shared, because a job that the thread does not take is destroyed with all that it holds.
  auto shared = std::make_shared<Done<T>>(std::move(done));
  const bool is_taken = thread_.post([this, find = std::move(find), deadline, shared]() mutable {
    if (thread_.is_finishing()) return (*shared)(manifest_closed());
    if (clock_.now() > deadline) {
      return (*shared)(fail(ErrorCode::kTimedOut, "manifest " + name_ + " is read too slowly"));
    }
    Result<T> found = find();
    const bool is_news = !found && found.error().code != ErrorCode::kNotFound;
    if (is_news) log(found.error());
    (*shared)(std::move(found));
  });
  if (!is_taken) (*shared)(manifest_closed());
}

void ManifestStore::head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) {
  heads_.add();
  answer<s3::ObjectInfo>([this, key = std::move(key)] { return find(key); }, deadline,
                         std::move(done));
}

Result<s3::ObjectInfo> ManifestStore::find(const std::string& key) {
  auto entry = manifest_->find(key);
  if (!entry) return std::unexpected(entry.error());
  if (!*entry) {
    return fail(ErrorCode::kNotFound, fmt::format("no key '{}' in manifest {}", key, name_));
  }
  return std::move((*entry)->object);
}

void ManifestStore::list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) {
  lists_.add();
  answer<s3::ListPage>([this, request = std::move(request)] { return find_page(request); },
                       deadline, std::move(done));
}

Result<s3::ListPage> ManifestStore::find_page(const s3::ListRequest& request) {
  return PageListing(*manifest_, request).page();
}

void ManifestStore::get(s3::GetRequest request, Deadline deadline, s3::GetDone done) {
  auto check = [this, key = request.key, etag = request.etag,
                done = std::move(done)](std::expected<s3::Path, s3::GetFailure> came) mutable {
    if (!came && came.error().error.code == ErrorCode::kStale) {
      came.error().error = changed(key, etag);
    }
    done(std::move(came));
  };
  bytes_.get(std::move(request), deadline, std::move(check));
}

Error ManifestStore::changed(const std::string& key, const std::string& etag) {
  changed_.add();
  Error error =
      fail_with_advice(
          ErrorCode::kConfig,
          fmt::format("'{}' is no longer version {}, which manifest {} lists", key, etag, name_),
          "run s3rdmafs manifest again and remount")
          .error();
  log(error);
  return error;
}

void ManifestStore::log(const Error& error) {
  if (!log_pause_.try_again(kLogPause)) {
    unlogged_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::uint64_t others = unlogged_.exchange(0, std::memory_order_relaxed);
  log::error("{}{}", error.detail,
             others == 0 ? "" : fmt::format(" ({} more since the last such line)", others));
}

void ManifestStore::shut_down() {
  thread_.finish();
  bytes_.shut_down();
}

}  // namespace s3rdmafs::manifest
