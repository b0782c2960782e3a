// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "disk/disk_tier.h"
#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_region.h"
#include "fakes/s3/fake_object_store.h"
#include "fakes/temporary_folder.h"

namespace s3rdmafs::disk {

/// A disk tier over a fake bucket, in a folder of its own. Its work can be waited for.
class DiskRig {
 public:
  using GetResult = std::expected<s3::Path, s3::GetFailure>;

  /// @param segment_bytes  small ones make evictions out of little data
  explicit DiskRig(std::uint64_t size_bytes = 64 * kMiB, std::uint64_t segment_bytes = 0) {
    options.path = folder / "cache";
    options.scope = "http://127.0.0.1/bucket";
    options.size_bytes = size_bytes;
    options.segment_bytes = segment_bytes;
    options.write_buffer_bytes = 12 * kMiB;  // as long as the longest read; quickly there
  }
  ~DiskRig() { stop(); }
  DiskRig(const DiskRig&) = delete;
  DiskRig& operator=(const DiskRig&) = delete;

  Result<void> start() {
    metrics = std::make_unique<metrics::Registry>();
    auto opened = DiskTier::open(options, store, clock, *metrics);
    if (!opened) return std::unexpected(opened.error());
    tier = std::move(*opened);
    return {};
  }
  // Without shut_down(), which would shut the fake server down for good.
  void stop() {
    if (tier) wait();
    tier.reset();
  }
  Result<void> restart() {
    stop();
    return start();
  }

  /// Reads into the region at `into`.
  GetResult get(const std::string& key, const std::string& etag, std::uint64_t offset,
                std::size_t length, std::size_t into = 0) {
    std::promise<GetResult> answer;
    auto answered = answer.get_future();
    tier->get({.key = key,
               .etag = etag,
               .offset_bytes = offset,
               .window = {.region = &region, .offset = into, .length = length}},
              clock.now() + std::chrono::seconds(30),
              [&answer](GetResult result) { answer.set_value(std::move(result)); });
    return answered.get();
  }
  /// The same, and the bytes; empty after a failure.
  std::string read(const std::string& key, const std::string& etag, std::uint64_t offset,
                   std::size_t length, std::size_t into = 0) {
    std::ranges::fill(region.bytes(), std::byte{0xEE});
    const GetResult result = get(key, etag, offset, length, into);
    if (!result) return {};
    last_path = *result;
    return {reinterpret_cast<const char*>(region.bytes().data()) + into, length};
  }
  /// Until all that was read is on the disk or dropped.
  bool wait() { return tier->wait_for_writes(clock.now() + std::chrono::seconds(30)); }

  std::size_t gets() const { return store.count(fakes::FakeObjectStore::Operation::kGet); }
  std::uint64_t counted(std::string_view name, std::string_view labels = {}) {
    return metrics->counter(name, "", labels).value();
  }
  std::uint64_t hits() { return counted("disk_reads_total", R"(result="hit")"); }

  /// The tier's files with this suffix, the oldest first.
  std::vector<std::filesystem::path> files(std::string_view suffix) const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(options.path)) {
      if (entry.path().extension() == suffix) found.push_back(entry.path());
    }
    std::ranges::sort(found, {}, [](const std::filesystem::path& path) {
      return SegmentFile::number_in(path.filename().string()).value_or(0);
    });
    return found;
  }
  std::uint64_t bytes_on_disk() const {
    std::uint64_t sum = 0;
    for (const auto& suffix : {".data", ".index"}) {
      for (const auto& file : files(suffix)) sum += std::filesystem::file_size(file);
    }
    return sum;
  }

  const fakes::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
  DiskTier::Options options;
  fakes::FakeClock clock;
  fakes::FakeObjectStore store{clock};
  fakes::FakeRegion region{12 * kMiB};
  std::unique_ptr<metrics::Registry> metrics;
  std::unique_ptr<DiskTier> tier;
  s3::Path last_path = s3::Path::kHttp;
};

/// Bytes of which each 512 differ from all others, and from those of another seed.
inline std::string content(std::uint64_t seed, std::size_t length) {
  std::string bytes(length, '\0');
  std::uint64_t state = seed * 0x9E3779B97F4A7C15 + 1;
  for (std::size_t i = 0; i + 8 <= length; i += 512) {
    state = state * 6364136223846793005 + 1442695040888963407;
    std::memcpy(bytes.data() + i, &state, 8);
  }
  if (length > 0) bytes.back() = static_cast<char>(seed + 1);
  return bytes;
}

inline void flip_byte(const std::filesystem::path& path, std::uint64_t position) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(position));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(position));
  file.put(static_cast<char>(byte ^ 0x10));
}

}  // namespace s3rdmafs::disk
