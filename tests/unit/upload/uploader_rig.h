// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "fakes/fake_clock.h"
#include "fakes/rdma/fake_fabric.h"
#include "fakes/s3/fake_object_store.h"
#include "s3rdmafs/base/units.h"
#include "upload/uploader.h"
#include "upload/uploads.h"

namespace s3rdmafs::upload {

/// One object on its way. Parts of 4 KiB, four buffers, at most two requests of one object.
class UploaderRig : public testing::Test {
 protected:
  using Operation = fakes::FakeObjectStore::Operation;
  static constexpr std::size_t kPart = 4 * kKiB;
  static constexpr unsigned kBuffers = 4;

  struct Answer {
    std::optional<Result<void>> result;
    [[nodiscard]] std::string_view error() const {
      if (!result) return "pending";
      return *result ? "" : error_code_name(result->error().code);
    }
  };
  using AnswerPtr = std::shared_ptr<Answer>;

  static std::pair<AnswerPtr, Done<void>> answer() {
    auto made = std::make_shared<Answer>();
    return {made, [made](Result<void> result) {
              EXPECT_FALSE(made->result) << "done was called twice";
              made->result = std::move(result);
            }};
  }
  AnswerPtr append(std::string_view text) {
    auto [made, done] = answer();
    file_->append(offset_, std::as_bytes(std::span(text)), clock_.now() + std::chrono::seconds(60),
                  std::move(done));
    offset_ += text.size();
    return made;
  }
  AnswerPtr finish() {
    auto [made, done] = answer();
    file_->finish(std::move(done));
    return made;
  }
  AnswerPtr discard() {
    auto [made, done] = answer();
    file_->discard(std::move(done));
    return made;
  }
  static std::string text(std::size_t bytes) {
    std::string made;
    while (made.size() < bytes) made += std::to_string(made.size()) + " ";
    made.resize(bytes);
    return made;
  }
  std::int64_t gauge(std::string_view name) { return metrics_.gauge(name, "").value(); }

  fakes::FakeClock clock_;
  fakes::FakeFabric fabric_;
  metrics::Registry metrics_;
  fakes::FakeObjectStore store_{clock_};
  std::unique_ptr<Uploads> uploads_ = Uploads::create(store_, fabric_, clock_, metrics_,
                                                      {.part_bytes = kPart,
                                                       .buffer_bytes = kBuffers * kPart,
                                                       .parallel_parts = 2,
                                                       .request_timeout = std::chrono::seconds(30),
                                                       .lock = memory::Arena::Lock::kOff})
                                          .value();
  std::shared_ptr<Uploader> file_ = uploads_->begin("key");
  std::uint64_t offset_ = 0;
};

}  // namespace s3rdmafs::upload
