// SPDX-License-Identifier: Apache-2.0
#include "fakes/allocation_count.h"

#include <cstdlib>
#include <new>

namespace s3rdmafs::fakes {
namespace {

thread_local std::size_t allocations = 0;

}  // namespace

std::size_t allocations_of_this_thread() noexcept { return allocations; }

}  // namespace s3rdmafs::fakes

#ifndef S3RDMAFS_NO_ALLOCATION_COUNT

void* operator new(std::size_t size) {
  ++s3rdmafs::fakes::allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

#endif
