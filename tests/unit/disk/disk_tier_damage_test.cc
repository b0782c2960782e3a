// SPDX-License-Identifier: Apache-2.0
// Files that changed on the disk, or that cannot be read back: their bytes are never served.
#include "disk/index_record.h"
#include "unit/disk/disk_tier_fixture.h"
#include "unit/disk/failing_system_calls.h"

namespace s3rdmafs::disk {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(DiskTierTest, AFlippedByteIsNotServed) {
  const std::string bytes = content(9, kMiB);
  const std::string etag = put_and_read("k", bytes);
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);

  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
  EXPECT_EQ(rig_.counted("disk_corrupt_total"), 1U);
  EXPECT_EQ(rig_.hits(), 0U);

  // The good bytes have taken the place of the bad ones.
  ASSERT_TRUE(rig_.wait());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

// The control: it is the checksum that keeps the flipped byte from being served, and nothing else.
TEST_F(DiskTierTest, AFlippedByteWouldBeServedIfItsChecksumWereMadeToFit) {
  const std::string bytes = content(9, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);
  const std::string data = read_file(rig_.files(".data").front());
  const std::string index = read_file(rig_.files(".index").front());
  auto rest = std::as_bytes(std::span(index));
  auto record = decode_next(rest);
  ASSERT_TRUE(record);
  record->checksums = unit_checksums(std::as_bytes(std::span(data).first(bytes.size())));
  const auto forged = encode(*record);
  std::ofstream(rig_.files(".index").front(), std::ios::binary)
      .write(reinterpret_cast<const char*>(forged.data()),
             static_cast<std::streamsize>(forged.size()));
  ASSERT_TRUE(rig_.start());

  const std::string got = rig_.read("k", etag, 0, bytes.size());
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_NE(got, bytes);
}

TEST_F(DiskTierTest, AFlippedByteHurtsOnlyReadsThatTouchItsUnit) {
  const std::string bytes = content(10, kMiB);
  const std::string etag = put_and_read("k", bytes);
  flip_byte(rig_.files(".data").front(), 5 * kUnitBytes + 3);
  EXPECT_EQ(rig_.read("k", etag, 0, kUnitBytes), bytes.substr(0, kUnitBytes));
  EXPECT_EQ(rig_.gets(), 0U);
}

TEST_F(DiskTierTest, ATruncatedFileIsNotServed) {
  const std::string bytes = content(11, kMiB);
  const std::string etag = put_and_read("k", bytes);
  std::filesystem::resize_file(rig_.files(".data").front(), 3 * kUnitBytes + 17);
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, bytes.size()), bytes);
}

TEST_F(DiskTierTest, AnIndexThatEndsInTheMiddleLosesItsLastEntryOnly) {
  const std::string first = content(12, kMiB);
  const std::string second = content(13, kMiB);
  const std::string first_etag = put_and_read("a", first);
  const std::string second_etag = put_and_read("b", second);
  rig_.stop();
  const auto index = rig_.files(".index").front();
  std::filesystem::resize_file(index, std::filesystem::file_size(index) - 1);
  ASSERT_TRUE(rig_.start());

  EXPECT_EQ(rig_.read("a", first_etag, 0, kMiB), first);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.gets(), 1U);
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("b", second_etag, 0, kMiB), second);
  EXPECT_EQ(rig_.gets(), 1U) << "bytes written after the cut must be found";
}

TEST_F(DiskTierTest, FilesThatAreNotSegmentsAreDroppedOrLeftAlone) {
  const std::string bytes = content(14, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  const std::filesystem::path folder = rig_.options.path;
  std::ofstream(folder / "notes.txt") << "not ours";
  std::ofstream(folder / "segment-7.data") << "no index beside it";
  std::ofstream(folder / "segment-9.data") << "short";
  std::ofstream(folder / "segment-9.index") << std::string(100'000, 'x');
  ASSERT_TRUE(rig_.start());
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
  EXPECT_TRUE(std::filesystem::exists(folder / "notes.txt"));
  EXPECT_EQ(rig_.files(".data").size(), 1U);
}

TEST_F(DiskTierTest, NothingIsFoundInASegmentWhoseIndexCannotBeCut) {
  const std::string bytes = content(21, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  if (!start_without(rig_, __NR_ftruncate, EIO)) GTEST_SKIP() << "no seccomp here";
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 1U);
}

TEST_F(DiskTierTest, ASegmentThatCouldNotBeLoadedOnceIsThereTheNextTime) {
  const std::string bytes = content(24, kMiB);
  const std::string etag = put_and_read("k", bytes);
  rig_.stop();
  if (!start_without(rig_, __NR_ftruncate, EIO)) GTEST_SKIP() << "no seccomp here";
  EXPECT_GT(rig_.metrics->gauge("disk_size_bytes", "").value(), 0) << "it takes its room meanwhile";
  ASSERT_TRUE(rig_.restart());
  EXPECT_EQ(rig_.read("k", etag, 0, kMiB), bytes);
  EXPECT_EQ(rig_.gets(), 0U);
}

}  // namespace
}  // namespace s3rdmafs::disk
