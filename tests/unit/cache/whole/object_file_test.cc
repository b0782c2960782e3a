// SPDX-License-Identifier: Apache-2.0
#include "cache/whole/object_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cstring>

#include <gtest/gtest.h>

#include "fakes/rdma/fake_fabric.h"
#include "fakes/tmpfs_file.h"

namespace s3rdmafs::cache {
namespace {

constexpr std::uint64_t kCapacity = 2 * memory::kHugePageBytes;

class ObjectFileTest : public testing::Test {
 protected:
  std::uint64_t size_bytes() const {
    struct stat status{};
    EXPECT_EQ(::fstat(file_->fd(), &status), 0);
    return static_cast<std::uint64_t>(status.st_size);
  }

  void fill(char letter, std::uint64_t size) {
    ASSERT_TRUE(file_->begin_fill(fabric_, memory::MemoryLock::kOff));
    std::memset(file_->region().bytes().data(), letter, size);
    ASSERT_TRUE(file_->end_fill(size));
  }

  fakes::FakeFabric fabric_;
  std::unique_ptr<ObjectFile> file_ =
      ObjectFile::create(fakes::make_tmpfs_file().value(), kCapacity).value();
};

TEST_F(ObjectFileTest, TheRegionIsAllOfTheFileWhileItIsFilled) {
  ASSERT_TRUE(file_->begin_fill(fabric_, memory::MemoryLock::kOff));
  EXPECT_EQ(size_bytes(), kCapacity);
  EXPECT_EQ(file_->region().bytes().size(), kCapacity);
}

TEST_F(ObjectFileTest, AfterTheFillItIsExactlyAsLongAsTheObject) {
  fill('a', memory::kHugePageBytes + 17);
  EXPECT_EQ(size_bytes(), memory::kHugePageBytes + 17);
  EXPECT_EQ(file_->bytes()[memory::kHugePageBytes + 16], std::byte{'a'});
}

TEST_F(ObjectFileTest, ALaterAndLongerObjectFindsAllItsMemory) {
  fill('a', memory::kHugePageBytes + 17);
  fill('b', kCapacity - 1);
  EXPECT_EQ(size_bytes(), kCapacity - 1);
  EXPECT_EQ(file_->bytes()[kCapacity - 2], std::byte{'b'});
  EXPECT_EQ(fabric_.registrations(), 2);
}

TEST_F(ObjectFileTest, AFileThatWasOnlyFilledIsNotHeldElsewhere) {
  fill('a', kCapacity);
  EXPECT_FALSE(file_->is_held_elsewhere());
}

TEST_F(ObjectFileTest, AnotherOpenHoldsTheFile) {
  fill('a', kCapacity);
  UniqueFd reader = fakes::open_again(file_->fd());
  ASSERT_TRUE(reader);
  EXPECT_TRUE(file_->is_held_elsewhere());
  reader.reset();
  EXPECT_FALSE(file_->is_held_elsewhere());
}

TEST_F(ObjectFileTest, AMappingHoldsItAfterItsDescriptorIsClosed) {
  fill('a', kCapacity);
  UniqueFd reader = fakes::open_again(file_->fd());
  void* const memory = ::mmap(nullptr, kCapacity, PROT_READ, MAP_SHARED, reader.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  reader.reset();
  EXPECT_TRUE(file_->is_held_elsewhere());
  ::munmap(memory, kCapacity);
  EXPECT_FALSE(file_->is_held_elsewhere());
}

// A server over shm has such a mapping.
TEST_F(ObjectFileTest, AMappingOfOurOwnDescriptorDoesNotHoldIt) {
  fill('a', kCapacity);
  void* const memory = ::mmap(nullptr, kCapacity, PROT_READ, MAP_SHARED, file_->fd(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  EXPECT_FALSE(file_->is_held_elsewhere());
  ::munmap(memory, kCapacity);
}

}  // namespace
}  // namespace s3rdmafs::cache
