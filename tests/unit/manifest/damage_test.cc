// SPDX-License-Identifier: Apache-2.0
// Damaged, cut off and hostile manifests: every read ends with an error or with well-formed
// entries.
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include "manifest/block.h"
#include "manifest/little_endian.h"
#include "manifest_rig.h"

namespace s3rdmafs::manifest {
namespace {

using testing::HasSubstr;

class DamageTest : public ManifestTest {
 protected:
  std::string bytes() {
    std::ifstream file(path(), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void put_bytes(const std::string& bytes) {
    std::ofstream(path("damaged"), std::ios::binary | std::ios::trunc) << bytes;
  }
  // Makes the checksum of a block right again, as an attacker would.
  static void sign(std::string& file, std::size_t block) {
    const auto bytes =
        std::as_writable_bytes(std::span(file)).subspan(block * kBlockBytes, kBlockBytes);
    store(bytes, checksum_of(bytes));
  }
  // Reads in every way there is. True if there was no error.
  bool use(Manifest& manifest, RandomKeys& random) {
    bool is_whole = manifest.verify().has_value();
    for (int n = 0; n < 6; ++n) {
      is_whole &= manifest.find("d/00000" + std::to_string(random.below(1000))).has_value();
      auto cursor = manifest.seek(random.key());
      std::string last;
      while (cursor && cursor->entry() != nullptr) {
        EXPECT_LE(cursor->entry()->object.key.size(), kKeyBytesMax);
        EXPECT_LT(last, cursor->entry()->object.key) << "a listing would not end";
        last = cursor->entry()->object.key;
        if (!cursor->advance()) break;
      }
    }
    return is_whole;
  }
};

TEST_F(DamageTest, OneByteThatDiffersIsNoticed) {
  write(many(600));
  const std::string whole = bytes();
  RandomKeys random(1);
  put_bytes(whole);
  EXPECT_TRUE(use(*open("damaged"), random)) << "the control";
  for (int n = 0; n < 60; ++n) {
    std::string damaged = whole;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 + random.below(255));
    put_bytes(damaged);
    const auto manifest = Manifest::open(path("damaged"));
    EXPECT_FALSE(manifest && use(**manifest, random)) << n;
  }
}

TEST_F(DamageTest, ADamagedBlockFailsItsOwnNamesAlone) {
  write(many(5000));
  std::string damaged = bytes();
  damaged[3 * kBlockBytes + 500] ^= 1;
  put_bytes(damaged);
  const auto manifest = open("damaged");
  EXPECT_TRUE(manifest->find("d/00000000"));
  EXPECT_TRUE(manifest->find("d/00004999"));
  const auto failed = manifest->verify();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kCorrupt);
  EXPECT_THAT(failed.error().detail, HasSubstr("block 3 is damaged"));
  EXPECT_THAT(failed.error().detail, HasSubstr("run s3rdmafs manifest again"));
}

TEST_F(DamageTest, AFileThatIsCutOffIsRefusedAndAFileThatIsCutLaterFails) {
  write(many(5000));
  const std::string whole = bytes();
  for (const std::size_t length : {kBlockBytes - 1, kBlockBytes, 3 * kBlockBytes, whole.size() - 1,
                                   whole.size() + 1, whole.size() + kBlockBytes}) {
    std::string cut = whole;
    cut.resize(length);
    put_bytes(cut);
    EXPECT_FALSE(Manifest::open(path("damaged"))) << length;
  }
  put_bytes(whole);
  const auto manifest = open("damaged");
  std::filesystem::resize_file(path("damaged"), 4 * kBlockBytes);
  EXPECT_EQ(error_of(manifest->find("d/00004999")), "Corrupt");
  EXPECT_EQ(error_of(manifest->verify()), "Corrupt");
}

TEST_F(DamageTest, BlocksThatChangedPlacesAreNoticed) {
  write(many(5000));
  std::string damaged = bytes();
  const std::string second = damaged.substr(2 * kBlockBytes, kBlockBytes);
  damaged.replace(2 * kBlockBytes, kBlockBytes, damaged, 5 * kBlockBytes, kBlockBytes);
  damaged.replace(5 * kBlockBytes, kBlockBytes, second);
  put_bytes(damaged);
  EXPECT_THAT(open("damaged")->verify().error().detail, HasSubstr("it is another block"));
}

TEST_F(DamageTest, RightChecksumsOverWrongBytesDoNoHarm) {
  write(many(400));
  const std::string whole = bytes();
  const std::size_t blocks = whole.size() / kBlockBytes;
  RandomKeys random(2);
  int refused = 0;
  for (int n = 0; n < 150; ++n) {
    std::string hostile = whole;
    for (std::size_t times = 1 + random.below(8); times > 0; --times) {
      const std::size_t block = random.below(blocks);
      // Lengths stand near the beginning of a block and of each record.
      const std::size_t at = random.below(2) == 0 ? random.below(128) : random.below(kBlockBytes);
      hostile[block * kBlockBytes + at] = static_cast<char>(random.below(256));
      sign(hostile, block);
    }
    put_bytes(hostile);
    const auto manifest = Manifest::open(path("damaged"));
    if (!manifest || !use(**manifest, random)) ++refused;
  }
  EXPECT_GT(refused, 75) << "the control: the damage is real";
}

}  // namespace
}  // namespace s3rdmafs::manifest
