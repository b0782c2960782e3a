// SPDX-License-Identifier: Apache-2.0
// A manifest gives back what was written, and appears whole or not at all.
#include "manifest/manifest.h"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "manifest_rig.h"

namespace s3rdmafs::manifest {
namespace {

using testing::HasSubstr;

TEST_F(ManifestTest, GivesBackEveryEntryAndNoOther) {
  auto entries = many(5000);
  entries[7].crc64nvme = 0x1234567890abcdef;
  write(entries);
  const auto manifest = open();
  EXPECT_GT(manifest->header().blocks, 10U) << "the control: there is something to search";
  for (const Entry& entry : entries) {
    const auto found = manifest->find(entry.object.key);
    ASSERT_TRUE(found && *found) << entry.object.key;
    EXPECT_EQ((*found)->object.etag, entry.object.etag);
    EXPECT_EQ((*found)->object.size_bytes, entry.object.size_bytes);
    EXPECT_EQ((*found)->object.modified, entry.object.modified);
    EXPECT_EQ((*found)->crc64nvme, entry.crc64nvme);
  }
  for (const std::string missing : {"", "d/", "d/0000000", "d/00000007x", "e", "\xff"}) {
    const auto found = manifest->find(missing);
    ASSERT_TRUE(found);
    EXPECT_FALSE(*found) << missing;
  }
}

TEST_F(ManifestTest, SeeksLikeASortedMap) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    RandomKeys random(seed);
    std::map<std::string, Entry> model;
    const std::size_t count = random.below(3000);
    for (std::size_t n = 0; n < count; ++n) {
      Entry entry = make_entry(random.key() + random.text(random.below(200)), n);
      model.insert_or_assign(entry.object.key, entry);
    }
    std::vector<Entry> entries;
    for (const auto& [key, entry] : model) entries.push_back(entry);
    write(entries);
    const auto manifest = open();
    ASSERT_TRUE(manifest->verify());
    for (int n = 0; n < 60; ++n) {
      const std::string from = random.text(random.below(8));
      auto at = model.lower_bound(from);
      auto cursor = manifest->seek(from);
      ASSERT_TRUE(cursor);
      for (int steps = 0; steps < 80; ++steps, ++at) {
        ASSERT_EQ(cursor->entry() == nullptr, at == model.end()) << "seed " << seed;
        if (at == model.end()) break;
        ASSERT_EQ(cursor->entry()->object.key, at->first) << "seed " << seed;
        ASSERT_TRUE(cursor->advance());
      }
    }
  }
}

TEST_F(ManifestTest, TellsWhatItIsOf) {
  write(many(10));
  const auto manifest = open();
  const Header& header = manifest->header();
  EXPECT_EQ(header.origin.endpoints, origin().endpoints);
  EXPECT_EQ(header.origin.bucket, "data");
  EXPECT_EQ(header.origin.prefix, "p/");
  EXPECT_EQ(header.objects, 10U);
  EXPECT_EQ(header.object_bytes, 45U);
}

TEST_F(ManifestTest, MayBeEmpty) {
  write({});
  const auto manifest = open();
  EXPECT_TRUE(manifest->verify());
  EXPECT_FALSE(*manifest->find("a"));
  EXPECT_EQ(manifest->seek("")->entry(), nullptr);
}

TEST_F(ManifestTest, HoldsTheLongestKeysAndETags) {
  std::vector<Entry> entries;
  for (char letter = 'a'; letter < 'k'; ++letter) {
    entries.push_back(
        make_entry(std::string(kKeyBytesMax, letter), 1, std::string(kEtagBytesMax, letter)));
  }
  write(entries);
  for (const Entry& entry : entries) EXPECT_TRUE(*open()->find(entry.object.key));
}

TEST_F(ManifestTest, RefusesWhatItCannotHold) {
  auto writer = Writer::create(path());
  EXPECT_EQ(error_of(writer->add(make_entry(""))), "InvalidArgument");
  EXPECT_EQ(error_of(writer->add(make_entry(std::string(kKeyBytesMax + 1, 'k')))),
            "InvalidArgument");
  EXPECT_EQ(error_of(writer->add(make_entry(std::string("a\0b", 3)))), "InvalidArgument");
  EXPECT_EQ(error_of(writer->add(make_entry("a", 1, ""))), "InvalidArgument");
  EXPECT_EQ(error_of(writer->add(make_entry("a", 1, "x\r\nHost: y"))), "InvalidArgument");
  EXPECT_TRUE(writer->add(make_entry("b"))) << "the control";
  EXPECT_EQ(error_of(writer->add(make_entry("b"))), "InvalidArgument") << "twice";
  EXPECT_EQ(error_of(writer->add(make_entry("a"))), "InvalidArgument") << "not in order";
}

TEST_F(ManifestTest, AppearsWhenItIsWholeInPlaceOfTheOlderOne) {
  write(many(3));
  {
    auto unfinished = Writer::create(path());
    ASSERT_TRUE(unfinished->add(make_entry("new")));
    EXPECT_EQ(error_of(Writer::create(path())), "Busy") << "two writers of one file";
    EXPECT_EQ(open()->header().objects, 3U);
  }
  EXPECT_FALSE(std::filesystem::exists(path("manifest.partial"))) << "given up, so removed";
  std::ofstream(path("manifest.partial")) << "left by a crash";
  const auto before = open();
  write(many(5000));
  EXPECT_EQ(open()->header().objects, 5000U);
  EXPECT_TRUE(*before->find("d/00000001")) << "what is open stays as it is";
  EXPECT_FALSE(*before->find("d/00004999"));
}

TEST_F(ManifestTest, SaysWhyAFileCannotBeOpened) {
  EXPECT_EQ(error_of(Manifest::open(path("missing"))), "NotFound");
  std::ofstream(path("short")) << "short";
  EXPECT_EQ(error_of(Manifest::open(path("short"))), "Unsupported");
  std::ofstream(path("other")) << std::string(3 * kBlockBytes, 'x');
  EXPECT_EQ(error_of(Manifest::open(path("other"))), "Unsupported");
  EXPECT_EQ(error_of(Manifest::open(folder_.path())), "Unsupported") << "a folder";
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of(Manifest::open(path("pipe"))), "Unsupported") << "must not wait for a writer";
}

TEST_F(ManifestTest, KnowsWhichMountsItCovers) {
  write(many(1));
  const auto manifest = open();
  Origin wanted = origin();
  EXPECT_TRUE(manifest->check_covers(wanted));
  wanted.prefix = "p/q/";
  wanted.endpoints = {"http://b:9000", "http://new:9000"};
  EXPECT_TRUE(manifest->check_covers(wanted)) << "part of its prefix, and one server in common";
  wanted.prefix = "";
  EXPECT_THAT(manifest->check_covers(wanted).error().detail, HasSubstr("of prefix 'p/'"));
  wanted = origin();
  wanted.bucket = "other";
  EXPECT_THAT(manifest->check_covers(wanted).error().detail, HasSubstr("of bucket 'data'"));
  wanted = origin();
  wanted.endpoints = {"http://c:9000"};
  EXPECT_THAT(manifest->check_covers(wanted).error().detail,
              HasSubstr("of endpoint 'http://a:9000, http://b:9000'"));
}

}  // namespace
}  // namespace s3rdmafs::manifest
