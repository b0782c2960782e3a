// SPDX-License-Identifier: Apache-2.0
#include "memory/arena.h"

#include <algorithm>

#include "memory/available_memory.h"

namespace s3rdmafs::memory {

Result<std::unique_ptr<Arena>> Arena::create(std::uint64_t size_bytes, Lock lock,
                                             rdma::Fabric& fabric, const Use& use) {
  const std::uint64_t budget_bytes = std::max(use.budget_bytes, size_bytes);
  if (const std::uint64_t available = available_memory_bytes(); budget_bytes > available) {
    const std::string size_key(use.size_key);
    return fail_with_advice(ErrorCode::kNoMemory,
                            size_key + " is " + format_size(budget_bytes) +
                                ", but the machine (or the control group) has " +
                                std::to_string(available / kMiB) + "MiB of memory left",
                            "lower " + size_key);
  }
  auto file = make_memory_file(size_bytes);
  if (!file) return std::unexpected(file.error());
  auto memory = MappedMemory::map(file->fd.get(), size_bytes);
  if (!memory) return std::unexpected(memory.error());
  std::unique_ptr<Arena> arena(new Arena(std::move(*file), std::move(*memory), use.slab_bytes));

  const MappedMemory& mapped = arena->memory_;
  if (auto done = mapped.populate(use.size_key); !done) return std::unexpected(done.error());
  if (auto done = mapped.lock(lock, budget_bytes, use.size_key); !done)
    return std::unexpected(done.error());
  for (std::uint64_t offset = 0; offset < size_bytes; offset += use.slab_bytes) {
    const rdma::Backing backing{.fd = arena->file_.fd.get(),
                                .offset_bytes = offset,
                                .bytes = mapped.bytes().subspan(offset, use.slab_bytes)};
    auto region = fabric.register_memory(backing, use.access);
    if (!region) return std::unexpected(region.error());
    arena->regions_.push_back(std::move(*region));
  }
  return arena;
}

}  // namespace s3rdmafs::memory
