// SPDX-License-Identifier: Apache-2.0
// One listing by several requests at once.
//
// Why. A page needs the token of the page before, so a listing of a million keys is a thousand
// round trips. But a listing may also begin after any key. Where two full pages have shown what the
// keys of a directory look like (key_scale.h), the places at which the next pages begin are
// guessed.
//
// How. The rest of the listing is a row of slots, each a range of keys that becomes one page. A
// slot whose page does not reach the end of its range leaves the rest as another slot, and one
// whose page reaches beyond it drops what belongs to the next. So every key is in exactly one page,
// however wrong the guesses are: too close, and the pages overlap; too far, and a slot becomes
// several. A slot that is not fetched yet is split when its turn comes, by the distance of the
// newest pages.
//
// It relies on ascending keys, and on a first key after `start-after`. Both are checked in each
// page, and the first answers of a mount's servers are waited for before one is given out. A server
// that breaks this, or refuses such a request, before anything was given out is listed serially
// from where the serial pages ended, else the listing fails, once: the next one is serial.
//
// Cost. As many pages ahead of the reader as it allows, at most kSideBySide, and one key in fifty
// twice.
#include "vfs/directories/pages/listing_pages.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace s3rdmafs::vfs {
namespace {

/// Whether keys and common prefixes ascend and sort after `after`.
bool page_is_in_order(const s3::ListPage& page, const std::string& after,
                      bool may_reach_into_prefix) {
  const auto ascends = [](const auto& range, auto key_of) {
    return std::ranges::adjacent_find(range, std::ranges::greater_equal(), key_of) == range.end();
  };
  if (!ascends(page.objects, &s3::ObjectInfo::key)) return false;
  if (!ascends(page.common_prefixes, std::identity())) return false;
  if (!page.objects.empty() && page.objects.front().key <= after) return false;
  if (page.common_prefixes.empty() || page.common_prefixes.front() > after) return true;
  // The keys below it may sort after `after`, although the prefix itself does not.
  return may_reach_into_prefix && after.starts_with(page.common_prefixes.front());
}

/// Empty where the page is.
std::string last_of(const s3::ListPage& page) {
  std::string last;
  if (!page.objects.empty()) last = page.objects.back().key;
  if (!page.common_prefixes.empty()) last = std::max(last, page.common_prefixes.back());
  return last;
}

/// Drops what is not in (after, up_to].
void keep_range(s3::ListPage& page, const std::string& after,
                const std::optional<std::string>& up_to) {
  const auto is_outside = [&](const std::string& key) {
    return key <= after || (up_to && key > *up_to);
  };
  std::erase_if(page.objects, [&](const auto& object) { return is_outside(object.key); });
  std::erase_if(page.common_prefixes, is_outside);
}

std::unexpected<Error> unfit_server(const std::string& prefix) {
  return fail(ErrorCode::kProtocol,
              "the server lists '" + prefix +
                  "' out of order, or from no key on; list the directory again, it is then "
                  "fetched one page after another");
}

}  // namespace

void ListingPages::get(const std::string& token, std::size_t ahead_max, Deadline deadline,
                       Done<Page> done) {
  {
    const MutexLock lock(mutex_);
    ahead_max_ = ahead_max;
    if (is_parallel_) reader_ = Reader{deadline, std::exchange(done, nullptr)};
  }
  if (done) return get_serially(token, deadline, std::move(done));
  go_on(deadline);
}

bool ListingPages::is_ready() {
  const MutexLock lock(mutex_);
  return !slots_.empty() && slots_.front().state == State::kReady && !is_in_doubt();
}

void ListingPages::get_serially(const std::string& token, Deadline deadline, Done<Page> done) {
  store_.list({.prefix = prefix_, .delimiter = "/", .continuation_token = token}, deadline,
              [self = shared_from_this(), seen_at = clock_.now(),
               done = std::move(done)](Result<s3::ListPage> page) mutable {
                if (!page) return done(std::unexpected(std::move(page.error())));
                self->on_serial_page(*page);
                done(Page{std::move(*page), seen_at});
              });
}

void ListingPages::on_serial_page(const s3::ListPage& page) {
  if (!servers_->list_in_order) return;
  const MutexLock lock(mutex_);
  if (!page_is_in_order(page, last_key_, /*may_reach_into_prefix=*/false)) {
    servers_->list_in_order = false;
    return;
  }
  const bool is_flat = page.common_prefixes.empty() && !page.objects.empty();
  const bool is_full = ++serial_pages_ == 1 || page.objects.size() == page_keys_;
  last_key_ = last_of(page);
  page_keys_ = page.objects.size();
  const bool is_large = is_full && page_keys_ >= servers_->page_keys_min;
  if (serial_pages_ != 2 || !is_flat || !is_large || page.next_token.empty()) return;
  serial_token_ = page.next_token;
  scale_.emplace(prefix_, page.objects);
  learn_distance(page);
  slots_.push_back({.number = ++last_number_,
                    .after = last_key_,
                    .up_to = std::nullopt,
                    .token = page.next_token,
                    .deadline = {},
                    .page = {}});
  is_parallel_ = true;
}

void ListingPages::learn_distance(const s3::ListPage& page) {
  if (page.objects.size() < 2) return;
  const std::uint64_t first = scale_->number_of(page.objects.front().key);
  const std::uint64_t last = scale_->number_of(page.objects.back().key);
  // Slightly less, so that a page seldom ends just before its slot.
  if (last > first) distance_ = std::max<std::uint64_t>(1, (last - first) / 50 * 49);
}

// The first slot keeps the token. A guess that is not within the range ends the splitting.
void ListingPages::split(std::list<Slot>::iterator slot, std::size_t slots_max) {
  const std::uint64_t begin = scale_->number_of(slot->after);
  for (std::size_t i = 1; i < slots_max && distance_ > 0; ++i) {
    std::string border = scale_->key_of(begin + i * distance_);
    if (border <= slot->after || (slot->up_to && border >= *slot->up_to)) return;
    Slot rest{.number = ++last_number_,
              .after = border,
              .up_to = std::exchange(slot->up_to, border),
              .token = {},
              .deadline = {},
              .page = {}};
    slot = slots_.insert(std::next(slot), std::move(rest));
  }
}

void ListingPages::plan(Deadline deadline, Work& work) {
  auto active = static_cast<std::size_t>(std::ranges::count_if(
      slots_, [](const Slot& slot) { return slot.state != State::kPlanned; }));
  const std::size_t active_max = std::min(kSideBySide, ahead_max_ + (reader_ ? 1 : 0));
  for (auto slot = slots_.begin(); slot != slots_.end(); ++slot) {
    // The rest of a slot may come before pages that are there.
    const bool is_waited_for = reader_ && slot == slots_.begin();
    if (active >= active_max && !is_waited_for) return;
    if (slot->state != State::kPlanned) continue;
    split(slot, std::max(active + 1, active_max) - active);
    slot->state = State::kFetching;
    slot->deadline = deadline;
    ++active;
    s3::ListRequest request{.prefix = prefix_, .delimiter = "/", .continuation_token = slot->token};
    if (slot->token.empty()) request.start_after = slot->after;
    work.requests.emplace_back(slot->number, std::move(request));
  }
}

bool ListingPages::is_in_doubt() const {
  return !servers_->begin_where_told && std::ranges::any_of(slots_, [](const Slot& slot) {
    return slot.state == State::kFetching && slot.token.empty();
  });
}

void ListingPages::take_front(Work& work) {
  if (!reader_ || slots_.empty() || slots_.front().state != State::kReady) return;
  if (is_in_doubt()) return;
  work.done = std::move(reader_->done);
  reader_.reset();
  Page page = std::move(slots_.front().page);
  slots_.pop_front();
  ++given_;
  page.page.next_token = slots_.empty() ? "" : "parallel page " + std::to_string(given_);
  work.answer = std::move(page);
}

void ListingPages::go_on(Deadline deadline) {
  Work work;
  {
    const MutexLock lock(mutex_);
    if (is_lost_ && reader_) {
      work.done = std::move(reader_->done);
      reader_.reset();
      work.answer = unfit_server(prefix_);
    } else {
      take_front(work);
      plan(deadline, work);
    }
  }
  for (auto& [number, request] : work.requests) {
    store_.list(std::move(request), deadline,
                [self = shared_from_this(), slot = number, seen_at = clock_.now()](
                    Result<s3::ListPage> page) { self->on_page(slot, seen_at, std::move(page)); });
  }
  if (work.done) work.done(std::move(work.answer));
}

void ListingPages::keep(std::list<Slot>::iterator slot, SeenAt seen_at, s3::ListPage page) {
  if (slot->token.empty()) servers_->begin_where_told = true;
  learn_distance(page);
  const std::string last = last_of(page);
  const bool reaches_end = page.next_token.empty() || (slot->up_to && last >= *slot->up_to);
  if (!reaches_end) {
    Slot rest{.number = ++last_number_,
              .after = std::max(slot->after, last),
              .up_to = slot->up_to,
              .token = page.next_token,
              .deadline = {},
              .page = {}};
    slots_.insert(std::next(slot), std::move(rest));
  }
  keep_range(page, slot->after, slot->up_to);
  slot->page = {std::move(page), seen_at};
  slot->state = State::kReady;
}

bool ListingPages::shows_unfit_server(const Slot& slot, const Result<s3::ListPage>& page) {
  if (page) return !page_is_in_order(*page, slot.after, /*may_reach_into_prefix=*/true);
  const ErrorCode code = page.error().code;
  const bool is_refused = code == ErrorCode::kInvalidArgument || code == ErrorCode::kUnsupported;
  return is_refused && slot.token.empty();  // the others of this listing were answered
}

std::optional<ListingPages::Reader> ListingPages::give_up(Work& work) {
  servers_->list_in_order = false;
  slots_.clear();
  is_lost_ = given_ > 0;
  is_parallel_ = is_lost_;
  std::optional<Reader> reader = std::exchange(reader_, std::nullopt);
  if (!is_lost_ || !reader) return reader;
  work.done = std::move(reader->done);
  work.answer = unfit_server(prefix_);
  return std::nullopt;
}

std::optional<Deadline> ListingPages::put_back(std::list<Slot>::iterator slot, Error error,
                                               Work& work) {
  slot->state = State::kPlanned;
  if (slot != slots_.begin() || !reader_) {
    // The reader's page may have been kept back for this answer alone. Nothing is sent again until
    // the next page is asked for: a server that fails everything would be flooded.
    take_front(work);
    return std::nullopt;
  }
  // A reader that came later has more time.
  const bool has_time = reader_->deadline > slot->deadline;
  if (has_time && error.code != ErrorCode::kCancelled) return reader_->deadline;
  work.done = std::move(reader_->done);
  reader_.reset();
  work.answer = std::unexpected(std::move(error));
  return std::nullopt;
}

void ListingPages::on_page(std::uint64_t number, SeenAt seen_at, Result<s3::ListPage> page) {
  Work work;
  std::optional<Deadline> next;  // by when to fetch more
  std::optional<Reader> serial_reader;
  std::string serial_token;
  {
    const MutexLock lock(mutex_);
    const auto slot = std::ranges::find(slots_, number, &Slot::number);
    if (slot == slots_.end()) return;  // given up
    if (shows_unfit_server(*slot, page)) {
      serial_reader = give_up(work);
      serial_token = serial_token_;
    } else if (!page) {
      next = put_back(slot, std::move(page.error()), work);
    } else {
      next = slot->deadline;
      keep(slot, seen_at, std::move(*page));
    }
  }
  if (next) return go_on(*next);
  if (serial_reader) {
    return get_serially(serial_token, serial_reader->deadline, std::move(serial_reader->done));
  }
  if (work.done) work.done(std::move(work.answer));
}

}  // namespace s3rdmafs::vfs
