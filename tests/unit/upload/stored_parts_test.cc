// SPDX-License-Identifier: Apache-2.0
#include "upload/staged/stored_parts.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/fake_clock.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"
#include "upload/staged/staged_uploads.h"

namespace s3rdmafs::upload {
namespace {

/// The file, which may fail to be read.
class FileText final : public StagedSource {
 public:
  explicit FileText(std::string text) : text_(std::move(text)) {}
  void read(std::uint64_t offset_bytes, std::span<std::byte> out, Deadline,
            Done<void> done) override {
    if (fails) return done(fail(ErrorCode::kSystem, "the disk is gone"));
    read_bytes += out.size();
    std::ranges::copy(std::as_bytes(std::span(text_)).subspan(offset_bytes, out.size()),
                      out.begin());
    done({});
  }
  std::atomic<bool> fails = false;
  std::atomic<std::uint64_t> read_bytes = 0;

 private:
  const std::string text_;
};

class StoredPartsTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kPart = 3 * kMiB;  // some pieces of a look

  /// A store has sent these bytes of the text as one part.
  void send(const std::string& text, ByteRange bytes) {
    const auto sent = std::as_bytes(std::span(text)).subspan(bytes.begin, bytes.size());
    parts_.sent({.bytes = bytes, .crc64nvme = crc64nvme(0, sent)});
  }
  void store(const std::string& text) {
    parts_.begin();
    for (std::uint64_t at = 0; at < text.size(); at += kPart) {
      send(text, {at, std::min(text.size(), at + kPart)});
    }
    parts_.succeeded(text.size());
  }
  Result<ByteRanges> changes_of(const std::string& text) {
    std::atomic<bool> is_done = false;
    Result<ByteRanges> found;
    source_ = std::make_shared<FileText>(text);
    source_->fails = fails_;
    find_changes(ByteRanges{{0, text.size()}}, parts_, source_, thread_, {},
                 [&](Result<ByteRanges> changed) {
                   found = std::move(changed);
                   is_done = true;
                 });
    EXPECT_TRUE(fakes::eventually([&] { return is_done.load(); }));
    return found;
  }

  fakes::FakeClock clock_;
  StoredParts parts_;
  std::shared_ptr<FileText> source_;
  bool fails_ = false;
  WorkerThread thread_{"compare", clock_, [] {}};
};

TEST_F(StoredPartsTest, TellThePartsThatHaveChanged) {
  std::string text(2 * kPart + 1000, 'a');
  EXPECT_EQ(changes_of(text).value().bytes(), text.size()) << "nothing is known";
  store(text);
  EXPECT_TRUE(changes_of(text).value().empty());
  EXPECT_EQ(source_->read_bytes, text.size());
  text[kPart + kMiB] = 'b';
  EXPECT_EQ(changes_of(text).value(), (ByteRanges{{kPart, 2 * kPart}}));
  text.append(500, 'c');
  text[kPart + kMiB] = 'a';
  EXPECT_EQ(changes_of(text).value(), (ByteRanges{{2 * kPart + 1000, 2 * kPart + 1500}}));
}

TEST_F(StoredPartsTest, AreThoseOfTheLastStoreThatSucceeded) {
  const std::string first(2 * kPart, 'a');
  std::string second = first;
  second[5] = 'b';
  store(first);
  parts_.begin();
  send(second, {0, kPart});  // and the store fails
  EXPECT_EQ(changes_of(second).value(), (ByteRanges{{0, kPart}}));
  parts_.begin();
  parts_.succeeded(first.size());
  EXPECT_TRUE(changes_of(first).value().empty()) << "metadata alone was stored";
  parts_.begin();
  send(second, {0, kPart});
  parts_.succeeded(second.size());
  EXPECT_TRUE(changes_of(second).value().empty());
  EXPECT_EQ(changes_of(first).value(), (ByteRanges{{0, kPart}}));
}

TEST_F(StoredPartsTest, ForgetWhatIsCutOffOrSentInOtherParts) {
  const std::string text(2 * kPart, 'a');
  store(text);
  parts_.begin();
  parts_.succeeded(kPart + 5);
  EXPECT_EQ(parts_.list().size(), 1U) << "the second part was cut";
  parts_.begin();
  send(text, {10, 20});
  parts_.succeeded(kPart + 5);
  ASSERT_EQ(parts_.list().size(), 1U);
  EXPECT_EQ(parts_.list()[0].bytes, (ByteRange{10, 20}));
}

TEST_F(StoredPartsTest, AFileThatCannotBeReadIsAnErrorAndSoIsAThreadThatHasEnded) {
  const std::string text(kPart, 'a');
  store(text);
  fails_ = true;
  EXPECT_FALSE(changes_of(text));
  fails_ = false;
  thread_.finish();
  EXPECT_EQ(changes_of(text).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::upload
