// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <functional>

#include "cache/blocks/pending_read.h"
#include "cache/readahead/transfer_model.h"
#include "memory/arena.h"
#include "s3/object_store.h"

namespace s3rdmafs::cache {

/// Sends the GETs that fill blocks, and learns from those that end well what transfers cost.
/// Thread-safe.
class FillSender {
 public:
  using Outcome = std::expected<s3::Path, s3::GetFailure>;
  using OnDone = std::function<void(const Fill&, const Outcome&)>;

  /// Borrows the arena, the store and the clock.
  /// @param on_done  called once for each fill, as the store calls: on its thread or the sender's
  FillSender(memory::Arena& arena, s3::ObjectStore& store, const Clock& clock, OnDone on_done)
      : arena_(arena), store_(store), clock_(clock), on_done_(std::move(on_done)) {}

  /// The fill's block stays where it is until on_done. Hold no lock.
  void send(Fill fill);

  /// The pace that the last transfers suggest to read-ahead. Takes no lock.
  [[nodiscard]] Pace pace() const { return transfers_.pace(); }
  void note_answer(std::chrono::nanoseconds took) { transfers_.on_answer(took, clock_.now()); }

 private:
  memory::Arena& arena_;
  s3::ObjectStore& store_;
  const Clock& clock_;
  const OnDone on_done_;
  TransferModel transfers_;
};

}  // namespace s3rdmafs::cache
