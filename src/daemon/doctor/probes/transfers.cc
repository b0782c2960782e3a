// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/probes/transfers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "daemon/doctor/context.h"
#include "daemon/mount/await.h"
#include "daemon/mount/store_options.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

// The wait for bytes that were missing at the reply, to tell late bytes from wrong ones.
constexpr std::chrono::milliseconds kLateWait{100};
constexpr int kLateWaits = 20;

// The first wrong byte: within the window it must be the object's, after the window still ours.
std::optional<std::size_t> first_wrong(std::span<const std::byte> bytes,
                                       std::span<const std::byte> expected, std::size_t length) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_in_window = i < length;
    if ((bytes[i] == expected[i]) != is_in_window) return i;
  }
  return std::nullopt;
}

bool arrive_late(const Context& context, std::span<const std::byte> bytes,
                 std::span<const std::byte> expected, std::size_t length) {
  for (int i = 0; i < kLateWaits; ++i) {
    context.machine->pause(kLateWait);
    if (!first_wrong(bytes, expected, length)) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<s3::HttpObjectStore> make_store(Context& context, config::RdmaMode mode,
                                                const config::MountConfig::Endpoint& endpoint) {
  config::MountConfig config = context.config();
  config.endpoint = endpoint;
  config.rdma.mode = mode;
  config.rdma.threshold_bytes = 0;
  config.rdma.verify = config::Verify::kOff;  // it would hide the faults that the checks look for
  config.retry.attempts_max = 1;
  return std::make_unique<s3::HttpObjectStore>(store_options(config), *context.credentials,
                                               context.clock, context.metrics);
}

std::string random_key(const Context& context) {
  std::random_device random;
  return fmt::format("{}{}/{:08x}{:08x}", context.config().bucket.prefix, kTestFolder, random(),
                     random());
}

GetResult get(Context& context, s3::HttpObjectStore& store, const rdma::Window& window) {
  return await<GetResult>([&](auto done) {
    store.get({.key = context.object->key,
               .etag = context.object->etag,
               .offset_bytes = 0,
               .window = window},
              context.clock.now() + kQuestionTimeout, std::move(done));
  });
}

s3::PutOutcome put(Context& context, s3::HttpObjectStore& store, const std::string& key) {
  const std::vector<std::byte>& bytes = context.memory->expected();
  const rdma::Window window = context.memory->source(bytes.size());
  std::ranges::copy(bytes, window.bytes().begin());
  // Whatever the answer is, the object may exist.
  if (std::ranges::find(context.written, key) == context.written.end()) {
    context.written.push_back(key);
  }
  return await<s3::PutOutcome>([&](auto done) {
    store.put(key, {.window = window, .crc64nvme = crc64nvme(0, bytes)}, /*options=*/{},
              context.clock.now() + kQuestionTimeout, std::move(done));
  });
}

Level if_rdma_fails(const Context& context) {
  return context.config().rdma.mode == config::RdmaMode::kRequire ? Level::kFail : Level::kDegraded;
}

std::string advice_on_refusal(std::string_view detail) {
  // The reasons come from rdma/reply_rule.cc.
  constexpr auto kAdvice = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"no_byte_count",
       "the answer has no byte count: set rdma.bytes_header to the header that has it, or do "
       "without by rdma.byte_count = \"optional\""},
      {"no_reply_header",
       "the answer does not mention RDMA: set rdma.reply_header and rdma.token_header to the "
       "server's names, or enable RDMA at the server"},
      {"token_rejected",
       "the server rejects this form of token: try another rdma.token_form, and compare "
       "rdma.dc_key"},
  });
  for (const auto& [reason, advice] : kAdvice) {
    if (detail.contains(reason)) return std::string(advice);
  }
  return "see the server's log; rdma.mode = \"off\" does without RDMA";
}

Finding read_and_compare(Context& context, const ReadPath& path, std::size_t length,
                         Level if_refused) {
  const std::vector<std::byte>& expected = context.memory->expected();
  rdma::Window window = path.memory.landing(expected.size());
  const std::span<std::byte> bytes = window.bytes();
  std::ranges::transform(expected, bytes.begin(), [](std::byte byte) { return ~byte; });
  window.length = length;
  if (path.region != nullptr) window.region = path.region;
  const GetResult got = get(context, path.store, window);
  if (!got) {
    const std::string& detail = got.error().error.detail;
    return {if_refused, fmt::format("{} bytes: {}", length, detail), advice_on_refusal(detail)};
  }
  const auto wrong = first_wrong(bytes, expected, length);
  if (!wrong) return {Level::kPass, {}, {}};
  if (*wrong < length && arrive_late(context, bytes, expected, length)) {
    return {Level::kFail,
            fmt::format("bytes after the reply: byte {1} of {0} was not there when the server "
                        "reported success, and came later",
                        length, *wrong),
            "set rdma.verify = \"always\" here, or rdma.mode = \"off\": reads can get old bytes"};
  }
  return {
      Level::kFail,
      fmt::format("WRONG BYTES: {} were read, and byte {} {}", length, *wrong,
                  *wrong < length ? "is not the object's" : "is after them and was overwritten"),
      "do not use RDMA here (rdma.mode = \"off\"); compare the MTUs of both ends' ports and "
      "of every switch between them"};
}

}  // namespace s3rdmafs::daemon::doctor
