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

/// One part of an object, in the buffer that it is sent from. Its bytes come in pieces, which may
/// arrive in any order.
struct Part {
  /// Bytes that arrived before others that stand before them.
  struct Piece {
    std::size_t length = 0;
    std::uint64_t crc64nvme = 0;
  };

  unsigned number = 0;  ///< from 1
  PartBuffer buffer;
  std::size_t length = 0;                   ///< with bytes that have a place and have not arrived
  std::uint64_t crc64nvme = 0;              ///< of the first `arrived` bytes
  std::size_t arrived = 0;                  ///< without a gap
  std::map<std::size_t, Piece> early = {};  ///< by offset

  [[nodiscard]] std::size_t room() const { return buffer.bytes().size() - length; }
  [[nodiscard]] bool is_whole() const { return arrived == length; }
  /// The bytes at `offset` have arrived. `crc` is theirs alone.
  void add_piece(std::size_t offset, std::size_t piece_length, std::uint64_t crc);

  /// The body of a request; valid while the buffer is held.
  [[nodiscard]] s3::PutBody body() const;
};

/// A place in a part for bytes that are about to arrive. Holds the part.
struct Landing {
  std::shared_ptr<Part> part;
  std::size_t offset = 0;
  std::size_t length = 0;

  /// Copies `bytes`, which are `length`, and returns their checksum. Needs no lock.
  [[nodiscard]] std::uint64_t copy(std::span<const std::byte> bytes) const;
};

/// The parts of one object on their way: the one that fills, full ones that wait to be sent, and
/// what the server answered for those that it has. Knows no requests. Not thread-safe: its
/// Uploader's lock guards it.
class ObjectParts {
 public:
  /// Copies what fits into the part that fills, and adds it to the part's checksum. Returns how
  /// many bytes that was; 0 without a part that fills.
  std::size_t fill(std::span<const std::byte> bytes);
  /// The bytes that the part that fills has room for.
  [[nodiscard]] std::size_t room() const { return is_filling() ? filling_->room() : 0; }
  /// A place for the next `length` bytes, which is at most room().
  [[nodiscard]] Landing reserve(std::size_t length);
  /// The bytes of a place have arrived.
  static void land(const Landing& landing, std::uint64_t crc) {
    landing.part->add_piece(landing.offset, landing.length, crc);
  }

  /// The number of the next part.
  [[nodiscard]] unsigned next_number() const { return begun_ + 1; }
  /// Begins the next part; no other fills.
  void begin(PartBuffer buffer);
  [[nodiscard]] bool is_filling() const { return filling_ != nullptr; }
  /// The part that fills waits to be sent from now on, as soon as all of it has arrived.
  void end_filling();

  /// Whether all bytes fit one part so far.
  [[nodiscard]] bool is_one_part() const { return begun_ <= 1; }
  /// The body of an object that fits one part; empty for an object without bytes.
  [[nodiscard]] s3::PutBody whole_body() const;

  [[nodiscard]] bool has_ready() const { return !ready_.empty() && ready_.front()->is_whole(); }
  /// The next part to send; has_ready().
  [[nodiscard]] std::shared_ptr<Part> take_ready();
  /// The server has this part.
  void add_sent(s3::UploadedPart part) { sent_[part.number] = std::move(part); }
  /// All that the server has, in order of number.
  [[nodiscard]] std::vector<s3::UploadedPart> take_sent();

  [[nodiscard]] bool holds_buffers() const { return is_filling() || !ready_.empty(); }
  struct Buffers {
    std::shared_ptr<Part> filling;
    std::deque<std::shared_ptr<Part>> ready;
  };
  /// All buffers held here, to be given back without the Uploader's lock.
  [[nodiscard]] Buffers take_buffers() {
    return {.filling = std::exchange(filling_, {}), .ready = std::exchange(ready_, {})};
  }

 private:
  std::shared_ptr<Part> filling_;
  unsigned begun_ = 0;
  std::deque<std::shared_ptr<Part>> ready_;  ///< nothing more is added
  std::map<unsigned, s3::UploadedPart> sent_;
};

}  // namespace s3rdmafs::upload
