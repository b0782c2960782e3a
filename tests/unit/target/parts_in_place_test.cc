// SPDX-License-Identifier: Apache-2.0
// Parts are written where they will be in the object, so that completing an upload copies nothing;
// and copied together wherever that does not work out.
#include <array>
#include <map>
#include <random>

#include "uploads_fixture.h"

namespace s3rdmafs::target {
namespace {

class PartsInPlaceTest : public UploadsTest {
 protected:
  PartsInPlaceTest() { services_->etags = EtagKind::kCrc64; }  // fast

  [[nodiscard]] std::uint64_t inode_of(const std::string& path) const {
    struct stat status{};
    EXPECT_EQ(::stat(folder(path).c_str(), &status), 0) << path;
    return status.st_ino;
  }
  [[nodiscard]] std::uint64_t shared_inode(const std::string& id) const {
    return inode_of(".s3rdma-target/uploads/" + id + "/shared");
  }
  [[nodiscard]] std::string object() const { return read_file(folder("bucket/big")); }
  /// The five MiB of part `number`, told apart by a letter.
  [[nodiscard]] std::string part_of(char letter) const {
    return std::string(large_.size(), letter);
  }
};

TEST_F(PartsInPlaceTest, TheFileOfThePartsBecomesTheObject) {
  const std::string id = begin();
  const std::string second = put_part(id, 2, part_of('b'));
  const std::string third = put_part(id, 3, "tail");
  const std::string first = put_part(id, 1, part_of('a'));
  const std::uint64_t inode = shared_inode(id);
  EXPECT_EQ(complete(id, {{1, first}, {2, second}, {3, third}}).status, 200);
  EXPECT_EQ(object(), part_of('a') + part_of('b') + "tail");
  EXPECT_EQ(inode_of("bucket/big"), inode);
  EXPECT_TRUE(std::filesystem::is_empty(folder(".s3rdma-target/uploads")));
}

TEST_F(PartsInPlaceTest, AnotherFirstSizeOnlyCostsTheCopy) {
  const std::string id = begin();
  const std::string last = put_part(id, 2, "tail");
  const std::uint64_t inode = shared_inode(id);
  EXPECT_EQ(complete(id, {{1, put_part(id, 1, large_)}, {2, last}}).status, 200);
  EXPECT_EQ(object(), large_ + "tail");
  EXPECT_NE(inode_of("bucket/big"), inode);
}

TEST_F(PartsInPlaceTest, APartThatIsNotListedIsNotInTheObject) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  put_part(id, 2, part_of('b'));
  const std::string third = put_part(id, 3, part_of('c'));
  EXPECT_EQ(complete(id, {{1, first}, {3, third}}).status, 200);
  EXPECT_EQ(object(), part_of('a') + part_of('c'));
}

TEST_F(PartsInPlaceTest, ALastPartThatIsNotListedIsNotInTheObject) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  put_part(id, 2, "tail");
  EXPECT_EQ(complete(id, {{1, first}}).status, 200);
  EXPECT_EQ(object(), part_of('a'));
}

TEST_F(PartsInPlaceTest, ARefusedCompletionLeavesThem) {
  put("big", "there");
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  EXPECT_EQ(code(complete(id, {{1, first}}, {{"if-none-match", "*"}})), "PreconditionFailed");
  const std::string second = put_part(id, 2, "tail");
  EXPECT_EQ(complete(id, {{1, first}, {2, second}}).status, 200);
  EXPECT_EQ(object(), part_of('a') + "tail");
}

TEST_F(PartsInPlaceTest, ARefusedPartLeavesThePlaceToTheNext) {
  const std::string id = begin();
  EXPECT_EQ(code(send(part(id, 1, part_of('x'), {{"x-amz-checksum-crc32c", "AAAAAA=="}}))),
            "BadDigest");
  const std::string first = put_part(id, 1, part_of('a'));
  const std::uint64_t inode = shared_inode(id);
  EXPECT_EQ(complete(id, {{1, first}}).status, 200);
  EXPECT_EQ(object(), part_of('a'));
  EXPECT_EQ(inode_of("bucket/big"), inode);
}

TEST_F(PartsInPlaceTest, ARefusedSecondTryLeavesTheFirst) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  EXPECT_EQ(code(send(part(id, 1, part_of('x'), {{"x-amz-checksum-crc32c", "AAAAAA=="}}))),
            "BadDigest");
  EXPECT_EQ(complete(id, {{1, first}}).status, 200);
  EXPECT_EQ(object(), part_of('a'));
}

TEST_F(PartsInPlaceTest, APartThatIsStillBeingWrittenNeverReachesTheObject) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  const Ask late = part(id, 2, part_of('x'));
  auto exchange = S3Handler(*services_).begin(make_request(late));
  const auto bytes = std::as_bytes(std::span(late.body));
  exchange->receive(bytes.first(bytes.size() / 2));  // its client has left, and completes:
  EXPECT_EQ(complete(id, {{1, first}}).status, 200);
  exchange->receive(bytes.subspan(bytes.size() / 2));
  EXPECT_EQ(code(exchange->finish()), "NoSuchUpload");
  EXPECT_EQ(object(), part_of('a'));
}

TEST_F(PartsInPlaceTest, ABodyLongerThanAnnouncedDoesNotReachTheNextPart) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  const std::string third = put_part(id, 3, "tail");
  const Ask second = part(id, 2, part_of('b'));
  Request request = make_request(second);
  EXPECT_EQ(send(std::move(request), second.body + "more").status, 400);
  const std::string again = put_part(id, 2, part_of('b'));
  EXPECT_EQ(complete(id, {{1, first}, {2, again}, {3, third}}).status, 200);
  EXPECT_EQ(object(), part_of('a') + part_of('b') + "tail");
}

TEST_F(PartsInPlaceTest, ARestartedServerGoesOnWithThem) {
  const std::string id = begin();
  const std::string first = put_part(id, 1, part_of('a'));
  services_->store = Store::open(root_.path().string()).value();
  const std::string second = put_part(id, 2, part_of('b'));
  EXPECT_EQ(complete(id, {{1, first}, {2, second}}).status, 200);
  EXPECT_EQ(object(), part_of('a') + part_of('b'));
}

// Against a map of what each number last got, over random orders, sizes and repetitions.
TEST_F(PartsInPlaceTest, TheObjectIsWhatWasPutLast) {
  constexpr int kUploads = 4;
  constexpr int kRequests = 6;
  std::mt19937 random(20261125);
  const auto below = [&random](std::size_t count) { return random() % count; };
  for (int upload = 0; upload < kUploads; ++upload) {
    const std::string id = begin();
    std::map<int, std::pair<std::string, std::string>> model;  // number: ETag and content
    for (int request = 0; request < kRequests; ++request) {
      const int number = 1 + static_cast<int>(below(4));
      constexpr std::array<std::size_t, 4> kMore{0, 0, 0, 1};
      std::string content(large_.size() + kMore.at(below(kMore.size())),
                          static_cast<char>('a' + below(26)));
      std::string etag = put_part(id, number, content);
      model[number] = {std::move(etag), std::move(content)};
    }
    Listed listed;
    std::string whole;
    for (const auto& [number, stored] : model) {
      listed.emplace_back(number, stored.first);
      whole += stored.second;
    }
    EXPECT_EQ(complete(id, listed).status, 200);
    EXPECT_TRUE(object() == whole) << "upload " << upload;
  }
}

}  // namespace
}  // namespace s3rdmafs::target
