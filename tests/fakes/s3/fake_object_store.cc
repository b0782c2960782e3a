// SPDX-License-Identifier: Apache-2.0
#include "fakes/s3/fake_object_store.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

namespace s3rdmafs::fakes {
namespace {

// A continuation token says what the last page ended with: after a key ("k...") the next page
// begins with the next key, after a common prefix ("p...") past all keys below it.
constexpr char kAfterKey = 'k';
constexpr char kAfterPrefix = 'p';

s3::GetFailure cancelled() {
  return {.error = {ErrorCode::kCancelled, "the fake store was shut down"}};
}

}  // namespace

std::string FakeObjectStore::put(std::string key, std::string bytes, s3::UserMetadata metadata) {
  const MutexLock lock(mutex_);
  return store_locked(std::move(key), std::move(bytes), std::move(metadata));
}

std::string FakeObjectStore::store_locked(std::string key, std::string bytes,
                                          s3::UserMetadata metadata, s3::StoredHeaders headers) {
  const auto second = std::chrono::floor<std::chrono::seconds>(clock_.wall_now());
  const std::string name = repeats_etags_ ? std::to_string(bytes.size()) + "-" +
                                                std::to_string(second.time_since_epoch().count())
                                          : "v" + std::to_string(++versions_);
  std::string etag = "\"" + name + "\"";
  objects_[std::move(key)] = {std::move(bytes), etag, clock_.wall_now(), std::move(metadata),
                              std::move(headers)};
  return etag;
}

void FakeObjectStore::repeat_etags() {
  const MutexLock lock(mutex_);
  repeats_etags_ = true;
}

void FakeObjectStore::keep_etags_of_copies() {
  const MutexLock lock(mutex_);
  keeps_etags_ = true;
}

std::optional<std::string> FakeObjectStore::object(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return std::nullopt;
  return found->second.bytes;
}

void FakeObjectStore::set_headers(const std::string& key, s3::StoredHeaders headers) {
  const MutexLock lock(mutex_);
  objects_.at(key).headers = std::move(headers);
}

s3::StoredHeaders FakeObjectStore::headers(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? s3::StoredHeaders() : found->second.headers;
}

s3::UserMetadata FakeObjectStore::metadata(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? s3::UserMetadata() : found->second.metadata;
}

std::size_t FakeObjectStore::open_uploads() const {
  const MutexLock lock(mutex_);
  return uploads_.size();
}

void FakeObjectStore::set_clock_ahead(std::chrono::seconds ahead) {
  const MutexLock lock(mutex_);
  ahead_ = ahead;
}

void FakeObjectStore::remove(const std::string& key) {
  const MutexLock lock(mutex_);
  objects_.erase(key);
}

void FakeObjectStore::set_page_keys_max(std::uint32_t keys_max) {
  const MutexLock lock(mutex_);
  page_keys_max_ = keys_max;
}

void FakeObjectStore::ignore_delimiters() {
  const MutexLock lock(mutex_);
  ignores_delimiters_ = true;
}

void FakeObjectStore::repeat_tokens() {
  const MutexLock lock(mutex_);
  repeats_tokens_ = true;
}

void FakeObjectStore::set_path(s3::Path path) {
  const MutexLock lock(mutex_);
  path_ = path;
}

void FakeObjectStore::fail_next(Operation operation, std::size_t count, ErrorCode code,
                                bool late_write_possible) {
  const MutexLock lock(mutex_);
  const s3::GetFailure failure{{code, "failed by the test"}, late_write_possible};
  failures_[operation].insert(failures_[operation].end(), count, failure);
}

void FakeObjectStore::fail_if(Verdict verdict) {
  const MutexLock lock(mutex_);
  verdict_ = std::move(verdict);
}

void FakeObjectStore::hold() {
  const MutexLock lock(mutex_);
  holding_ = true;
}

std::vector<FakeObjectStore::Call> FakeObjectStore::held() const {
  const MutexLock lock(mutex_);
  std::vector<Call> calls;
  for (const Held& held : held_) calls.push_back(held.call);
  return calls;
}

std::optional<FakeObjectStore::Held> FakeObjectStore::take_held(std::size_t index) {
  const MutexLock lock(mutex_);
  if (index >= held_.size()) return std::nullopt;
  const auto at = held_.begin() + static_cast<std::ptrdiff_t>(index);
  Held held = std::move(*at);
  held_.erase(at);
  return held;
}

bool FakeObjectStore::release(std::size_t index) {
  std::optional<Held> held = take_held(index);
  if (!held) return false;
  held->finish(verdict_on(held->call));
  return true;
}

bool FakeObjectStore::fail_held(std::size_t index, s3::GetFailure failure) {
  std::optional<Held> held = take_held(index);
  if (!held) return false;
  held->finish(std::move(failure));
  return true;
}

void FakeObjectStore::release_all() {
  {
    const MutexLock lock(mutex_);
    holding_ = false;
  }
  while (release()) {
  }
}

std::vector<FakeObjectStore::Call> FakeObjectStore::calls() const {
  const MutexLock lock(mutex_);
  return calls_;
}

std::size_t FakeObjectStore::count(Operation operation) const {
  const MutexLock lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count(calls_, operation, [](const Call& call) { return call.operation; }));
}

void FakeObjectStore::forget_calls() {
  const MutexLock lock(mutex_);
  calls_.clear();
}

void FakeObjectStore::arrive(Call call, Finish finish) {
  {
    const MutexLock lock(mutex_);
    calls_.push_back(call);
    if (holding_ && !shut_down_) {
      held_.push_back({std::move(call), std::move(finish)});
      return;
    }
  }
  finish(verdict_on(call));
}

std::optional<s3::GetFailure> FakeObjectStore::verdict_on(const Call& call) {
  Verdict verdict;
  {
    const MutexLock lock(mutex_);
    if (shut_down_) return cancelled();
    std::deque<s3::GetFailure>& failures = failures_[call.operation];
    if (!failures.empty()) {
      s3::GetFailure failure = std::move(failures.front());
      failures.pop_front();
      return failure;
    }
    verdict = verdict_;
  }
  return verdict ? verdict(call) : std::nullopt;
}

void FakeObjectStore::head(std::string key, Deadline /*deadline*/, Done<s3::ObjectInfo> done) {
  Call call{.operation = Operation::kHead, .key = key, .token = {}, .window = {}};
  arrive(std::move(call), [this, key = std::move(key),
                           done = std::move(done)](std::optional<s3::GetFailure> failure) mutable {
    if (failure) return done(std::unexpected(std::move(failure->error)));
    done(answer_head(key));
  });
}

void FakeObjectStore::list(s3::ListRequest request, Deadline /*deadline*/,
                           Done<s3::ListPage> done) {
  Call call{.operation = Operation::kList,
            .key = request.prefix,
            .token = request.continuation_token,
            .window = {}};
  arrive(std::move(call), [this, request = std::move(request),
                           done = std::move(done)](std::optional<s3::GetFailure> failure) mutable {
    if (failure) return done(std::unexpected(std::move(failure->error)));
    done(answer_list(request));
  });
}

void FakeObjectStore::get(s3::GetRequest request, Deadline /*deadline*/, s3::GetDone done) {
  Call call{.operation = Operation::kGet,
            .key = request.key,
            .token = {},
            .offset_bytes = request.offset_bytes,
            .window = request.window};
  arrive(std::move(call), [this, request = std::move(request),
                           done = std::move(done)](std::optional<s3::GetFailure> failure) mutable {
    if (failure) return done(std::unexpected(std::move(*failure)));
    done(answer_get(request));
  });
}

void FakeObjectStore::shut_down() {
  {
    const MutexLock lock(mutex_);
    shut_down_ = true;
  }
  while (release()) {  // verdict_on() now cancels them all
  }
}

Result<s3::ObjectInfo> FakeObjectStore::answer_head(const std::string& key) const {
  const MutexLock lock(mutex_);
  const auto found = objects_.find(key);
  if (found == objects_.end()) return fail(ErrorCode::kNotFound, "no key '" + key + "'");
  const Object& object = found->second;
  return s3::ObjectInfo{key,
                        object.etag,
                        object.bytes.size(),
                        object.modified,
                        std::make_shared<const s3::UserMetadata>(object.metadata),
                        std::make_shared<const s3::StoredHeaders>(object.headers),
                        clock_.wall_now()};
}

Result<s3::ListPage> FakeObjectStore::answer_list(const s3::ListRequest& request) const {
  const MutexLock lock(mutex_);
  s3::ListPage page;
  const std::string last_of_page_before =
      request.continuation_token.empty() ? "" : request.continuation_token.substr(1);
  auto at = objects_.lower_bound(std::max(request.prefix, last_of_page_before));
  if (request.continuation_token.starts_with(kAfterKey)) {
    at = objects_.upper_bound(last_of_page_before);
  }
  const auto end = objects_.end();
  const auto skip_below = [&at, end](const std::string& prefix) {
    while (at != end && at->first.starts_with(prefix)) ++at;
  };
  if (request.continuation_token.starts_with(kAfterPrefix)) skip_below(last_of_page_before);
  if (request.continuation_token.empty() && request.start_after > request.prefix) {
    at = objects_.upper_bound(request.start_after);
  }

  const std::uint32_t keys_max = std::min(request.keys_max, page_keys_max_);
  std::string token;
  for (std::uint32_t keys = 0; at != end && at->first.starts_with(request.prefix); ++keys) {
    if (keys == keys_max) {
      page.next_token = token;
      break;
    }
    const auto& [key, object] = *at;
    const std::size_t delimiter = request.delimiter.empty() || ignores_delimiters_
                                      ? std::string::npos
                                      : key.find(request.delimiter, request.prefix.size());
    if (delimiter == std::string::npos) {
      page.objects.push_back({key, object.etag, object.bytes.size(), object.modified});
      token = kAfterKey + key;
      ++at;
    } else {
      const std::string prefix = key.substr(0, delimiter + request.delimiter.size());
      page.common_prefixes.push_back(prefix);
      token = kAfterPrefix + prefix;
      skip_below(prefix);
    }
  }
  if (repeats_tokens_ && !request.continuation_token.empty()) {
    page.next_token = request.continuation_token;
  }
  return page;
}

std::expected<s3::Path, s3::GetFailure> FakeObjectStore::answer_get(
    const s3::GetRequest& request) const {
  const MutexLock lock(mutex_);
  const auto failure = [](ErrorCode code, std::string detail) {
    return std::unexpected(s3::GetFailure{.error = {code, std::move(detail)}});
  };
  const auto found = objects_.find(request.key);
  if (found == objects_.end() || found->second.etag != request.etag) {
    return failure(ErrorCode::kStale, "no version " + request.etag + " of '" + request.key + "'");
  }
  const std::string& bytes = found->second.bytes;
  const std::span<std::byte> window = request.window.bytes();
  if (request.offset_bytes + window.size() > bytes.size()) {
    return failure(ErrorCode::kInvalidArgument, "the range ends past the end of the object");
  }
  std::memcpy(window.data(), bytes.data() + request.offset_bytes, window.size());
  return path_;
}

}  // namespace s3rdmafs::fakes
