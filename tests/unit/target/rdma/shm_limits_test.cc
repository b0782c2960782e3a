// SPDX-License-Identifier: Apache-2.0
// What clients of the shm socket can do to the server: each test has a client that keeps to no
// rule, and an honest one that is served all the same.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "fakes/eventually.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/rdma/shm_socket.h"
#include "s3rdmafs/rdma/shm_wire.h"
#include "target/rdma/shm/shm_acceptor.h"
#include "target/rdma/shm/shm_service.h"

namespace s3rdmafs::target {
namespace {

using rdma::shm::Message;
using rdma::shm::MessageType;
using rdma::shm::WireAccess;
using std::chrono::steady_clock;

constexpr std::uint64_t kPageBytes = 4096;

std::string socket_name() { return "@s3rdmafs-limits-" + std::to_string(::getpid()); }

/// One connection to the shm socket.
class Client {
 public:
  Client() { connect(); }
  /// Has a descriptor, and connects when told.
  struct Later {};
  explicit Client(Later) {}

  void connect() const {
    const timeval patience{.tv_sec = 20, .tv_usec = 0};
    EXPECT_EQ(::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    const auto address = rdma::shm::address_of_socket(socket_name()).value();
    EXPECT_EQ(::connect(socket_.get(), address.get(), address.length), 0);
  }

  /// Whether hello is answered; false where the server hangs up.
  [[nodiscard]] bool is_welcome() const {
    Message hello{};
    hello.type = MessageType::kHello;
    hello.version = rdma::shm::kWireVersion;
    const auto answer = ask(hello, /*fd=*/-1);
    return answer && answer->type == MessageType::kWelcome;
  }

  /// Offers `length_bytes` of a sparse file. The answer's errno, 0 for success.
  [[nodiscard]] int offer(std::uint64_t length_bytes) const {
    const UniqueFd file(::memfd_create("offer", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(length_bytes)), 0);
    Message message{};
    message.type = MessageType::kRegister;
    message.access = WireAccess::kRemoteWrite;
    message.length_bytes = length_bytes;
    const auto answer = ask(message, file.get());
    return answer ? answer->error : ECONNRESET;
  }

 private:
  [[nodiscard]] std::optional<Message> ask(const Message& message, int fd) const {
    const std::span<const int> fds = fd < 0 ? std::span<const int>() : std::span(&fd, 1);
    if (rdma::shm::send_message(socket_.get(), message, fds) < 0) return std::nullopt;
    Message answer{};
    if (::recv(socket_.get(), &answer, sizeof(answer), 0) != sizeof(answer)) return std::nullopt;
    return answer;
  }

  UniqueFd socket_{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
};

class ShmLimitsTest : public testing::Test {
 protected:
  static constexpr ShmLimits kSmall{
      .each_user = {.sessions = 2, .regions = 3, .bytes = 16 * kPageBytes},
      .all_users = {.sessions = 2, .regions = 3, .bytes = 16 * kPageBytes}};

  void serve(const ShmLimits& limits, const ShmUsers& users = {}) {
    service_ =
        make_shm_service(socket_name(), Dma::kCopy, {.users = users, .limits = limits}).value();
  }

  std::unique_ptr<TransferService> service_;
};

TEST_F(ShmLimitsTest, HangsUpOnSessionsPastTheLimitUntilOneEnds) {
  serve(kSmall);
  std::optional<Client> first(std::in_place);
  const Client second;
  EXPECT_TRUE(first->is_welcome());
  EXPECT_TRUE(second.is_welcome());
  EXPECT_FALSE(Client().is_welcome());
  EXPECT_TRUE(second.is_welcome()) << "the first client is still served";
  first.reset();
  EXPECT_TRUE(fakes::eventually([] { return Client().is_welcome(); })) << "there is room again";
}

TEST_F(ShmLimitsTest, RefusesRegionsPastTheLimitAndServesTheSessionOn) {
  serve(kSmall);
  const Client client;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.offer(kPageBytes), 0);
  EXPECT_EQ(client.offer(kPageBytes), ENOMEM);
  EXPECT_TRUE(client.is_welcome());
}

TEST_F(ShmLimitsTest, CountsRegionsOverAllSessionsOfAUserAndTakesThemBackWithTheirSession) {
  serve(kSmall);
  std::optional<Client> first(std::in_place);
  const Client second;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(first->offer(kPageBytes), 0);
  EXPECT_EQ(second.offer(kPageBytes), ENOMEM);
  first.reset();
  EXPECT_TRUE(fakes::eventually([&] { return second.offer(kPageBytes) == 0; }));
}

TEST_F(ShmLimitsTest, RefusesSparseFilesThatWouldTakeTheServersAddresses) {
  serve(kSmall);
  const Client client;
  EXPECT_EQ(client.offer(17 * kPageBytes), ENOMEM);
  EXPECT_EQ(client.offer(16 * kPageBytes), 0) << "control: a refused request took nothing";
}

TEST_F(ShmLimitsTest, RefusesATebibyteTooMuchUnderTheRealLimits) {
  serve(shm_limits_of_this_host());
  const Client client;
  EXPECT_EQ(client.offer(kPageBytes), 0) << "control";
  EXPECT_EQ(client.offer(shm_limits_of_this_host().each_user.bytes + kPageBytes), ENOMEM);
}

TEST_F(ShmLimitsTest, ServesOnlyItsOwnUserAndRootUnlessToldOtherwise) {
  constexpr uid_t kStranger = 54'321;
  // Credentials are a thread's own (the system call, not the C library's function), and only root
  // can change them; others play a server of another user.
  const bool is_root = ::geteuid() == 0;
  const auto stranger_is_welcome = [&] {
    bool welcome = false;
    std::thread([&] {
      if (is_root) {
        EXPECT_EQ(::syscall(SYS_setresuid, kStranger, kStranger, kStranger), 0);
      }
      welcome = Client().is_welcome();
    }).join();
    // The kernel took it away with the change of user; the leak checker needs it.
    EXPECT_EQ(::prctl(PR_SET_DUMPABLE, 1), 0);
    return welcome;
  };
  ShmUsers users;
  if (!is_root) users.own = kStranger;
  const uid_t caller = is_root ? kStranger : ::geteuid();
  serve(kSmall, users);
  EXPECT_FALSE(stranger_is_welcome());
  service_.reset();
  users.also = caller;
  serve(kSmall, users);
  EXPECT_TRUE(stranger_is_welcome()) << "control: named";
  service_.reset();
  users.also.reset();
  users.everybody = true;
  serve(kSmall, users);
  EXPECT_TRUE(stranger_is_welcome()) << "control: any";
}

TEST(ShmUsersTest, AreTheServersOwnRootAndTheOneThatWasNamed) {
  ShmUsers users;
  users.own = 1000;
  EXPECT_TRUE(users.serves(1000));
  EXPECT_TRUE(users.serves(0));
  EXPECT_FALSE(users.serves(1001));
  users.also = 1001;
  EXPECT_TRUE(users.serves(1001));
  EXPECT_FALSE(users.serves(1002));
  users.everybody = true;
  EXPECT_TRUE(users.serves(1002));
}

/// When lines were logged.
class Times {
 public:
  void add(steady_clock::time_point time) {
    const MutexLock lock(mutex_);
    times_.push_back(time);
  }
  [[nodiscard]] std::vector<steady_clock::time_point> get() const {
    const MutexLock lock(mutex_);
    return times_;
  }

 private:
  mutable Mutex mutex_;  // leaf
  std::vector<steady_clock::time_point> times_ GUARDED_BY(mutex_);
};

/// Keeps the time of each line of the log that has a certain text in it.
class KeptTimes final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  KeptTimes(std::string part, std::shared_ptr<Times> times)
      : part_(std::move(part)), times_(std::move(times)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string_view text(message.payload.data(), message.payload.size());
    if (text.find(part_) != std::string_view::npos) times_->add(steady_clock::now());
  }
  void flush_() override {}

  const std::string part_;
  const std::shared_ptr<Times> times_;
};

/// The log of this process goes here while this lives. No other thread may log at either end of it.
class LogCapture {
 public:
  explicit LogCapture(const std::string& part) : before_(spdlog::default_logger()) {
    spdlog::set_default_logger(
        std::make_shared<spdlog::logger>("test", std::make_shared<KeptTimes>(part, times_)));
    // The sanitizer checks the type of each object with virtual functions when it first meets one,
    // and needs a descriptor for it: now, while there are some.
    log::warn("the log goes to the test");
  }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;
  ~LogCapture() { spdlog::set_default_logger(before_); }
  [[nodiscard]] std::vector<steady_clock::time_point> times() const { return times_->get(); }

 private:
  std::shared_ptr<Times> times_ = std::make_shared<Times>();
  std::shared_ptr<spdlog::logger> before_;
};

/// An acceptor with a listener, whose clients get what the test says.
class ShmAcceptorTest : public testing::Test {
 protected:
  static constexpr ShmHoldings kPlenty{.sessions = 10, .regions = 0, .bytes = 0};

  UniqueFd listener() const {
    const std::string name = socket_name();
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const auto address = rdma::shm::address_of_socket(name).value();
    EXPECT_EQ(::bind(socket.get(), address.get(), address.length), 0);
    EXPECT_EQ(::listen(socket.get(), 8), 0);
    return socket;
  }

  /// Answers one hello.
  static void welcome(int socket) {
    Message message{};
    if (::recv(socket, &message, sizeof(message), 0) <= 0) return;
    message.type = MessageType::kWelcome;
    EXPECT_GT(::send(socket, &message, sizeof(message), MSG_NOSIGNAL), 0);
  }

  ShmBudget budget_{{.each_user = kPlenty, .all_users = kPlenty}};
};

TEST_F(ShmAcceptorTest, EndsThatClientAloneWhereServingItThrows) {
  std::atomic<int> served{0};
  const ShmAcceptor acceptor(listener(), {}, budget_,
                             [&](const std::stop_token&, int socket, uid_t) {
                               if (served++ == 0) throw std::bad_alloc();
                               welcome(socket);
                             });
  EXPECT_FALSE(Client().is_welcome());
  EXPECT_TRUE(Client().is_welcome()) << "control: the next client is served";
}

TEST_F(ShmAcceptorTest, EndsThatClientAloneWhereThereIsNoThreadForIt) {
  std::atomic<int> started{0};
  const ShmAcceptor acceptor(
      listener(), {}, budget_, [](const std::stop_token&, int socket, uid_t) { welcome(socket); },
      [&](std::function<void(const std::stop_token&)> run) {
        if (started++ == 0) throw std::system_error(EAGAIN, std::generic_category());
        return std::jthread(std::move(run));
      });
  EXPECT_FALSE(Client().is_welcome());
  EXPECT_TRUE(Client().is_welcome()) << "control: the next client is served";
}

TEST_F(ShmAcceptorTest, PausesBetweenAttemptsWhileTheProcessHasNoDescriptorLeft) {
  const LogCapture log("a client cannot be accepted: Too many open files");
  const ShmAcceptor acceptor(listener(), {}, budget_,
                             [](const std::stop_token&, int socket, uid_t) { welcome(socket); });
  const Client client(Client::Later{});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  // The lowest one that is free is the first that may not be had. (A limit of 0 fails poll(2).)
  const int lowest_free = ::dup(STDERR_FILENO);
  ASSERT_EQ(::close(lowest_free), 0);
  const rlimit none{.rlim_cur = static_cast<rlim_t>(lowest_free), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  client.connect();
  EXPECT_TRUE(fakes::eventually([&] { return log.times().size() >= 3; }));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  const auto times = log.times();
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_GE(times[i] - times[i - 1], std::chrono::milliseconds(kShmPollMs / 2));
  }
  EXPECT_TRUE(client.is_welcome()) << "a waiting client is served once there are descriptors";
}

}  // namespace
}  // namespace s3rdmafs::target
