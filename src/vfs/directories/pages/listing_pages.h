// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s3/object_store.h"
#include "s3rdmafs/base/callback.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"
#include "vfs/directories/pages/key_scale.h"
#include "vfs/names/node.h"

namespace s3rdmafs::vfs {

/// The pages of one directory's listing, one after another. Where the first two show a large flat
/// directory, the next ones are fetched side by side; their keys are in the order of bytes all the
/// same. Shared: a page under way keeps it alive. Thread-safe.
class ListingPages : public std::enable_shared_from_this<ListingPages> {
 public:
  /// Pages fetched side by side, and kept until they are asked for: 8,000 names, some 3 MB.
  static constexpr std::size_t kSideBySide = 8;

  /// The knowledge of a mount about its servers. A server that lists out of order, or that ignores
  /// or refuses where a page is to begin, is asked for one page after another from then on.
  struct Servers {
    /// Shorter pages show no large directory.
    std::size_t page_keys_min = 100;
    std::atomic<bool> list_in_order = true;
    /// A page began where it was told to. Until then none is given out that others were fetched
    /// beside, so that a server which cannot do this is found out in time.
    std::atomic<bool> begin_where_told = false;
  };
  struct Page {
    s3::ListPage page;
    SeenAt seen_at;  ///< when it was asked for
  };

  /// Borrows the store and the clock.
  ListingPages(s3::ObjectStore& store, const Clock& clock, std::shared_ptr<Servers> servers,
               std::string prefix)
      : store_(store), clock_(clock), servers_(std::move(servers)), prefix_(std::move(prefix)) {}

  /// The page that `token` (of the page before; empty for the first) leads to. One call at a time.
  /// After an error the same page may be asked for again. Errors: the store's; kProtocol (the
  /// server has shown that it cannot be listed side by side: what was given out may lack names).
  /// @param ahead_max  so many pages after this one may be fetched before they are asked for; those
  ///                   that never are stay in memory, and age
  void get(const std::string& token, std::size_t ahead_max, Deadline deadline, Done<Page> done);
  /// Whether get() of the next page would be answered at once, on the caller's thread.
  [[nodiscard]] bool is_ready();

 private:
  enum class State { kPlanned, kFetching, kReady };
  /// A part of the listing that becomes one page: the keys in (after, up_to].
  struct Slot {
    std::uint64_t number = 0;
    std::string after;
    std::optional<std::string> up_to;  ///< nothing: to the end
    std::string token;                 ///< continues a page before; empty: begins at `after`
    State state = State::kPlanned;
    Deadline deadline;  ///< of the request
    Page page;
  };
  struct Reader {
    Deadline deadline;
    Done<Page> done;
  };
  /// Work for the time after the lock.
  struct Work {
    std::vector<std::pair<std::uint64_t, s3::ListRequest>> requests;
    Done<Page> done;
    Result<Page> answer;
  };

  void get_serially(const std::string& token, Deadline deadline, Done<Page> done);
  void on_serial_page(const s3::ListPage& page);
  /// Sends what may be sent now, and gives the reader what is there.
  void go_on(Deadline deadline);
  void on_page(std::uint64_t slot, SeenAt seen_at, Result<s3::ListPage> page);

  void plan(Deadline deadline, Work& work) REQUIRES(mutex_);
  void split(std::list<Slot>::iterator slot, std::size_t slots_max) REQUIRES(mutex_);
  void take_front(Work& work) REQUIRES(mutex_);
  [[nodiscard]] bool is_in_doubt() const REQUIRES(mutex_);
  static bool shows_unfit_server(const Slot& slot, const Result<s3::ListPage>& page);
  void keep(std::list<Slot>::iterator slot, SeenAt seen_at, s3::ListPage page) REQUIRES(mutex_);
  /// The server cannot be listed this way. Returns the reader to be answered serially, if any.
  std::optional<Reader> give_up(Work& work) REQUIRES(mutex_);
  /// The request of a slot has failed. Returns by when to send it again at once, if at all.
  std::optional<Deadline> put_back(std::list<Slot>::iterator slot, Error error, Work& work)
      REQUIRES(mutex_);
  void learn_distance(const s3::ListPage& page) REQUIRES(mutex_);

  s3::ObjectStore& store_;
  const Clock& clock_;
  const std::shared_ptr<Servers> servers_;
  const std::string prefix_;

  Mutex mutex_;  // leaf
  std::size_t serial_pages_ GUARDED_BY(mutex_) = 0;
  std::size_t page_keys_ GUARDED_BY(mutex_) = 0;  ///< of the first page: the server's limit
  std::string last_key_ GUARDED_BY(mutex_);       ///< of the serial pages
  std::string serial_token_ GUARDED_BY(mutex_);   ///< where the serial pages ended
  bool is_parallel_ GUARDED_BY(mutex_) = false;
  bool is_lost_ GUARDED_BY(mutex_) = false;  ///< out of order after pages were given out
  std::optional<KeyScale> scale_ GUARDED_BY(mutex_);
  std::uint64_t distance_ GUARDED_BY(mutex_) = 0;  ///< of the ends of one page, on the scale
  std::list<Slot> slots_ GUARDED_BY(mutex_);       ///< in the order of keys
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  std::uint64_t given_ GUARDED_BY(mutex_) = 0;    ///< parallel pages
  std::size_t ahead_max_ GUARDED_BY(mutex_) = 0;  ///< of the newest call
  std::optional<Reader> reader_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::vfs
