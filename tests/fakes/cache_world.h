// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "memory/arena.h"
#include "s3rdmafs/metrics/registry.h"

namespace s3rdmafs::fakes {

/// Clock, counters, fabric and store of a cache. Tests of caches derive from it, so it outlives
/// what they make of it.
class CacheWorld {
 protected:
  /// Memory for a block cache, a slab being 8 MiB.
  std::unique_ptr<memory::Arena> make_arena(std::size_t slabs) {
    return memory::Arena::create(slabs * memory::Arena::kSlabBytes, memory::Arena::Lock::kOff,
                                 fabric_)
        .value();
  }

  FakeClock clock_;
  metrics::Registry metrics_;
  FakeFabric fabric_;
  FakeObjectStore store_{clock_};
};

}  // namespace s3rdmafs::fakes
