// SPDX-License-Identifier: Apache-2.0
// Whether servers still write to memory after their reply, and after a fence.
#include <algorithm>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/other_source.h"
#include "daemon/doctor/probes/rail.h"
#include "daemon/doctor/probes/target_faults.h"
#include "daemon/doctor/probes/token_windows.h"
#include "daemon/mount/await.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

constexpr std::size_t kFences = 8;

/// The worst finding of all paths, with the path's name; the evidence has the findings of all.
class PathFindings {
 public:
  void add(const std::string& path, Finding found) {
    found.evidence.insert_or_assign("path", path);
    found.evidence.insert_or_assign("seen", found.seen);
    paths_.push_back(std::move(found.evidence));
    const bool is_worse = !is_set_ || rank(found.level) > rank(worst_.level);
    if (!is_worse) return;
    is_set_ = true;
    worst_ = {.level = found.level,
              .seen = fmt::format("{}: {}", path, found.seen),
              .advice = std::move(found.advice)};
  }
  [[nodiscard]] Finding take() {
    if (!is_set_) return {Level::kSkipped, "because nothing works by RDMA", {}};
    worst_.evidence.insert("paths", std::move(paths_));
    return std::move(worst_);
  }

 private:
  // A path that was not tested must not hide a finding of another.
  static int rank(Level level) { return level == Level::kSkipped ? -1 : static_cast<int>(level); }

  bool is_set_ = false;
  Finding worst_;
  toml::array paths_;
};

Finding fence_and_compare(Context& context, TestMemory& memory) {
  const rdma::Window window = memory.landing(memory.landing_bytes());
  std::vector<TokenWindow> seen;
  for (std::size_t fence = 0; fence <= kFences; ++fence) {
    if (fence > 0) {
      if (auto renewed = window.region->fence(); !renewed) {
        return {Level::kFail, "the fence fails: " + renewed.error().detail, {}};
      }
    }
    auto token = await<Result<rdma::Token>>([&](auto done) {
      window.region->token(window.offset, window.length, context.clock.now() + kQuestionTimeout,
                           std::move(done));
    });
    if (!token) return {Level::kDegraded, "no token: " + token.error().detail, {}};
    const auto found = window_of(token->text(), context.config().rdma.token_form);
    token->end(rdma::TokenFate::kAnswered);  // an answered token returns its session to the pool
    if (!found) return {Level::kPass, "its tokens carry no key of a NIC", {}};
    seen.push_back(*found);
  }
  return judge_fence(seen, window.length);
}

Finding check_keys(Context& context) {
  PathFindings findings;
  for (const RdmaPath& path : rdma_paths(context)) {
    findings.add(path.name, fence_and_compare(context, path.path.memory));
  }
  return findings.take();
}

constexpr int kOtherNicRounds = 8;
// Small reads, whose reply comes soon, and larger ones, which have many last packets.
constexpr std::size_t kSmallReadBytes = 4UL * 1024;
constexpr std::size_t kLargeReadBytes = 512UL * 1024;

// Stores a small object of its own. Where that fails, the test object is read unchanged.
void write_other_bytes(Context& context, const std::string& key) {
  if (!context.may_write) return;
  std::vector<std::byte> before = context.memory->expected();
  context.memory->expect_other_bytes();
  context.memory->expected().resize(std::min(kLargeReadBytes, before.size()));
  const s3::PutOutcome stored = put(context, *context.http, key);
  if (stored.etag) {
    context.object->key = key;
    context.object->etag = *stored.etag;
  } else {
    context.memory->expected() = std::move(before);
  }
}

Finding read_in_rounds(Context& context, const RdmaPath& rdma, const std::string& other) {
  OtherSourceRegion region(*rdma.path.memory.landing(1).region, other);
  const ReadPath path{.store = rdma.path.store, .memory = rdma.path.memory, .region = &region};
  const std::string key = random_key(context);
  for (int round = 0; round < kOtherNicRounds; ++round) {
    if (round % 2 == 0) write_other_bytes(context, key);
    const std::size_t length = std::min(context.memory->expected().size(),
                                        round % 2 == 0 ? kSmallReadBytes : kLargeReadBytes);
    Finding finding = read_and_compare(context, path, length, if_rdma_fails(context));
    if (finding.level == Level::kPass) continue;
    finding.seen = fmt::format("with the reply to {}: {}", other, finding.seen);
    return finding;
  }
  return {Level::kPass,
          fmt::format("{} reads with the reply to {}: all bytes were there when it came",
                      kOtherNicRounds, other),
          {}};
}

Finding read_with_other_reply(Context& context, const RdmaPath& rdma) {
  const std::string other = find_other_source(context, rdma.source_address);
  if (other.empty()) {
    return {Level::kSkipped, "not tested: no other address of this host reaches the server", {}};
  }
  const s3::ObjectInfo object = *context.object;
  const std::vector<std::byte> expected = context.memory->expected();
  Finding finding = read_in_rounds(context, rdma, other);
  context.object = object;
  context.memory->expected() = expected;
  finding.evidence.insert("reply_to", other);
  return finding;
}

// The reply and the bytes then take different routes, so only the server can keep them in order: it
// must know that the bytes have arrived before it replies.
Finding check_reply_over_other_nic(Context& context) {
  if (context.rails.empty()) return {Level::kSkipped, "because no NIC is in use", {}};
  PathFindings findings;
  for (const RdmaPath& path : rdma_paths(context))
    findings.add(path.name, read_with_other_reply(context, path));
  return findings.take();
}

constexpr std::chrono::milliseconds kLateness{300};
constexpr std::chrono::milliseconds kLateWriteWait{1500};

Finding write_late(Context& context, TargetFaults& faults, const ReadPath& path) {
  if (auto set = faults.set(fmt::format("late-write:{}ms@get", kLateness.count())); !set) {
    return {Level::kSkipped, "not tested: " + set.error().detail, {}};
  }
  const rdma::Window window = path.memory.landing(context.memory->expected().size());
  const GetResult got = get(context, path.store, window);
  const auto cleared = faults.set("");
  if (!cleared)
    return {Level::kNote, "the target keeps an injected fault: " + cleared.error().detail, {}};
  if (got || !got.error().late_write_possible) {
    return {Level::kSkipped, "not tested: the server wrote at once", {}};
  }
  if (auto renewed = window.region->fence(); !renewed) {
    return {Level::kFail, "the fence fails: " + renewed.error().detail, {}};
  }
  constexpr std::byte kOurs{0x5A};
  std::ranges::fill(window.bytes(), kOurs);
  context.machine->pause(kLateWriteWait);
  const auto bytes = window.bytes();
  const auto changed = std::ranges::find_if(bytes, [](std::byte byte) { return byte != kOurs; });
  if (changed == bytes.end()) {
    return {Level::kPass, "a write that came after the fence changed nothing", {}};
  }
  return {Level::kFail,
          fmt::format("a late write changed byte {} after a fence", changed - bytes.begin()),
          "set rdma.mode = \"off\" and report this"};
}

Finding check_late_writes(Context& context) {
  const std::vector<RdmaPath> paths = rdma_paths(context);
  if (paths.empty()) return {Level::kSkipped, "because nothing works by RDMA", {}};
  TargetFaults faults(context.clock, context.config().endpoint);
  if (!faults.can_be_set()) {
    return {
        Level::kSkipped, "not tested: needs s3rdma-target --allow-fault-control, on this host", {}};
  }
  PathFindings findings;
  for (const RdmaPath& path : paths)
    findings.add(path.name, write_late(context, faults, path.path));
  return findings.take();
}

}  // namespace

void add_fence_checks(Checks& checks) {
  checks.insert(checks.end(),
                {{"RDMA keys", "test object", check_keys},
                 {"reply over another NIC", "test object", check_reply_over_other_nic},
                 {"late writes", "test object", check_late_writes}});
}

}  // namespace s3rdmafs::daemon::doctor
