// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "fakes/fake_clock.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/metrics/registry.h"
#include "vfs/directories/directory_snapshot.h"

namespace s3rdmafs::vfs {

using std::chrono::seconds;
using Operation = fakes::FakeObjectStore::Operation;

/// The context that a directory snapshot needs, over a fake bucket.
struct SnapshotRig {
  static constexpr std::uint64_t kBudget = 16 * kMiB;

  [[nodiscard]] DirectorySnapshot::Context context() {
    return {.store = store,
            .clock = clock,
            .hidden_keys = hidden,
            .names = names,
            .order = order,
            .siblings = siblings,
            .budget = budget,
            .servers = servers};
  }

  fakes::FakeClock clock;
  metrics::Counter hidden;
  metrics::Gauge listing_bytes;
  std::shared_ptr<SnapshotBudget> budget = std::make_shared<SnapshotBudget>(kBudget, listing_bytes);
  std::shared_ptr<DirectoryOrder> order = std::make_shared<DirectoryOrder>(100);
  std::shared_ptr<ListingPages::Servers> servers = std::make_shared<ListingPages::Servers>();
  std::shared_ptr<SiblingOrder> siblings = std::make_shared<SiblingOrder>(100);
  std::shared_ptr<NameCache> names =
      std::make_shared<NameCache>(clock, NameCache::Limits{.ttl = std::chrono::seconds(30),
                                                           .negative_ttl = std::chrono::seconds(5),
                                                           .entries_max = 100});
  fakes::FakeObjectStore store{clock};
};

}  // namespace s3rdmafs::vfs
