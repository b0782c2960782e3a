// SPDX-License-Identifier: Apache-2.0
// --dma none: transfers by a token of the shm fabric that move nothing, from the request down to
// the memory of a real client. Each test has its control under --dma copy.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "fakes/rdma/token_text.h"
#include "rdma/shm/shm_fabric.h"
#include "rdma_requests.h"
#include "s3rdmafs/base/unique_fd.h"
#include "target/options.h"
#include "target/rdma/shm/shm_service.h"

namespace s3rdmafs::target {
namespace {

constexpr std::size_t kRegionBytes = 4096;  // a page: what a region must at least be
constexpr std::string_view kObject = "0123456789";

class DmaTest : public RdmaTargetTest {
 protected:
  DmaTest() : memory_(::memfd_create("client", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(memory_.get(), kRegionBytes), 0);
    mapped_ = static_cast<std::byte*>(
        ::mmap(nullptr, kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory_.get(), 0));
  }
  ~DmaTest() override {
    region_.reset();
    fabric_.reset();
    ::munmap(mapped_, kRegionBytes);
  }

  void start(Dma dma, rdma::Access access) {
    const std::string socket = "@s3rdmafs-dma-test-" + std::to_string(::getpid());
    shm_ = make_shm_service(socket, dma).value();
    services_->rdma = shm_.get();
    fabric_ = rdma::shm::make_shm_fabric(socket);
    region_ =
        fabric_->register_memory({.fd = memory_.get(), .bytes = {mapped_, kRegionBytes}}, access)
            .value();
  }

  std::string token(std::size_t length = kObject.size()) {
    return fakes::token_text(*region_, 0, length).value();
  }
  [[nodiscard]] std::string memory() const {
    return {reinterpret_cast<const char*>(mapped_), kObject.size()};
  }
  void fill_memory(std::string_view text) { std::memcpy(mapped_, text.data(), text.size()); }

  std::unique_ptr<TransferService> shm_;
  std::unique_ptr<rdma::Fabric> fabric_;
  UniqueFd memory_;
  std::byte* mapped_;
  std::unique_ptr<rdma::MemoryRegion> region_;
};

TEST_F(DmaTest, NoneAnswersAGetWithEveryHeaderAndMovesNothing) {
  start(Dma::kNone, rdma::Access::kRemoteWrite);
  fill_memory("untouched!");
  const Response response = get(token());
  EXPECT_EQ(told(response), (Told{200, "200", "10"}));
  EXPECT_EQ(response.body_bytes(), 0U);
  EXPECT_EQ(memory(), "untouched!");
}

TEST_F(DmaTest, CopyAnswersTheSameAndMovesTheBytes) {
  start(Dma::kCopy, rdma::Access::kRemoteWrite);
  fill_memory("untouched!");
  EXPECT_EQ(told(get(token())), (Told{200, "200", "10"}));
  EXPECT_EQ(memory(), kObject);
}

TEST_F(DmaTest, NoneStillRefusesATokenThatIsNotGood) {
  start(Dma::kNone, rdma::Access::kRemoteWrite);
  std::string outside = token();
  outside.replace(outside.size() - 8, 8, "00001001");  // one byte more than the region has
  EXPECT_EQ(code(get(outside)), "InvalidRDMAToken");
  EXPECT_NE(get(token(kObject.size() - 1)).status, 200) << "the window is too small";
  const std::string dead = token();
  region_.reset();
  EXPECT_EQ(code(get(dead)), "InvalidRDMAToken");
}

TEST_F(DmaTest, NoneRefusesATokenOfTheOtherDirection) {
  start(Dma::kNone, rdma::Access::kRemoteRead);
  EXPECT_EQ(code(get(token())), "InvalidRDMAToken");
}

TEST_F(DmaTest, NoneStoresTheLengthAndNoBytes) {
  start(Dma::kNone, rdma::Access::kRemoteRead);
  fill_memory("new object");
  EXPECT_EQ(put(token()).status, 200);
  EXPECT_EQ(read_file(folder("bucket/new")), std::string(kObject.size(), '\0'));
}

TEST_F(DmaTest, CopyStores) {
  start(Dma::kCopy, rdma::Access::kRemoteRead);
  fill_memory("new object");
  EXPECT_EQ(put(token()).status, 200);
  EXPECT_EQ(read_file(folder("bucket/new")), "new object");
}

TEST_F(DmaTest, NoneBelievesTheChecksumThatIsClaimed) {
  start(Dma::kNone, rdma::Access::kRemoteRead);
  const Response response = put(token(), {{"x-amz-checksum-crc64nvme", "AAAAAAAAAAA="}});
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(header(response, "x-amz-checksum-crc64nvme"), "AAAAAAAAAAA=");
  const Response other = put(token(), {{"x-amz-checksum-crc64nvme", "AQAAAAAAAAA="}});
  EXPECT_NE(header(response, "ETag"), header(other, "ETag")) << "other bytes are claimed";
}

TEST_F(DmaTest, CopyComparesTheChecksumThatIsClaimed) {
  start(Dma::kCopy, rdma::Access::kRemoteRead);
  EXPECT_EQ(code(put(token(), {{"x-amz-checksum-crc64nvme", "AAAAAAAAAAA="}})), "BadDigest");
}

TEST_F(DmaTest, NoneStoresNothingByATokenThatIsNotGood) {
  start(Dma::kNone, rdma::Access::kRemoteRead);
  const std::string dead = token();
  EXPECT_EQ(request("PUT", part_address(), dead).status, 200);
  region_.reset();
  EXPECT_EQ(code(request("PUT", part_address(), dead)), "InvalidRDMAToken");
  EXPECT_EQ(code(put(dead)), "InvalidRDMAToken");
  EXPECT_FALSE(is_stored());
}

TEST_F(DmaTest, NoneJoinsPartsToAnObjectOfTheirLengthThatTakesNoRoom) {
  start(Dma::kNone, rdma::Access::kRemoteRead);
  const std::string address = part_address();
  const Response part = request("PUT", address, token());
  const std::string id = address.substr(address.find("uploadId="));
  const Response joined =
      send({.method = "POST",
            .target = "/bucket/new?" + id,
            .body = "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>" +
                    header(part, "ETag") + "</ETag></Part></CompleteMultipartUpload>"});
  EXPECT_EQ(joined.status, 200);
  const UniqueFd file(::open(folder("bucket/new").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_END), static_cast<off_t>(kObject.size()));
  EXPECT_EQ(::lseek(file.get(), 0, SEEK_DATA), -1) << "it has data";
}

TEST(DmaOption, IsCopyUnlessNoneIsSaid) {
  const auto parse = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"s3rdma-target", "--root", "/", "--anonymous-read"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> argv;
    argv.reserve(words.size());
    for (std::string& word : words) argv.push_back(word.data());
    return parse_options(static_cast<int>(argv.size()), argv.data());
  };
  EXPECT_EQ(parse({}).options.dma, Dma::kCopy);
  EXPECT_EQ(parse({"--dma", "none"}).options.dma, Dma::kNone);
  testing::internal::CaptureStderr();
  EXPECT_FALSE(parse({"--dma", "nope"}).serve);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("--dma"), std::string::npos);
}

}  // namespace
}  // namespace s3rdmafs::target
