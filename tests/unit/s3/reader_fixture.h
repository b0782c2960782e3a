// SPDX-License-Identifier: Apache-2.0
// Shared by the tests of the client's read side: one scripted server, one store, one window in the
// middle of an object.
#pragma once

#include <algorithm>
#include <string>

#include "fakes/rdma/fake_region.h"
#include "store_fixture.h"

namespace s3rdmafs::s3 {

/// Where the window begins in the object.
inline constexpr std::uint64_t kObjectOffset = 100;
/// Where the window begins in its region, and how much memory follows it there.
inline constexpr std::size_t kMargin = 64;

inline std::string data_bytes(std::size_t count = kWindowBytes) {
  std::string text(count, '\0');
  for (std::size_t i = 0; i < count; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

/// An ordinary answer to the range that get() asks for.
inline fakes::ScriptedAnswer body_answer() { return sent_by_http(data_bytes(), kObjectOffset); }
inline fakes::ScriptedAnswer rdma_answer() { return sent_by_rdma(kObjectOffset); }

class ObjectReaderTest : public OneServerTest {
 protected:
  void start_get(Outcome<Got>& outcome, Deadline deadline, rdma::MemoryRegion& region) {
    store().get({.key = "a/b c",
                 .etag = kEtag,
                 .offset_bytes = kObjectOffset,
                 .window = window_of(region, kMargin)},
                deadline, outcome.done());
  }
  Got get_into_region(rdma::MemoryRegion& region) {
    Outcome<Got> outcome;
    start_get(outcome, soon(), region);
    return outcome.get();
  }
  Got get() { return get_into_region(region_); }
  Got get(std::chrono::milliseconds limit) {
    Outcome<Got> outcome;
    start_get(outcome, clock_.now() + limit, region_);
    return outcome.get();
  }
  Result<ObjectInfo> head() {
    Outcome<Result<ObjectInfo>> outcome;
    store().head("a/b c", soon(), outcome.done());
    return outcome.get();
  }
  Result<ListPage> list() { return list(std::chrono::seconds(20)); }
  Result<ListPage> list(std::chrono::milliseconds limit) {
    Outcome<Result<ListPage>> outcome;
    store().list({.prefix = "p/", .delimiter = "/", .continuation_token = "t", .keys_max = 10},
                 clock_.now() + limit, outcome.done());
    return outcome.get();
  }

  std::string window() const {
    const auto bytes = region_.bytes().subspan(kMargin, kWindowBytes);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool is_untouched_outside() const {
    const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
    return std::ranges::all_of(region_.bytes().first(kMargin), is_zero) &&
           std::ranges::all_of(region_.bytes().subspan(kMargin + kWindowBytes), is_zero);
  }
  std::int64_t in_flight() { return metrics_.gauge("s3_operations_in_flight", "").value(); }

  fakes::FakeRegion region_{kMargin + kWindowBytes + kMargin};
};

}  // namespace s3rdmafs::s3
