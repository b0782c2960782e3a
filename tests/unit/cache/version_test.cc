// SPDX-License-Identifier: Apache-2.0
// What the caches take for the same bytes.
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "cache/blocks/block_cache.h"
#include "fakes/cache_world.h"

namespace s3rdmafs::cache {
namespace {

class Version : public testing::Test, protected fakes::CacheWorld {
 protected:
  ~Version() override { store_.shut_down(); }

  std::string read(const ObjectVersion& version) {
    const auto reader = cache_.open(version);
    std::string text = "<no answer>";
    reader->read(0, version.size_bytes, clock_.now() + std::chrono::seconds(30),
                 [&text](Result<PinnedBytes> bytes) {
                   text.clear();
                   if (!bytes) return;
                   for (const auto piece : bytes->pieces()) {
                     text.append(reinterpret_cast<const char*>(piece.data()), piece.size());
                   }
                 });
    return text;
  }

  std::unique_ptr<memory::Arena> arena_ = make_arena(2);
  BlockCache cache_{*arena_, store_, clock_, metrics_, {.fill_deadline = std::chrono::seconds(30)}};
};

TEST_F(Version, OfAnotherGenerationHasBytesOfItsOwn) {
  store_.repeat_etags();
  ObjectVersion version{.key = "key", .etag = store_.put("key", "old!"), .size_bytes = 4};
  EXPECT_EQ(read(version), "old!");
  ASSERT_EQ(store_.put("key", "new!"), version.etag);
  EXPECT_EQ(read(version), "old!") << "the control: it is cached";
  version.generation = 1;
  EXPECT_EQ(read(version), "new!");
}

TEST_F(Version, IsNamedByKeyETagAndGeneration) {
  const ObjectVersion version{.key = "key", .etag = "\"1\"", .size_bytes = 4};
  ObjectVersion other = version;
  EXPECT_EQ(index_key(version), index_key(other));
  other.generation = 1;
  EXPECT_NE(index_key(version), index_key(other));
}

}  // namespace
}  // namespace s3rdmafs::cache
