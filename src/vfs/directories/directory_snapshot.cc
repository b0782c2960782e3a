// SPDX-License-Identifier: Apache-2.0
// Directory snapshot: one listing, many readers.
//
// Why a snapshot. POSIX lets a reader return to an offset it was given and find the same entries
// there (seekdir), and the kernel does return where its buffer was too small. A listing cannot be
// resumed in the middle of a page, so listed names are kept until the last handle is released, at
// about 50 bytes a name (name_store.cc). The budget of all snapshots is checked before a page is
// fetched. Where it is spent the read fails, and a later read tries again.
//
// Waiting. At most one page is being waited for (listing_pages.cc fetches several of a large
// directory). A reader beyond the snapshot waits. Each page answers
// the readers it can; the next fetch uses the first remaining reader's deadline. All reads have the
// same time limit, so the first in the queue also has the first deadline. A page ahead has the
// deadline of a read that has ended; where it fails, a reader that waits for it fetches it again
// with its own deadline.
//
// One page ahead. Otherwise server and program would take turns: the farther the server, the more
// of an `ls` is waiting. Only a reader that has asked twice gets a page ahead, so that a look at a
// directory costs one request; and one page only, which holds a thousand names.
//
// A store that answers on the caller's thread makes fetch_page() and on_page() recurse, once for
// each page without a name for the first reader. Only the store's shutdown and tests do that.
#include "vfs/directories/directory_snapshot.h"

#include <algorithm>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kDots = 2;  // "." and ".."

}  // namespace

DirectorySnapshot::DirectorySnapshot(Context context, std::string prefix,
                                     const std::string& root_prefix)
    : context_(std::move(context)),
      prefix_(std::move(prefix)),
      dots_{ListedName{".", Node::directory(prefix_), context_.clock.now()},
            ListedName{"..", Node::directory(parent_prefix(prefix_, root_prefix)),
                       context_.clock.now()}},
      pages_(std::make_shared<ListingPages>(context_.store, context_.clock, context_.servers,
                                            prefix_)),
      names_(prefix_),
      listing_(prefix_) {
  context_.budget->take(sizeof(dots_));
}

DirectorySnapshot::~DirectorySnapshot() {
  const MutexLock lock(mutex_);
  context_.budget->give_back(sizeof(dots_) + names_.bytes());
}

void DirectorySnapshot::keep(std::span<const ListedName> added) {
  const std::uint64_t before = names_.bytes();
  names_.add(added);
  context_.budget->take(names_.bytes() - before);
}

std::size_t DirectorySnapshot::size() const { return kDots + names_.size(); }

ListedName DirectorySnapshot::name_at(std::uint64_t offset) const {
  return offset < kDots ? dots_.at(offset) : names_.at(offset - kDots);
}

bool DirectorySnapshot::is_fresh(std::chrono::milliseconds fresh_for) const {
  const SeenAt now = context_.clock.now();
  const MutexLock lock(mutex_);
  return !has_failed_ && (!first_asked_ || now - *first_asked_ < fresh_for);
}

bool DirectorySnapshot::can_serve(std::uint64_t offset) const {
  return cursor_.is_at_end() || size() > std::max<std::uint64_t>(offset, kDots);
}

bool DirectorySnapshot::wants_next_page(std::uint64_t offset) const {
  return !cursor_.is_at_end() && offset > kDots && offset >= newest_page_;
}

DirectorySnapshot::Names DirectorySnapshot::slice(std::uint64_t offset,
                                                  std::size_t names_max) const {
  const std::size_t begin = std::min<std::uint64_t>(offset, size());
  const std::size_t count = std::min(names_max, size() - begin);
  Names names;
  names.reserve(count);
  for (std::size_t i = begin; i < begin + count; ++i) names.push_back(name_at(i));
  return names;
}

bool DirectorySnapshot::begin(Deadline deadline) {
  {
    const MutexLock lock(mutex_);
    if (fetching_ || first_asked_) return false;
    fetching_ = true;
    is_ahead_ = true;
  }
  fetch_page(deadline);
  return true;
}

void DirectorySnapshot::read(std::uint64_t offset, std::size_t names_max, Deadline deadline,
                             Done<Names> done) {
  Names names;
  bool fetches = false;
  {
    const MutexLock lock(mutex_);
    if (!can_serve(offset)) {
      waiting_.push_back({offset, names_max, deadline, std::exchange(done, nullptr)});
      fetches = !std::exchange(fetching_, true);
    } else {
      names = slice(offset, names_max);
      fetches = wants_next_page(offset) && !std::exchange(fetching_, true);
      is_ahead_ |= fetches;
    }
  }
  // A page that is here takes time to be read, in which the reader need not wait.
  const bool answers_first = done && fetches && pages_->is_ready();
  const auto self = shared_from_this();
  if (fetches && !answers_first) fetch_page(deadline);
  if (done) done(std::move(names));
  if (answers_first) fetch_page(deadline);
}

void DirectorySnapshot::fetch_page(Deadline deadline) {
  if (!context_.budget->has_room()) {
    return stop({ErrorCode::kNoMemory,
                 fmt::format("the listings of open directories use all of the {} bytes that "
                             "metadata.listing_memory allows",
                             context_.budget->bytes_max())});
  }
  const SeenAt now = context_.clock.now();
  std::string token;
  {
    const MutexLock lock(mutex_);
    token = cursor_.token();
    if (!first_asked_) first_asked_ = now;
  }
  auto on_page = [self = shared_from_this()](Result<ListingPages::Page> page) {
    if (!page) return self->on_failure(page.error());
    if (const auto passed = self->pass(page->page); !passed) return self->stop(passed.error());
    self->on_page(page->seen_at, std::move(page->page));
  };
  pages_->get(token, ListingPages::kSideBySide, deadline, std::move(on_page));
}

Result<void> DirectorySnapshot::pass(const s3::ListPage& page) {
  const MutexLock lock(mutex_);
  return cursor_.pass(page);
}

DirectorySnapshot::Added DirectorySnapshot::add(s3::ListPage page, SeenAt seen_at) {
  const std::uint64_t hidden_before = listing_.hidden();
  Added added{.names = listing_.add(std::move(page), seen_at), .position = names_.size()};
  added.hidden = listing_.hidden() - hidden_before;
  newest_page_ = size();
  keep(added.names);
  return added;
}

DirectorySnapshot::Answers DirectorySnapshot::take_answers() {
  Answers answers;
  std::deque<Reader> still_waiting;
  for (Reader& reader : waiting_) {
    if (!can_serve(reader.offset)) {
      still_waiting.push_back(std::move(reader));
      continue;
    }
    if (wants_next_page(reader.offset)) answers.next_deadline = reader.deadline;
    answers.readers.emplace_back(std::move(reader.done), slice(reader.offset, reader.names_max));
  }
  waiting_ = std::move(still_waiting);
  if (!waiting_.empty()) answers.next_deadline = waiting_.front().deadline;
  fetching_ = answers.next_deadline.has_value();
  is_ahead_ = fetching_ && waiting_.empty();
  return answers;
}

void DirectorySnapshot::on_page(SeenAt seen_at, s3::ListPage page) {
  Added added;
  Answers answers;
  {
    const MutexLock lock(mutex_);
    added = add(std::move(page), seen_at);
    answers = take_answers();
  }
  context_.hidden_keys.add(added.hidden);
  // Before the readers get a name, since they look it up next.
  context_.names->insert(added.names);
  context_.order->on_listed(prefix_, added.position, added.names);
  context_.siblings->on_listed(prefix_, added.position, added.names);
  const bool answers_first = pages_->is_ready();
  if (answers.next_deadline && !answers_first) fetch_page(*answers.next_deadline);
  for (auto& [done, names] : answers.readers) done(std::move(names));
  if (answers.next_deadline && answers_first) fetch_page(*answers.next_deadline);
}

// The store logs its own failures.
void DirectorySnapshot::stop(const Error& error) {
  bool is_news = false;
  {
    const MutexLock lock(mutex_);
    is_news = !has_failed_;
  }
  if (is_news) log::warn("listing of '{}' failed: {}", prefix_, error.detail);
  on_failure(error);
}

void DirectorySnapshot::on_failure(const Error& error) {
  std::deque<Reader> failed;
  std::optional<Deadline> next_deadline;
  {
    const MutexLock lock(mutex_);
    has_failed_ = true;
    // A reader that waits for a page ahead has more time than that page had.
    if (std::exchange(is_ahead_, false) && !waiting_.empty() &&
        error.code != ErrorCode::kCancelled) {
      next_deadline = waiting_.front().deadline;
    } else {
      fetching_ = false;
      failed = std::exchange(waiting_, {});
    }
  }
  if (next_deadline) return fetch_page(*next_deadline);
  for (Reader& reader : failed) reader.done(std::unexpected(error));
}

std::vector<ListedName> DirectorySnapshot::listed(std::uint64_t offset,
                                                  std::size_t names_max) const {
  const MutexLock lock(mutex_);
  return slice(offset, names_max);
}

}  // namespace s3rdmafs::vfs
