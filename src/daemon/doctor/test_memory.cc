// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/test_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "memory/memory_file.h"

namespace s3rdmafs::daemon::doctor {

Result<std::unique_ptr<TestMemory>> TestMemory::create(rdma::Fabric& fabric, std::size_t bytes) {
  auto file = memory::make_memory_file(2 * bytes);
  if (!file) return std::unexpected(file.error());
  std::unique_ptr<TestMemory> memory(new TestMemory(bytes));
  memory->file_ = std::move(file->fd);
  void* const at =
      ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory->file_.get(), 0);
  if (at == MAP_FAILED) return fail_errno("mapping test memory", errno);
  memory->bytes_ = {static_cast<std::byte*>(at), 2 * bytes};

  const auto half = [&memory, bytes](std::size_t offset) {
    return rdma::Backing{.fd = memory->file_.get(),
                         .offset_bytes = offset,
                         .bytes = memory->bytes_.subspan(offset, bytes)};
  };
  auto landing = fabric.register_memory(half(0), rdma::Access::kRemoteWrite);
  if (!landing) return std::unexpected(landing.error());
  memory->landing_ = std::move(*landing);
  auto source = fabric.register_memory(half(bytes), rdma::Access::kRemoteRead);
  if (!source) return std::unexpected(source.error());
  memory->source_ = std::move(*source);

  return memory;
}

void TestMemory::expect_other_bytes() {
  std::mt19937_64 random(std::random_device{}());
  expected_.resize(region_bytes_);
  for (std::size_t at = 0; at < region_bytes_; at += sizeof(std::uint64_t)) {
    const std::uint64_t bytes = random();
    std::memcpy(expected_.data() + at, &bytes, sizeof(bytes));
  }
}

TestMemory::~TestMemory() {
  landing_.reset();
  source_.reset();
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

}  // namespace s3rdmafs::daemon::doctor
