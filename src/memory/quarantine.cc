// SPDX-License-Identifier: Apache-2.0
// fence() waits for the server, up to 5 s each, and completions must not wait: hence the thread. A
// thread that is finishing calls no fence any more, so that a server that does not answer cannot
// delay the end of the mount by its number of regions.
#include "memory/quarantine.h"

#include <utility>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::memory {

void Quarantine::add(rdma::MemoryRegion& region, OnFenced on_fenced) {
  thread_.post([this, entry = Entry{&region, std::move(on_fenced)}]() mutable {
    // After a failure the next fence waits for the tick, as retry() says.
    if (!unfenced_.empty()) return unfenced_.push_back(std::move(entry));
    fence(std::move(entry));
  });
}

void Quarantine::retry() {
  for (std::size_t left = unfenced_.size(); left > 0; --left) {
    Entry entry = std::move(unfenced_.front());
    unfenced_.pop_front();
    if (!fence(std::move(entry))) return;
  }
}

bool Quarantine::fence(Entry entry) {
  if (thread_.is_finishing()) return false;
  const auto fenced = entry.region->fence();
  if (fenced) {
    entry.on_fenced();
    return true;
  }
  log::debug("memory: fence failed: {}; the memory stays out of use", fenced.error().detail);
  unfenced_.push_back(std::move(entry));
  return false;
}

}  // namespace s3rdmafs::memory
