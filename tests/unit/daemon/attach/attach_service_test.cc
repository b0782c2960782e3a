// SPDX-License-Identifier: Apache-2.0
#include "daemon/attach/attach_service.h"

#include <fcntl.h>
#include <unistd.h>

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/fake_resident_parts.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

using attach::Kind;
using attach::Status;
using attach::Ticket;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t kPart = 8 * kMiB;
constexpr std::uint64_t kSize = 10 * kPart + 5;

class AttachServiceTest : public testing::Test {
 protected:
  using Answers = std::vector<AttachService::Answer>;

  // The answers fill while the test goes on.
  std::shared_ptr<Answers> send(const std::shared_ptr<AttachService::Process>& process, Kind kind,
                                Ticket ticket, std::uint64_t offset = 0, std::uint64_t length = 0,
                                UniqueFd descriptor = {}) {
    auto answers = std::make_shared<Answers>();
    service_.serve(
        process, {.kind = kind, .ticket = ticket, .offset_bytes = offset, .length_bytes = length},
        std::move(descriptor),
        [answers](AttachService::Answer answer) { answers->push_back(std::move(answer)); });
    return answers;
  }
  attach::Reply open() { return open(process_); }
  attach::Reply open(const std::shared_ptr<AttachService::Process>& process) {
    return send(process, Kind::kOpen, {}, 0, 0, UniqueFd(::open("/dev/null", O_RDONLY)))
        ->at(0)
        .reply;
  }
  Status get(const Ticket& ticket, std::uint64_t offset, std::uint64_t length = 0) {
    return get(process_, ticket, offset, length);
  }
  Status get(const std::shared_ptr<AttachService::Process>& process, const Ticket& ticket,
             std::uint64_t offset, std::uint64_t length = 0) {
    const auto answers = send(process, Kind::kGet, ticket, offset, length);
    if (answers->empty()) parts_.give();
    return answers->at(0).reply.status;
  }

  fakes::FakeClock clock_;
  metrics::Registry metrics_;
  fakes::FakeResidentParts parts_;
  Result<AttachService::Opened> found_ = AttachService::Opened{
      .version = {.key = "k", .etag = "\"e\"", .size_bytes = kSize}, .handle = 7};
  std::map<std::uint64_t, std::uint64_t> given_;
  AttachService service_{
      parts_,
      [this](int, pid_t) { return found_; },
      [this](std::uint64_t handle, std::uint64_t bytes) { given_[handle] += bytes; },
      clock_,
      metrics_,
      {.part_bytes = kPart, .ahead_bytes_max = 2 * kPart, .part_time = std::chrono::seconds(30)}};
  std::shared_ptr<AttachService::Process> process_ = service_.join(1);
};

TEST_F(AttachServiceTest, GivesThePartThatHasAnOffset) {
  const attach::Reply opened = open();
  EXPECT_EQ(opened.object_bytes, kSize);
  EXPECT_EQ(opened.part_bytes, kPart);
  const auto answers = send(process_, Kind::kGet, opened.ticket, 10 * kPart + 1);
  ASSERT_THAT(*answers, IsEmpty()) << "it is still fetched";
  parts_.give();
  ASSERT_EQ(answers->size(), 1U);
  EXPECT_EQ(answers->at(0).reply.offset_bytes, 10 * kPart);
  EXPECT_EQ(answers->at(0).reply.length_bytes, 5U);
  EXPECT_EQ(parts_.asked.at(0).length_bytes, 5U);
  EXPECT_EQ(parts_.deadlines.at(0), clock_.now() + std::chrono::seconds(30));
  EXPECT_EQ(::fcntl(answers->at(0).descriptor.get(), F_GETFL) & O_ACCMODE, O_RDONLY);
}

TEST_F(AttachServiceTest, TellsHowMuchOfAnOpenFileItHasGiven) {
  const attach::Reply opened = open();
  ASSERT_EQ(get(opened.ticket, 0), Status::kOk);
  ASSERT_EQ(get(opened.ticket, 10 * kPart), Status::kOk);
  EXPECT_THAT(given_, ElementsAre(testing::Pair(7, kPart + 5)));
}

TEST_F(AttachServiceTest, FetchesAheadWithinItsBound) {
  const attach::Reply opened = open();
  ASSERT_EQ(get(opened.ticket, kPart, 100 * kPart), Status::kOk);
  EXPECT_THAT(parts_.prefetched, ElementsAre(2 * kPart, 3 * kPart));
  send(process_, Kind::kPrefetch, opened.ticket, 10 * kPart, UINT64_MAX);
  EXPECT_THAT(parts_.prefetched, ElementsAre(2 * kPart, 3 * kPart, 10 * kPart));
}

TEST_F(AttachServiceTest, FetchesLessAheadOfEachOfManyProcesses) {
  const attach::Reply opened = open();
  std::vector<std::shared_ptr<AttachService::Process>> others;
  for (pid_t pid = 2; pid <= 8; ++pid) others.push_back(service_.join(pid));
  ASSERT_EQ(get(opened.ticket, kPart, 100 * kPart), Status::kOk);
  EXPECT_THAT(parts_.prefetched, ElementsAre(2 * kPart)) << "an eighth of a half of 16 parts";
  others.clear();
  ASSERT_EQ(get(opened.ticket, 3 * kPart, 100 * kPart), Status::kOk);
  EXPECT_THAT(parts_.prefetched, ElementsAre(2 * kPart, 4 * kPart, 5 * kPart)) << "the control";
}

TEST_F(AttachServiceTest, FetchesNothingAheadThatIsNotAskedFor) {
  ASSERT_EQ(get(open().ticket, kPart), Status::kOk);
  EXPECT_THAT(parts_.prefetched, IsEmpty());
}

TEST_F(AttachServiceTest, AResidentObjectIsOnePart) {
  parts_.memory_bytes = 4 * kSize;
  parts_.is_whole = true;
  const attach::Reply opened = open();
  EXPECT_EQ(opened.part_bytes, kSize);
  ASSERT_EQ(get(opened.ticket, kPart), Status::kOk);
  EXPECT_TRUE(parts_.asked.at(0).is_whole());
}

TEST_F(AttachServiceTest, APartIsInUseUntilItIsReleased) {
  const attach::Reply opened = open();
  ASSERT_EQ(get(opened.ticket, 0), Status::kOk);
  EXPECT_EQ(*parts_.used, 1);
  send(process_, Kind::kRelease, opened.ticket, kPart);
  EXPECT_EQ(*parts_.used, 1) << "another part";
  send(process_, Kind::kRelease, opened.ticket, 0);
  EXPECT_EQ(*parts_.used, 0);
}

TEST_F(AttachServiceTest, APartIsInUseUntilItsProcessIsGone) {
  const attach::Reply opened = open();
  ASSERT_EQ(get(opened.ticket, 0), Status::kOk);
  const auto again = service_.join(1);
  process_.reset();
  EXPECT_EQ(*parts_.used, 1) << "another connection of the process";
  send(again, Kind::kClose, opened.ticket);
  EXPECT_EQ(*parts_.used, 1) << "a file that is closed leaves its parts";
}

TEST_F(AttachServiceTest, AnAnswerAfterTheProcessHasLeftHoldsNothing) {
  const attach::Reply opened = open();
  send(process_, Kind::kGet, opened.ticket);
  process_.reset();
  parts_.give();
  EXPECT_EQ(*parts_.used, 0);
  EXPECT_EQ(metrics_.gauge("attach_held_bytes", "").value(), 0);
  EXPECT_EQ(metrics_.gauge("attach_processes", "").value(), 0);
}

TEST_F(AttachServiceTest, AProcessHasAQuarterOfTheMemory) {
  const attach::Reply opened = open();
  EXPECT_EQ(opened.parts_max, 4U);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_EQ(get(opened.ticket, i * kPart), Status::kOk);
  EXPECT_EQ(get(opened.ticket, 4 * kPart), Status::kTooMany);
  EXPECT_EQ(get(opened.ticket, 0), Status::kTooMany) << "a part twice is two descriptors";
  send(process_, Kind::kRelease, opened.ticket, 0);
  EXPECT_EQ(get(opened.ticket, 4 * kPart), Status::kOk);
}

TEST_F(AttachServiceTest, AllProcessesHaveHalfOfTheMemory) {
  std::vector<std::shared_ptr<AttachService::Process>> others;
  for (pid_t pid = 2; pid < 4; ++pid) {
    others.push_back(service_.join(pid));
    const Ticket ticket = open(others.back()).ticket;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ASSERT_EQ(get(others.back(), ticket, i * kPart), Status::kOk);
    }
  }
  EXPECT_EQ(get(open().ticket, 0), Status::kNoRoom);
  others.pop_back();
  EXPECT_EQ(get(open().ticket, 0), Status::kOk);
}

TEST_F(AttachServiceTest, APartLargerThanAQuarterIsGivenAlone) {
  parts_.is_whole = true;
  const attach::Reply opened = open();
  EXPECT_EQ(opened.parts_max, 1U);
  EXPECT_EQ(get(opened.ticket, 0), Status::kNoRoom) << "it is more than half";
  parts_.memory_bytes = 2 * kSize;
  EXPECT_EQ(get(opened.ticket, 0), Status::kOk);
}

TEST_F(AttachServiceTest, ATicketIsOfOneProcess) {
  const attach::Reply opened = open();
  EXPECT_EQ(get(service_.join(2), opened.ticket, 0), Status::kNoTicket);
  EXPECT_EQ(get(service_.join(1), opened.ticket, 0), Status::kOk);
  send(process_, Kind::kClose, opened.ticket);
  EXPECT_EQ(get(opened.ticket, 0), Status::kNoTicket);
}

TEST_F(AttachServiceTest, RefusesOtherFilesThanThoseOfTheMount) {
  found_ = fail(ErrorCode::kInvalidArgument, "no");
  EXPECT_EQ(open().status, Status::kNotOfMount);
  found_ = fail(ErrorCode::kUnsupported, "it may be written");
  EXPECT_EQ(open().status, Status::kWritable);
  EXPECT_EQ(send(process_, Kind::kOpen, {})->at(0).reply.status, Status::kBadRequest);
  EXPECT_EQ(metrics_.counter("attach_refused_total", "", R"(reason="writable")").value(), 1U);
}

TEST_F(AttachServiceTest, RefusesOffsetsPastTheEnd) {
  const attach::Reply opened = open();
  EXPECT_EQ(get(opened.ticket, kSize), Status::kBadRequest);
  EXPECT_EQ(get(opened.ticket, UINT64_MAX), Status::kBadRequest);
  EXPECT_EQ(get(opened.ticket, kSize - 1), Status::kOk);
}

TEST_F(AttachServiceTest, TellsMemoryThatLacksFromAServerThatFails) {
  const attach::Reply opened = open();
  for (const auto& [code, status] :
       {std::pair(ErrorCode::kNoMemory, Status::kNoRoom),
        std::pair(ErrorCode::kBusy, Status::kNoRoom), std::pair(ErrorCode::kStale, Status::kFailed),
        std::pair(ErrorCode::kTimedOut, Status::kFailed)}) {
    const auto answers = send(process_, Kind::kGet, opened.ticket);
    parts_.answer(fail(code, "no"));
    EXPECT_EQ(answers->at(0).reply.status, status);
  }
}

}  // namespace
}  // namespace s3rdmafs::daemon
