// SPDX-License-Identifier: Apache-2.0
// A store that takes long: another client, a crash and a write come while its requests are under
// way.
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "staged_model.h"

namespace s3rdmafs::vfs {
namespace {

using fakes::FakeObjectStore;

/// Whether the bucket has the object once this call is answered.
bool is_last_of_a_store(const FakeObjectStore::Call& call) {
  return call.operation == Operation::kPut || call.operation == Operation::kCompleteUpload ||
         call.operation == Operation::kCopy;
}

/// Parts are read on other threads, so a call may come a little later. Empty: the answer came.
template <class T>
std::vector<FakeObjectStore::Call> next_calls(const FakeObjectStore& store,
                                              const Later<T>& answer) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    if (auto calls = store.held(); !calls.empty()) return calls;
    if (answer.has_come()) return {};
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return {};
}

}  // namespace

std::string StagedModel::intrude(const Handle& handle, const StagedCommand& command) {
  if (std::string wrong = compare_disk(); !wrong.empty()) return "in a store: " + wrong;
  if (command.bytes == 1) other_puts(handle.file->key, command.offset % 10'000);
  if (command.bytes == 100) other_removes(handle.file->key);
  return "";
}

std::string StagedModel::sync_slowly(const Handle& handle, const StagedCommand& command) {
  const std::string text = text_by(++serial_, command.bytes);
  const bool at_the_end = command.offset % 2 == 0;
  Later<void> synced;
  Later<void> written;
  bucket_.store.hold();
  bucket_.fs.sync(handle.number, synced.done());
  bool has_intruded = false;
  std::string wrong;
  for (;;) {
    const auto calls = next_calls(bucket_.store, synced);
    if (calls.empty()) break;
    if (!has_intruded && (!at_the_end || is_last_of_a_store(calls.front()))) {
      has_intruded = true;
      wrong = intrude(handle, command);
      bucket_.fs.write(handle.number, command.offset, std::as_bytes(std::span(text)),
                       bucket_.clock.now() + std::chrono::hours(2), written.done());
      if (wrong.empty() && !text.empty() && written.has_come()) {
        wrong = "a write did not wait for a store";
      }
    }
    bucket_.store.release();
  }
  bucket_.store.release_all();
  const Result<void> outcome = synced.get();
  const bool is_stored = store(handle.file);
  if (!wrong.empty()) return wrong;
  if (is_stored != outcome.has_value()) {
    return outcome ? "a slow sync did not fail" : "a slow sync failed: " + outcome.error().detail;
  }
  if (!has_intruded) return "";
  if (wrong = end_pending_write(handle, text, command.offset, written.get()); !wrong.empty()) {
    return wrong;
  }
  return compare_disk();
}

std::string StagedModel::end_pending_write(const Handle& handle, const std::string& text,
                                           std::uint64_t offset, const Result<void>& written) {
  File& file = *handle.file;
  if (!written && may_lack_room(written.error()) && !file.has_failed) return "";
  if (written.has_value() == file.has_failed) return "a write after a store told the wrong outcome";
  if (written && mistake_ != StagedMistake::kForgetsAWrite) put(file, offset, text);
  return "";
}

}  // namespace s3rdmafs::vfs
