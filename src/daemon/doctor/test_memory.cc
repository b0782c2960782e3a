// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/test_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <random>

#include "cache/memory_file.h"

namespace s3rdmafs::daemon::doctor {

Result<std::unique_ptr<TestMemory>> TestMemory::create(rdma::Fabric& fabric) {
  auto file = cache::make_memory_file(2 * kBytes);
  if (!file) return std::unexpected(file.error());
  std::unique_ptr<TestMemory> memory(new TestMemory());
  memory->file_ = std::move(file->fd);
  void* const at =
      ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file_.get(), 0);
  if (at == MAP_FAILED) return fail_errno("mapping test memory", errno);
  memory->bytes_ = {static_cast<std::byte*>(at), 2 * kBytes};

  const auto half = [&memory](std::size_t offset) {
    return rdma::Backing{.fd = memory->file_.get(),
                         .offset_bytes = offset,
                         .bytes = memory->bytes_.subspan(offset, kBytes)};
  };
  auto landing = fabric.register_memory(half(0), rdma::Access::kRemoteWrite);
  if (!landing) return std::unexpected(landing.error());
  memory->landing_ = std::move(*landing);
  auto source = fabric.register_memory(half(kBytes), rdma::Access::kRemoteRead);
  if (!source) return std::unexpected(source.error());
  memory->source_ = std::move(*source);

  // Random, so that a packet that is lost, doubled or out of place always shows.
  std::mt19937_64 random(std::random_device{}());
  memory->expected_.resize(kBytes);
  for (std::byte& byte : memory->expected_) byte = static_cast<std::byte>(random());
  return memory;
}

TestMemory::~TestMemory() {
  landing_.reset();
  source_.reset();
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace s3rdmafs::daemon::doctor
