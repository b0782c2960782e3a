// SPDX-License-Identifier: Apache-2.0
// A listing that is split while it runs.
//
// Ranges. A thread lists one range of keys without delimiter, page after page. Where other threads
// are idle it asks which directories follow its last key (one request with a delimiter), cuts the
// rest of its range at some of them, and leaves the pieces to the others. So the cost is a request
// for each split, whatever the shape of the tree; a directory of files alone cannot be cut.
//
// Trust. The pieces rely on the server's order, and on start-after. Each page must ascend from the
// last. A server that ignores start-after answers with keys before it: then all is listed once more
// as one range.
//
// Locks. One, a leaf, of the ranges; it is not held while the server or the owner is asked.
#include "manifest/key_listing.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::manifest {
namespace {

// A server may answer an empty page now and then; one that does nothing else never ends.
constexpr unsigned kEmptyPagesMax = 1000;
constexpr std::chrono::seconds kProgressPause{1};

// The keys in (after, until].
struct KeyRange {
  std::string after;
  std::optional<std::string> until;  ///< nothing: no end

  [[nodiscard]] bool ends_before(const std::string& key) const { return until && key > *until; }
};

class KeyListing {
 public:
  using Take = std::function<Result<void>(std::vector<s3::ObjectInfo>)>;
  using OnProgress = std::function<void(const ListingProgress&)>;

  KeyListing(s3::ObjectStore& store, const Clock& clock, const ListingOptions& options,
             const Take& take)
      : store_(store), clock_(clock), options_(options), take_(take), idle_(options.jobs) {}

  Result<ListingProgress> run(const OnProgress& on_progress) {
    {
      const MutexLock lock(mutex_);
      ranges_.push_back({});
    }
    std::vector<std::jthread> threads;
    threads.reserve(options_.jobs);
    for (unsigned n = 0; n < options_.jobs; ++n) threads.emplace_back([this] { work(); });
    while (!wait_for_end()) on_progress(progress());
    threads.clear();
    const MutexLock lock(mutex_);
    if (error_) return std::unexpected(*error_);
    return progress();
  }

  [[nodiscard]] bool ignores_start_after() const { return ignores_start_after_; }

 private:
  ListingProgress progress() const { return {.keys = keys_, .requests = requests_}; }

  // All threads are idle, with nothing left to do; or one has failed, and all have ended.
  [[nodiscard]] bool is_over() const REQUIRES(mutex_) {
    return idle_ == options_.jobs && (ranges_.empty() || error_);
  }

  bool wait_for_end() {
    const Deadline next = clock_.now() + kProgressPause;
    const MutexLock lock(mutex_);
    while (!is_over() && clock_.wait_until(changed_, mutex_, next)) {
    }
    return is_over();
  }

  void work() {
    set_thread_name("manifest-list");
    while (auto range = take_range()) {
      auto walked = walk(std::move(*range));
      const MutexLock lock(mutex_);
      ++idle_;
      if (!walked && !error_) error_ = std::move(walked.error());
      changed_.notify_all();
    }
  }

  std::optional<KeyRange> take_range() {
    const MutexLock lock(mutex_);
    while (ranges_.empty() && !error_ && !is_over()) {
      clock_.wait_until(changed_, mutex_, clock_.now() + kProgressPause);
    }
    if (ranges_.empty() || error_) return std::nullopt;
    --idle_;
    KeyRange range = std::move(ranges_.front());
    ranges_.pop_front();
    return range;
  }

  [[nodiscard]] std::size_t unused_threads() {
    const MutexLock lock(mutex_);
    return idle_ > ranges_.size() ? idle_ - ranges_.size() : 0;
  }

  [[nodiscard]] bool has_failed() {
    const MutexLock lock(mutex_);
    return error_.has_value();
  }

  Result<s3::ListPage> ask(s3::ListRequest request) {
    ++requests_;
    std::promise<Result<s3::ListPage>> answer;
    auto answered = answer.get_future();
    store_.list(std::move(request), clock_.now() + options_.request_timeout,
                [&answer](Result<s3::ListPage> page) { answer.set_value(std::move(page)); });
    return answered.get();
  }

  Result<void> walk(KeyRange range) {
    std::string token;
    std::string last = range.after;
    unsigned empty_pages = 0;
    unsigned until_split = 1;  // pages; doubles while there is nothing to cut at
    unsigned next_wait = 1;
    do {
      auto page = ask({.prefix = options_.prefix,
                       .delimiter = "",
                       .continuation_token = token,
                       .start_after = token.empty() ? range.after : ""});
      if (!page) return std::unexpected(page.error());
      token = std::move(page->next_token);
      empty_pages = page->objects.empty() ? empty_pages + 1 : 0;
      if (empty_pages > kEmptyPagesMax) return never_ends();
      if (auto ok = check_order(range, last, page->objects); !ok) return ok;
      if (!page->objects.empty()) last = page->objects.back().key;
      if (auto taken = hand_over(range, std::move(page->objects)); !taken) return taken;
      if (token.empty() || range.ends_before(last)) return {};
      if (--until_split > 0 || unused_threads() == 0) {
        until_split = std::max(until_split, 1U);
        continue;
      }
      const auto is_split = split(range, last);
      if (!is_split) return std::unexpected(is_split.error());
      next_wait = *is_split ? 1 : 2 * next_wait;
      until_split = next_wait;
    } while (!has_failed());
    return {};
  }

  Result<void> check_order(const KeyRange& range, std::string_view last,
                           const std::vector<s3::ObjectInfo>& objects) {
    for (const s3::ObjectInfo& object : objects) {
      if (object.key <= last) {
        if (last == range.after) ignores_start_after_ = true;
        return fail(ErrorCode::kProtocol,
                    fmt::format("the server does not list keys in order: '{}' comes after '{}'",
                                object.key, last));
      }
      last = object.key;
    }
    return {};
  }

  static std::unexpected<Error> never_ends() {
    return fail(ErrorCode::kProtocol,
                "the server answers empty pages only: its listing never ends");
  }

  Result<void> hand_over(const KeyRange& range, std::vector<s3::ObjectInfo> objects) {
    while (!objects.empty() && range.ends_before(objects.back().key)) objects.pop_back();
    keys_ += objects.size();
    return objects.empty() ? Result<void>() : take_(std::move(objects));
  }

  // Leaves the part of the range that follows the next directory to idle threads. False where
  // there is nothing to cut at.
  Result<bool> split(KeyRange& range, const std::string& last) {
    const auto names = next_directories(range, last);
    if (!names) return std::unexpected(names.error());
    const std::size_t pieces = std::min(names->size(), unused_threads());
    if (pieces == 0) return false;
    const auto cut = [&](std::size_t n) { return (*names)[n * names->size() / pieces]; };
    const MutexLock lock(mutex_);
    for (std::size_t n = 0; n < pieces; ++n) {
      ranges_.push_back(
          {.after = cut(n), .until = n + 1 < pieces ? std::optional(cut(n + 1)) : range.until});
    }
    range.until = cut(0);
    changed_.notify_all();
    return true;
  }

  // The directories inside the range that follow its last key, at the first level that has any.
  Result<std::vector<std::string>> next_directories(const KeyRange& range,
                                                    const std::string& last) {
    std::string prefix = options_.prefix;
    for (;;) {
      auto page =
          ask({.prefix = prefix, .delimiter = "/", .continuation_token = "", .start_after = last});
      if (!page) return std::unexpected(page.error());
      std::vector<std::string> names = std::move(page->common_prefixes);
      std::erase_if(names,
                    [&](const auto& name) { return name <= last || range.ends_before(name); });
      const std::size_t slash = last.find('/', prefix.size());
      if (!names.empty() || !page->objects.empty() || slash == std::string::npos) return names;
      prefix = last.substr(0, slash + 1);  // all that follows is in the directory of `last`
    }
  }

  s3::ObjectStore& store_;
  const Clock& clock_;
  const ListingOptions& options_;
  const Take& take_;
  std::atomic<std::uint64_t> keys_ = 0;
  std::atomic<std::uint64_t> requests_ = 0;
  std::atomic<bool> ignores_start_after_ = false;

  Mutex mutex_;  // leaf
  CondVar changed_;
  std::deque<KeyRange> ranges_ GUARDED_BY(mutex_);  ///< that no thread has begun
  std::size_t idle_ GUARDED_BY(mutex_);
  std::optional<Error> error_ GUARDED_BY(mutex_);  ///< the first
};

}  // namespace

Result<ListingProgress> list_keys(s3::ObjectStore& store, const Clock& clock,
                                  const ListingOptions& options, const KeyListing::Take& take,
                                  const KeyListing::OnProgress& on_progress) {
  KeyListing split(store, clock, options, take);
  auto listed = split.run(on_progress);
  if (listed || !split.ignores_start_after()) return listed;
  log::warn("the server ignores start-after; its keys are listed one page after another");
  ListingOptions serial = options;
  serial.jobs = 1;
  return KeyListing(store, clock, serial, take).run(on_progress);
}

}  // namespace s3rdmafs::manifest
