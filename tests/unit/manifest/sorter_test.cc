// SPDX-License-Identifier: Apache-2.0
#include "manifest/sorter.h"

#include <map>
#include <thread>

#include "manifest_rig.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::manifest {
namespace {

class SorterTest : public ManifestTest {
 protected:
  std::unique_ptr<Manifest> sorted(Sorter& sorter) {
    auto writer = Writer::create(path());
    const auto written = sorter.write_to(*writer);
    EXPECT_TRUE(written) << written.error().detail;
    EXPECT_TRUE(writer->finish(origin(), {}));
    auto manifest = open();
    EXPECT_TRUE(manifest->verify());
    return manifest;
  }
};

// From everything in memory to a hundred files, which are merged in two steps.
TEST_F(SorterTest, GivesTheNewestEntryOfEachKeyInOrderHoweverLittleFitsInMemory) {
  for (const std::uint64_t memory_bytes : {kMiB, 20 * kKiB, kKiB}) {
    RandomKeys random(static_cast<unsigned>(memory_bytes));
    Sorter sorter(folder_.path(), memory_bytes);
    std::map<std::string, Entry> model;
    for (int n = 0; n < 1500; ++n) {
      Entry entry = make_entry(random.key(), random.below(1000), "\"e\"", n * 7919 % 1500);
      const auto known = model.find(entry.object.key);
      if (known == model.end() || known->second.object.modified < entry.object.modified) {
        model.insert_or_assign(entry.object.key, entry);
      }
      ASSERT_TRUE(sorter.add(std::move(entry)));
    }
    const auto manifest = sorted(sorter);
    EXPECT_EQ(manifest->header().objects, model.size()) << memory_bytes;
    auto cursor = manifest->seek("");
    for (const auto& [key, entry] : model) {
      ASSERT_EQ(cursor->entry()->object.key, key);
      ASSERT_EQ(cursor->entry()->object.size_bytes, entry.object.size_bytes) << "not the newest";
      ASSERT_TRUE(cursor->advance());
    }
  }
}

TEST_F(SorterTest, TakesEntriesFromManyThreads) {
  Sorter sorter(folder_.path(), 10 * kKiB);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&sorter, thread] {
        for (int n = 0; n < 200; ++n) {
          EXPECT_TRUE(sorter.add(make_entry(std::to_string(thread) + "/" + std::to_string(n))));
        }
      });
    }
  }
  EXPECT_EQ(sorted(sorter)->header().objects, 800U);
}

TEST_F(SorterTest, RefusesAnEntryThatAManifestCannotHold) {
  Sorter sorter(folder_.path());
  EXPECT_EQ(error_of(sorter.add(make_entry(""))), "InvalidArgument");
  EXPECT_TRUE(sorter.add(make_entry("a"))) << "the control";
}

TEST_F(SorterTest, SaysThatItsFolderCannotBeWritten) {
  Sorter sorter(path("missing"), 1);
  EXPECT_EQ(error_of(sorter.add(make_entry("a"))), "System");
}

}  // namespace
}  // namespace s3rdmafs::manifest
