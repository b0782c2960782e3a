// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "s3/object_writer.h"
#include "upload/buffer_pool.h"

namespace s3rdmafs::upload {

/// One part of an object, in the buffer that it is sent from.
struct Part {
  unsigned number = 0;  ///< from 1
  PartBuffer buffer;
  std::size_t length = 0;
  std::uint64_t crc64nvme = 0;

  /// The body of a request; valid while the buffer is held.
  [[nodiscard]] s3::PutBody body() const;
};

/// The parts of one object on their way: the one that fills, full ones that wait to be sent, and
/// what the server answered for those that it has. Knows no requests. Not thread-safe: its
/// Uploader's lock guards it.
class ObjectParts {
 public:
  /// Copies what fits into the part that fills, and adds it to the part's checksum. Returns how
  /// many bytes that was; 0 without a part that fills.
  std::size_t fill(std::span<const std::byte> bytes);

  /// The number of the next part.
  [[nodiscard]] unsigned next_number() const { return begun_ + 1; }
  /// Begins the next part; no other fills.
  void begin(PartBuffer buffer);
  [[nodiscard]] bool is_filling() const { return static_cast<bool>(filling_.buffer); }
  /// The part that fills waits to be sent from now on.
  void end_filling();

  /// Whether all bytes fit one part so far.
  [[nodiscard]] bool is_one_part() const { return begun_ <= 1; }
  /// The body of an object that fits one part; empty for an object without bytes.
  [[nodiscard]] s3::PutBody whole_body() const;

  [[nodiscard]] bool has_ready() const { return !ready_.empty(); }
  /// The next part to send; has_ready().
  [[nodiscard]] std::shared_ptr<Part> take_ready();
  /// The server has this part.
  void add_sent(s3::UploadedPart part) { sent_[part.number] = std::move(part); }
  /// All that the server has, in order of number.
  [[nodiscard]] std::vector<s3::UploadedPart> take_sent();

  [[nodiscard]] bool holds_buffers() const { return is_filling() || has_ready(); }
  struct Buffers {
    Part filling;
    std::deque<std::shared_ptr<Part>> ready;
  };
  /// All buffers held here, to be given back without the Uploader's lock.
  [[nodiscard]] Buffers take_buffers() {
    return {.filling = std::exchange(filling_, {}), .ready = std::exchange(ready_, {})};
  }

 private:
  Part filling_;
  unsigned begun_ = 0;
  std::deque<std::shared_ptr<Part>> ready_;  ///< full
  std::map<unsigned, s3::UploadedPart> sent_;
};

}  // namespace s3rdmafs::upload
