// SPDX-License-Identifier: Apache-2.0
// Both ends of the shm fabric in one process: the client's fabric and the target's service.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "fakes/eventually.h"
#include "fakes/rdma/token_text.h"
#include "rdma/shm/shm_fabric.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/rdma/shm_socket.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/rdma/shm/shm_service.h"

namespace s3rdmafs::rdma::shm {
namespace {

using fakes::token_text;

constexpr std::size_t kRegionBytes = 64 * kKiB;

// Memory that maps a file, two regions long: the second half must never change.
class SharedMemory {
 public:
  SharedMemory() : fd_(::memfd_create("test", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(fd_.get(), 2 * kRegionBytes), 0);
    memory_ = ::mmap(nullptr, 2 * kRegionBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0);
  }
  ~SharedMemory() { ::munmap(memory_, 2 * kRegionBytes); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] Backing first_half() const {
    return {.fd = fd_.get(), .bytes = {static_cast<std::byte*>(memory_), kRegionBytes}};
  }
  [[nodiscard]] std::string text(std::size_t offset, std::size_t length) const {
    return {static_cast<const char*>(memory_) + offset, length};
  }
  [[nodiscard]] bool is_untouched() const {
    return text(0, 2 * kRegionBytes).find_first_not_of('\0') == std::string::npos;
  }

 private:
  UniqueFd fd_;
  void* memory_;
};

// A file with known bytes, as the target has one for each object.
UniqueFd file_with(const std::string& bytes) {
  UniqueFd fd(::memfd_create("object", MFD_CLOEXEC));
  EXPECT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  return fd;
}

class ShmTest : public testing::Test {
 protected:
  ShmTest() : socket_name_("@s3rdmafs-test-" + std::to_string(::getpid())) {
    start_server();
    fabric_ = make_shm_fabric(socket_name_);
  }
  void start_server() { service_ = target::make_shm_service(socket_name_).value(); }

  std::unique_ptr<MemoryRegion> register_for(Access access) {
    return fabric_->register_memory(memory_.first_half(), access).value();
  }

  // Whether the server refuses the token, and the memory is as it was.
  testing::AssertionResult refuses_get(const std::string& token) {
    const auto result = service_->write_window(token, file_with("XXXX").get(), 0, 4);
    if (result) return testing::AssertionFailure() << "accepted " << token;
    if (result.error().code != ErrorCode::kInvalidArgument) {
      return testing::AssertionFailure() << result.error().detail;
    }
    if (!memory_.is_untouched()) return testing::AssertionFailure() << "memory was touched";
    return testing::AssertionSuccess();
  }

  const std::string socket_name_;
  SharedMemory memory_;
  std::unique_ptr<target::TransferService> service_;
  std::unique_ptr<Fabric> fabric_;
};

TEST_F(ShmTest, MovesAnObjectsBytesExactlyIntoTheWindow) {
  const auto region = register_for(Access::kRemoteWrite);
  const auto token = token_text(*region, 1000, 4);
  ASSERT_TRUE(token);
  EXPECT_EQ(service_->window_size(*token), 4U);
  ASSERT_TRUE(service_->write_window(*token, file_with("0123456789").get(), 3, 4));
  EXPECT_EQ(memory_.text(999, 6), std::string("\0003456\0", 6));
}

TEST_F(ShmTest, MovesTheWindowsBytesIntoAFile) {
  const auto region = register_for(Access::kRemoteRead);
  std::memcpy(region->bytes().data() + 10, "abcdef", 6);
  const UniqueFd file = file_with("..........");
  ASSERT_TRUE(service_->read_window(token_text(*region, 10, 6).value(), file.get(), 2, 6));
  std::string stored(10, '\0');
  ASSERT_EQ(::pread(file.get(), stored.data(), stored.size(), 0), 10);
  EXPECT_EQ(stored, "..abcdef..");
}

TEST_F(ShmTest, RefusesEveryTokenThatIsNotExactlyTheRightOne) {
  const auto region = register_for(Access::kRemoteWrite);
  const std::string good = token_text(*region, 0, 4).value();
  std::string other_session = good;
  other_session[10] = other_session[10] == '0' ? '1' : '0';
  std::string upper_case = good;
  upper_case.replace(0, 4, "SHM:");
  for (const std::string& bad :
       {std::string(), std::string("shm:"), good + "0", good.substr(1), other_session, upper_case,
        good.substr(0, good.size() - 1) + "g", std::string(good.size(), ':')}) {
    EXPECT_TRUE(refuses_get(bad)) << bad;
  }
}

TEST_F(ShmTest, RefusesWindowsThatReachOutsideTheRegion) {
  const auto region = register_for(Access::kRemoteWrite);
  auto token = parse_token(token_text(*region, 0, 4).value()).value();
  for (const std::uint64_t offset : {std::uint64_t{kRegionBytes - 3}, std::uint64_t{kRegionBytes},
                                     ~std::uint64_t{0}, ~std::uint64_t{0} - 3}) {
    token.offset_bytes = offset;
    EXPECT_TRUE(refuses_get(token.to_string())) << offset;
  }
  token.offset_bytes = 0;
  token.size_bytes = 0xFFFFFFFF;
  EXPECT_TRUE(refuses_get(token.to_string()));
  token.size_bytes = 0;
  EXPECT_TRUE(refuses_get(token.to_string()));
}

TEST_F(ShmTest, RefusesMoreBytesThanTheWindowHolds) {
  const auto region = register_for(Access::kRemoteWrite);
  EXPECT_FALSE(
      service_->write_window(token_text(*region, 0, 4).value(), file_with("01234").get(), 0, 5));
  EXPECT_TRUE(memory_.is_untouched());
}

TEST_F(ShmTest, RefusesTheDirectionTheRegionWasNotOfferedFor) {
  const auto region = register_for(Access::kRemoteRead);
  EXPECT_TRUE(refuses_get(token_text(*region, 0, 4).value()));
}

TEST_F(ShmTest, KillsOldTokensWhenARegionIsFenced) {
  const auto region = register_for(Access::kRemoteWrite);
  const std::string old_token = token_text(*region, 0, 4).value();
  ASSERT_TRUE(region->fence());
  EXPECT_TRUE(refuses_get(old_token));
  EXPECT_TRUE(
      service_->write_window(token_text(*region, 0, 4).value(), file_with("good").get(), 0, 4))
      << "control: the new token works";
}

TEST_F(ShmTest, KillsTokensWhenTheRegionIsGone) {
  auto region = register_for(Access::kRemoteWrite);
  const std::string token = token_text(*region, 0, 4).value();
  region.reset();
  EXPECT_TRUE(refuses_get(token));
}

TEST_F(ShmTest, SurvivesAClientThatCutsItsMemoryShort) {
  const auto region = register_for(Access::kRemoteWrite);
  ASSERT_EQ(::ftruncate(memory_.fd(), 0), 0);
  const auto result =
      service_->write_window(token_text(*region, 0, 4).value(), file_with("boom").get(), 0, 4);
  EXPECT_FALSE(result);
  ASSERT_EQ(::ftruncate(memory_.fd(), 2 * kRegionBytes), 0);
}

TEST_F(ShmTest, GivesNoTokensWhileTheServerIsAwayAndNewOnesWhenItIsBack) {
  const auto region = register_for(Access::kRemoteWrite);
  const std::string old_token = token_text(*region, 0, 4).value();
  service_.reset();
  EXPECT_TRUE(fakes::eventually([&] { return !fabric_->is_up(); }));
  EXPECT_EQ(token_text(*region, 0, 4).error().code, ErrorCode::kUnreachable);
  EXPECT_TRUE(region->fence()) << "fenced already: a server that hung up cannot write";

  start_server();
  ASSERT_TRUE(fakes::eventually([&] { return fabric_->is_up(); }));
  EXPECT_TRUE(refuses_get(old_token));
  EXPECT_TRUE(
      service_->write_window(token_text(*region, 0, 4).value(), file_with("back").get(), 0, 4));
  EXPECT_EQ(memory_.text(0, 4), "back");
}

// A client that breaks the protocol: one connection to the server, any message at any time.
class RudeClient {
 public:
  explicit RudeClient(const std::string& socket_name)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    const auto address = address_of_socket(socket_name).value();
    EXPECT_EQ(::connect(socket_.get(), address.get(), address.length), 0);
  }
  [[nodiscard]] bool send_hello() const {
    Message hello{};
    hello.type = MessageType::kHello;
    hello.version = kWireVersion;
    return ::send(socket_.get(), &hello, sizeof(hello), MSG_NOSIGNAL | MSG_DONTWAIT) > 0 ||
           errno == EAGAIN;
  }
  // Offers a region with two descriptors of one file where one belongs; waits for the answer.
  void send_two_descriptors(int fd) const {
    Message offer{};
    offer.type = MessageType::kRegister;
    offer.access = WireAccess::kRemoteWrite;
    offer.length_bytes = kRegionBytes;
    EXPECT_GT(send_message(socket_.get(), offer, std::array{fd, fd}), 0);
    Message answer{};
    EXPECT_GT(::recv(socket_.get(), &answer, sizeof(answer), 0), 0);
    EXPECT_EQ(answer.type, MessageType::kRegistered);
  }

 private:
  UniqueFd socket_;
};

// The server's descriptors are this process's: it runs here.
std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

TEST_F(ShmTest, KeepsNoDescriptorOfAClientThatSendsTwo) {
  const RudeClient client(socket_name_);
  client.send_two_descriptors(memory_.fd());
  const auto before = open_descriptors();
  for (int i = 0; i < 10; ++i) client.send_two_descriptors(memory_.fd());
  // The last is closed just after its answer was sent.
  EXPECT_TRUE(fakes::eventually([&] { return open_descriptors() <= before; }));
}

TEST_F(ShmTest, HangsUpOnAClientThatReadsNoAnswers) {
  const RudeClient client(socket_name_);
  EXPECT_TRUE(client.send_hello()) << "control: the connection works";
  EXPECT_TRUE(fakes::eventually([&] {
    for (int i = 0; i < 100; ++i) {
      if (!client.send_hello()) return true;
    }
    return false;
  }));
}

TEST_F(ShmTest, ReportsThatAnotherServerHasTheSocket) {
  const auto second = target::make_shm_service(socket_name_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kExists);
}

TEST_F(ShmTest, GoesOnWithoutShmWhereAnotherServerHasTheDefaultSocket) {
  const auto without = target::make_shm_service_if_free(socket_name_);
  ASSERT_TRUE(without);
  EXPECT_EQ(*without, nullptr);
  service_.reset();
  const auto with = target::make_shm_service_if_free(socket_name_);
  ASSERT_TRUE(with);
  EXPECT_NE(*with, nullptr) << "control: the name is free";
}

TEST_F(ShmTest, MovesBytesToAPartOfTheWindowAndNotBeyondIt) {
  const auto region = register_for(Access::kRemoteWrite);
  const std::string token = token_text(*region, 1000, 4).value();
  const std::string after{'\0', '\0', '\0', '5', '6', '\0'};
  ASSERT_TRUE(service_->write_part(token, 2, file_with("0123456789").get(), 5, 2));
  EXPECT_EQ(memory_.text(999, 6), after);
  EXPECT_FALSE(service_->write_part(token, 3, file_with("0123456789").get(), 0, 2));
  EXPECT_FALSE(service_->write_part(token, 5, file_with("0123456789").get(), 0, 1));
  EXPECT_FALSE(service_->write_part(token, ~std::uint64_t{0}, file_with("01").get(), 0, 2));
  EXPECT_EQ(memory_.text(999, 6), after);
}

TEST(ShmToken, ReadsBackWhatItWrites) {
  Token token{.region_key = 0x1234, .offset_bytes = 0xABCDEF, .size_bytes = 0x10000};
  token.session_id.fill(0x5A);
  const std::string text = token.to_string();
  EXPECT_EQ(text,
            "shm:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a:0000000000001234:0000000000abcdef:00010000");
  const auto back = parse_token(text);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->to_string(), text);
}

}  // namespace
}  // namespace s3rdmafs::rdma::shm
