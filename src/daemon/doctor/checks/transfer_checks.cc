// SPDX-License-Identifier: Apache-2.0
// Bytes that move, compared: MTUs that differ, or a server that lies, show in nothing else.
#include <algorithm>
#include <array>
#include <random>

#include "daemon/await.h"
#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon::doctor {
namespace {

using GetResult = std::expected<s3::Path, s3::GetFailure>;

std::string random_key(const std::string& prefix) {
  std::random_device random;
  return fmt::format("{}.s3rdmafs-doctor/{:08x}{:08x}", prefix, random(), random());
}

GetResult get(Context& context, s3::HttpObjectStore& store, std::size_t length) {
  return await<GetResult>([&](auto done) {
    store.get({.key = context.object->key,
               .etag = context.object->etag,
               .offset_bytes = 0,
               .window = context.memory->landing(length)},
              context.clock.now() + kQuestionTimeout, std::move(done));
  });
}

s3::PutOutcome put(Context& context, s3::HttpObjectStore& store, const std::string& key) {
  const std::vector<std::byte>& bytes = context.memory->expected();
  const rdma::Window window = context.memory->source(bytes.size());
  std::ranges::copy(bytes, window.bytes().begin());
  context.written.push_back(key);  // whatever the answer: it may be there
  return await<s3::PutOutcome>([&](auto done) {
    store.put(key, {.window = window, .crc64nvme = crc64nvme(0, bytes)}, /*only_if_absent=*/false,
              context.clock.now() + kQuestionTimeout, std::move(done));
  });
}

// Reads the first `length` bytes; the error, or where they are wrong. Every byte of the memory is
// made wrong before, and those behind the window must stay so.
Finding read_and_compare(Context& context, s3::HttpObjectStore& store, std::size_t length,
                         Level if_refused) {
  const std::vector<std::byte>& expected = context.memory->expected();
  const std::span<std::byte> bytes = context.memory->landing(expected.size()).bytes();
  std::ranges::transform(expected, bytes.begin(), [](std::byte byte) { return ~byte; });
  const GetResult got = get(context, store, length);
  if (!got) {
    return {if_refused, fmt::format("{} bytes: {}", length, got.error().error.detail),
            "the server's log says why; rdma.mode = \"off\" does without"};
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const bool is_ours = i < length;
    if ((bytes[i] == expected[i]) == is_ours) continue;
    return {Level::kFail,
            fmt::format("WRONG BYTES: of {} byte {} {}", length, i,
                        is_ours ? "is not the object's" : "is behind them and was written"),
            "do not use RDMA here (rdma.mode = \"off\"); compare the MTUs of both ends' ports and "
            "of every switch between"};
  }
  return {Level::kPass, {}, {}};
}

Level if_rdma_fails(const Context& context) {
  return context.config().rdma.mode == config::RdmaMode::kRequire ? Level::kFail : Level::kDegraded;
}

// Why there can be no test by RDMA; empty: there can.
std::string why_not_rdma(const Context& context) {
  if (!context.object) return "because there is no object to test with";
  if (!context.rdma) return "because no RDMA fabric is in use";
  return {};
}

class TestObjectCheck final : public Check {
 public:
  std::string_view name() const override { return "test object"; }
  std::string_view needs() const override { return "RDMA fabric"; }
  Finding run(Context& context) override {
    auto memory = TestMemory::create(*context.fabric);
    if (!memory) {
      return {Level::kFail, memory.error().detail, "raise the locked-memory limit (ulimit -l)"};
    }
    context.memory = std::move(*memory);
    std::string why = "the mount is read-only";
    if (context.config().write.mode != config::WriteMode::kOff) {
      const std::string key = random_key(context.config().bucket.prefix);
      const s3::PutOutcome stored = put(context, *context.http, key);
      if (stored.etag) {
        context.object = s3::ObjectInfo{
            .key = key, .etag = *stored.etag, .size_bytes = TestMemory::kBytes, .modified = {}};
        context.may_write = true;
        return {Level::kPass, "written by HTTP: " + key, {}};
      }
      if (stored.etag.error().code != ErrorCode::kAccessDenied) {
        return {Level::kFail, stored.etag.error().detail, "the server's log says why"};
      }
      context.written.clear();  // refused: it is not there, and we might not remove it either
      why = "the key may not write";
    }
    return use_existing(context, why);
  }

 private:
  static Finding use_existing(Context& context, const std::string& why) {
    const auto page = await<Result<s3::ListPage>>([&](auto done) {
      context.http->list(
          {.prefix = context.config().bucket.prefix, .delimiter = {}, .continuation_token = {}},
          context.clock.now() + kQuestionTimeout, std::move(done));
    });
    if (!page) return {Level::kFail, page.error().detail, "the server's log says why"};
    const auto largest = std::ranges::max_element(page->objects, {}, &s3::ObjectInfo::size_bytes);
    if (largest == page->objects.end() || largest->size_bytes == 0) {
      return {Level::kNote, why + ", and no object has bytes: moving data was not tested",
              "put an object into the bucket and run doctor again"};
    }
    context.object = *largest;
    std::vector<std::byte>& expected = context.memory->expected();
    expected.resize(std::min<std::uint64_t>(expected.size(), largest->size_bytes));
    if (const GetResult got = get(context, *context.http, expected.size()); !got) {
      return {Level::kFail, got.error().error.detail, "the key needs s3:GetObject"};
    }
    const auto bytes = context.memory->landing(expected.size()).bytes();
    std::ranges::copy(bytes, expected.begin());
    return {Level::kPass,
            fmt::format("{}: '{}' is used, {} bytes of it; writing was not tested", why,
                        largest->key, expected.size()),
            {}};
  }
};

class RdmaReadCheck final : public Check {
 public:
  std::string_view name() const override { return "RDMA read"; }
  std::string_view needs() const override { return "test object"; }
  Finding run(Context& context) override {
    if (auto why = why_not_rdma(context); !why.empty()) return {Level::kSkipped, why, {}};
    const std::size_t length = context.memory->expected().size();
    Finding finding = read_and_compare(context, *context.rdma, length, if_rdma_fails(context));
    context.rdma_works = finding.level == Level::kPass;
    if (context.rdma_works) {
      finding.seen = fmt::format("the server takes our tokens; {} bytes are equal", length);
    }
    return finding;
  }
};

// Around every path MTU (256 B to 4 KiB), and more than 64 of the largest.
class MtuCheck final : public Check {
 public:
  std::string_view name() const override { return "RDMA sizes and MTU"; }
  std::string_view needs() const override { return "RDMA read"; }
  Finding run(Context& context) override {
    if (!context.rdma_works) return {Level::kSkipped, "because nothing was read by RDMA", {}};
    constexpr auto kSizes = std::to_array<std::size_t>(
        {1, 255, 257, 1023, 1025, 4095, 4096, 4097, 64 * 1024 + 1, 64 * 4096 + 1});
    const std::size_t all = context.memory->expected().size();
    std::size_t tried = 0;
    for (const std::size_t size : kSizes) {
      if (size > all) continue;
      Finding finding = read_and_compare(context, *context.rdma, size, if_rdma_fails(context));
      if (finding.level != Level::kPass) return finding;
      ++tried;
    }
    if (tried < kSizes.size()) {
      return {Level::kNote,
              fmt::format("{} of {} sizes are equal, the object has no more bytes", tried,
                          kSizes.size()),
              {}};
    }
    return {Level::kPass,
            fmt::format("{} sizes from 1 to {} bytes are equal", tried, kSizes.back()),
            {}};
  }
};

class RdmaWriteCheck final : public Check {
 public:
  std::string_view name() const override { return "RDMA write"; }
  std::string_view needs() const override { return "RDMA read"; }
  Finding run(Context& context) override {
    if (!context.rdma_works) return {Level::kSkipped, "because nothing was read by RDMA", {}};
    if (!context.may_write) return {Level::kSkipped, "because nothing may be written", {}};
    const std::string key = random_key(context.config().bucket.prefix);
    const s3::PutOutcome stored = put(context, *context.rdma, key);
    if (!stored.etag) {
      return {if_rdma_fails(context), stored.etag.error().detail,
              "the server's log says why; reading by RDMA works"};
    }
    context.object->key = key;
    context.object->etag = *stored.etag;
    const std::size_t length = context.memory->expected().size();
    Finding finding = read_and_compare(context, *context.http, length, Level::kFail);
    if (finding.level == Level::kPass) {
      finding.seen = fmt::format("{} bytes are equal when read by HTTP", length);
    }
    return finding;
  }
};

class SpeedCheck final : public Check {
 public:
  std::string_view name() const override { return "speed"; }
  std::string_view needs() const override { return "test object"; }
  Finding run(Context& context) override {
    if (!context.object) return {Level::kSkipped, why_not_rdma(context), {}};
    std::string seen = "HTTP " + measure(context, *context.http);
    if (context.rdma_works) seen = "RDMA " + measure(context, *context.rdma) + "; " + seen;
    return {Level::kNote, seen + " (one request at a time)", {}};
  }

 private:
  // The median of so many is steady, and they take no time worth mentioning.
  static constexpr std::size_t kRepeats = 9;

  static double median_seconds(Context& context, s3::HttpObjectStore& store, std::size_t length) {
    std::vector<double> seconds;
    for (std::size_t i = 0; i < kRepeats; ++i) {
      const auto begin = context.clock.now();
      if (!get(context, store, length)) continue;
      seconds.push_back(std::chrono::duration<double>(context.clock.now() - begin).count());
    }
    if (seconds.empty()) return 0;
    std::ranges::sort(seconds);
    return seconds.at(seconds.size() / 2);
  }

  static std::string measure(Context& context, s3::HttpObjectStore& store) {
    const std::size_t all = context.memory->expected().size();
    const double latency = median_seconds(context, store, 1);
    const double whole = median_seconds(context, store, all);
    if (latency == 0 || whole == 0) return "failed when measured";
    return fmt::format("{:.0f} us for 1 byte, {:.0f} MB/s by {} KiB", latency * 1e6,
                       static_cast<double>(all) / 1e6 / whole, all / kKiB);
  }
};

}  // namespace

void add_transfer_checks(Checks& checks) {
  checks.push_back(std::make_unique<TestObjectCheck>());
  checks.push_back(std::make_unique<RdmaReadCheck>());
  checks.push_back(std::make_unique<MtuCheck>());
  checks.push_back(std::make_unique<RdmaWriteCheck>());
  checks.push_back(std::make_unique<SpeedCheck>());
}

}  // namespace s3rdmafs::daemon::doctor
