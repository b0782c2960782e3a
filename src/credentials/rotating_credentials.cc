// SPDX-License-Identifier: Apache-2.0
// Keys that are replaced while a mount uses them.
//
// Two clocks. Keys end at a time of day, which may be set while the mount runs or pass while the
// machine sleeps; waits go by the steady clock. So the thread looks at the time of day every few
// seconds, and get() at each call.
//
// Cost. A request: a lock and a copy of three strings.
#include "credentials/rotating_credentials.h"

#include <algorithm>
#include <utility>

#include <fmt/chrono.h>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/thread_name.h"

namespace s3rdmafs::credentials {
namespace {

using std::chrono::system_clock;

std::string text_of(system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::floor<std::chrono::seconds>(time)));
}

}  // namespace

RotatingCredentials::RotatingCredentials(std::unique_ptr<KeySource> source, FetchedKeys first,
                                         std::string origin, const Clock& clock,
                                         metrics::Registry& metrics)
    : source_(std::move(source)),
      origin_(std::move(origin)),
      clock_(clock),
      renewals_(metrics.counter("credentials_renewals_total",
                                "Times that the mount got other keys than before.")),
      failures_(metrics.counter("credentials_failures_total",
                                "Times that the mount asked for keys in vain.")),
      end_(metrics.gauge("credentials_end_seconds",
                         "End of the present keys, in seconds since 1970; 0: they have none.")) {
  take(std::move(first));
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

Result<s3::Credentials> RotatingCredentials::get() {
  const Time now = clock_.wall_now();
  const MutexLock lock(mutex_);
  if (!keys_.end || now < *keys_.end) return keys_.keys;
  is_wanted_ = true;  // the clock was set, or the machine has slept
  wake_.notify_all();
  return fail(ErrorCode::kNoCredentials,
              fmt::format("the keys from {} ended at {}, and no new ones came: {}", origin_,
                          text_of(*keys_.end),
                          last_error_.empty() ? "they were not asked for yet" : last_error_));
}

std::optional<RotatingCredentials::Time> RotatingCredentials::renewal_time() const {
  const MutexLock lock(mutex_);
  if (!keys_.end) return std::nullopt;
  const auto time = std::max(*keys_.end - fetched_at_, system_clock::duration(0));
  return *keys_.end - std::min<system_clock::duration>(time / 4, kAheadMax);
}

void RotatingCredentials::run(const std::stop_token& stop) {
  set_thread_name("credentials");
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);  // no wait is between its look at `stop` and its begin
    wake_.notify_all();
  });
  while (!stop.stop_requested()) {
    const auto due = renewal_time();
    // The wait counts from the earlier of the two: what happens between them shortens it.
    const Deadline now = clock_.now();
    const Time wall_now = clock_.wall_now();
    const bool is_due = due && wall_now >= *due;
    if (now >= not_before_ && (is_due || source_->may_have_changed())) {
      fetch(stop);
      continue;
    }
    Deadline next = now + kLook;
    if (due && !is_due) next = std::min(next, now + (*due - wall_now));
    if (not_before_ > now) next = std::min(next, not_before_);
    wait(stop, next);
  }
}

void RotatingCredentials::wait(const std::stop_token& stop, Deadline time) {
  const MutexLock lock(mutex_);
  while (!stop.stop_requested() && clock_.now() < time) {
    clock_.wait_until(wake_, mutex_, time);
    if (is_wanted_ && clock_.now() >= not_before_) break;
  }
  is_wanted_ = false;
}

void RotatingCredentials::fetch(const std::stop_token& stop) {
  auto fetched = source_->fetch(stop);
  if (stop.stop_requested()) return;
  if (!fetched) return on_failure(std::move(fetched.error()));
  if (fetched->end && *fetched->end <= clock_.wall_now()) {
    return on_failure({ErrorCode::kNoCredentials,
                       "the source gave keys that ended at " + text_of(*fetched->end),
                       {}});
  }
  const auto end = fetched->end;
  const bool is_new = take(std::move(*fetched));
  retry_ = kRetryMin;
  last_warning_.clear();
  // A source may give the same keys until they nearly end.
  const auto pause = end && !is_new ? (*end - clock_.wall_now()) / 8 : system_clock::duration(0);
  not_before_ = clock_.now() + std::clamp<system_clock::duration>(pause, kRetryMin, kRetryMax);
}

bool RotatingCredentials::take(FetchedKeys fetched) {
  const auto end = fetched.end;
  bool is_new = false;
  {
    const MutexLock lock(mutex_);
    is_new = keys_ != fetched;
    // Of keys that came before, the time runs on.
    if (is_new) fetched_at_ = clock_.wall_now();
    keys_ = std::move(fetched);
    last_error_.clear();
  }
  end_.set(end ? std::chrono::duration_cast<std::chrono::seconds>(end->time_since_epoch()).count()
               : 0);
  if (!is_new) return false;
  renewals_.add();
  log::info("credentials: keys came from {}{}", origin_,
            end ? "; they end at " + text_of(*end) : "");
  return true;
}

void RotatingCredentials::on_failure(Error error) {
  failures_.add();
  std::string present = "the present keys stay";
  {
    const MutexLock lock(mutex_);
    if (keys_.end) {
      const bool have_ended = *keys_.end <= clock_.wall_now();
      present = fmt::format("the present keys {} at {}", have_ended ? "ended" : "end",
                            text_of(*keys_.end));
      if (have_ended) present += ", so requests fail";
    }
    last_error_ = error.detail;
  }
  const std::string warning =
      fmt::format("no keys from {}: {}; {}", origin_, error.detail, present);
  // The same every half minute would fill the log.
  const auto level = warning == last_warning_ ? log::Level::kDebug : log::Level::kWarn;
  log::line(level, "credentials: {}, and the next attempt comes within {} s", warning,
            kRetryMax.count());
  last_warning_ = warning;
  not_before_ = clock_.now() + retry_;
  retry_ = std::min(retry_ * 2, kRetryMax);
}

}  // namespace s3rdmafs::credentials
