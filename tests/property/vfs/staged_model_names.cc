// SPDX-License-Identifier: Apache-2.0
// Names, other clients, and the comparisons.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "s3rdmafs/base/unique_fd.h"
#include "staged_model.h"
#include "upload/staged/sidecar.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::array kStagedNames = {"a", "b", "c"};

/// Stands for a byte that was dropped from a staging file.
constexpr char kDroppedByte = '?';

bool is_file(const std::string& found, const std::string& expected) {
  return std::ranges::equal(found, expected, [](char have, char want) {
    return have == want || (have == kDroppedByte && want != ' ');
  });
}

/// Whether each is one of the other list, which has no more.
bool are_files(const std::vector<std::string>& found, std::vector<std::string> expected) {
  for (const std::string& file : found) {
    const auto at = std::ranges::find_if(
        expected, [&](const std::string& wanted) { return is_file(file, wanted); });
    if (at == expected.end()) return false;
    expected.erase(at);
  }
  return expected.empty();
}

/// One staging file in words that can be compared: unchanged bytes are spaces.
std::string described(const std::string& key, bool has_base, std::string bytes,
                      const std::vector<bool>& changed) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (!changed[i]) bytes[i] = ' ';
  }
  return key + (has_base ? " with base " : " without base ") + bytes;
}

/// Staged bytes go with the last user of the file, which may be a read on another thread.
bool comes_to(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

std::string StagedModel::unlink(const std::string& name) {
  const auto named = named_.find(name);
  const bool is_there = named != named_.end() || stored_.contains(name);
  if (!is_there) return "";
  const auto removed = bucket_.unlink(kRootIno, name);
  if (removed.has_value() == removals_fail_) return "an unlink told the wrong outcome";
  if (!removed) return "";
  stored_.erase(name);
  if (named != named_.end()) {
    named->second->is_unlinked = true;
    named_.erase(named);
  }
  return "";
}

std::string StagedModel::rename(const std::string& from, const std::string& to) {
  if (from == to || removals_fail_) return "";
  const FilePtr source = file_of(from);
  const bool is_stored = !source || !is_dirty(*source) || store(source);
  (void)look_up(from);  // as the kernel does
  const auto renamed = answer_of<void>([&](auto done) {
    bucket_.fs.rename(kRootIno, from, kRootIno, to, /*must_be_new=*/false, std::move(done));
  });
  if (renamed.has_value() != (source && is_stored)) return "a rename told the wrong outcome";
  if (!renamed) return "";
  const unsigned former = stored_[from].serial;
  stored_[to] = {stored_[from].bytes, ++serial_};
  stored_.erase(from);
  if (const auto replaced = named_.find(to); replaced != named_.end()) {
    replaced->second->is_unlinked = true;
    named_.erase(replaced);
  }
  for (const Handle& handle : handles_) {
    File& file = *handle.file;
    const bool follows = file.key == from && file.base && file.base->serial == former;
    if (!follows || file.has_failed || file.is_unlinked) continue;
    const auto named = named_.find(from);
    if (named != named_.end() && named->second == handle.file) {
      named_.erase(named);
      named_[to] = handle.file;
    }
    file.key = to;
    file.base = stored_[to];
  }
  return "";
}

void StagedModel::let_fail(StagedCommand::Kind kind) {
  stores_fail_ = kind == StagedCommand::Kind::kStoresFail;
  answers_are_lost_ = kind == StagedCommand::Kind::kAnswersLost;
  removals_fail_ = kind == StagedCommand::Kind::kRemovalsFail;
  bucket_.store.lose_answers_of_stores(answers_are_lost_);
  if (!stores_fail_ && !removals_fail_) return bucket_.store.fail_if({});
  // The last request of a store, so that everything before it has been done in vain.
  bucket_.store.fail_if([stores_fail = stores_fail_](const fakes::FakeObjectStore::Call& call)
                            -> std::optional<s3::GetFailure> {
    const bool is_store =
        call.operation == Operation::kPut || call.operation == Operation::kCompleteUpload;
    if (stores_fail ? !is_store : call.operation != Operation::kRemove) return std::nullopt;
    return s3::GetFailure{.error = {ErrorCode::kAccessDenied, "planned"}};
  });
}

void StagedModel::other_puts(const std::string& name, std::size_t length) {
  const std::string theirs(length, static_cast<char>('A' + ++serial_ % 26));
  bucket_.store.put(name, theirs);
  stored_[name] = {theirs, serial_};
  bucket_.clock.advance(std::chrono::hours(1));  // what was seen is old
}

void StagedModel::other_removes(const std::string& name) {
  bucket_.store.remove(name);
  stored_.erase(name);
  bucket_.clock.advance(std::chrono::hours(1));
}

// Comparisons

std::string StagedModel::compare_bucket() {
  for (const std::string name : kStagedNames) {
    const auto object = bucket_.store.object(name);
    const auto expected = stored_.find(name);
    if (object.has_value() != (expected != stored_.end())) return "'" + name + "' is there, or not";
    if (object && *object != expected->second.bytes) return "'" + name + "' has other bytes";
  }
  return "";
}

std::string StagedModel::compare_names() {
  for (const std::string name : kStagedNames) {
    const FilePtr file = file_of(name);
    const auto found = look_up(name);
    if (found.has_value() != (file != nullptr)) return "'" + name + "' is found, or not";
    if (found && found->attributes.size_bytes != file->bytes.size()) {
      return "'" + name + "' shows a wrong size";
    }
  }
  return "";
}

std::vector<std::string> StagedModel::expected_on_disk() const {
  std::vector<FilePtr> files = left_;
  for (const Handle& handle : handles_) {
    if (handle.file->is_staged && !handle.file->is_unlinked) files.push_back(handle.file);
  }
  std::ranges::sort(files);
  files.erase(std::ranges::unique(files).begin(), files.end());
  std::vector<std::string> expected;
  for (const FilePtr& file : files) {
    if (!is_changed(*file)) continue;
    expected.push_back(described(file->key, file->base.has_value(), file->bytes, file->changed));
  }
  std::ranges::sort(expected);
  return expected;
}

std::vector<std::string> StagedModel::found_on_disk() const {
  std::vector<std::string> found;
  const UniqueFd folder(::open(bucket_.staging->path().c_str(), O_RDONLY | O_DIRECTORY));
  for (const auto& entry : std::filesystem::directory_iterator(bucket_.staging->path())) {
    if (entry.path().extension() != ".meta") continue;
    const auto loaded = upload::Sidecar::load(folder.get(), entry.path().filename());
    if (!loaded) return {"a sidecar that cannot be read"};
    const upload::StagedState& state = loaded->second;
    if (!state.is_changed()) continue;  // the next mount removes it
    std::string bytes(state.size_bytes, '\0');
    std::vector<bool> changed(state.size_bytes, false);
    const auto data_path = std::filesystem::path(entry.path()).replace_extension(".data");
    const UniqueFd data(::open(data_path.c_str(), O_RDONLY));
    for (const upload::ByteRange& range : state.changed.list()) {
      const auto at = static_cast<std::ptrdiff_t>(range.begin);
      std::fill_n(changed.begin() + at, range.size(), true);
      // Bytes beyond the end of the local file are zeros.
      if (::pread(data.get(), bytes.data() + at, range.size(), at) < 0) return {"no bytes"};
    }
    for (const upload::ByteRange& range : state.dropped.list()) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(range.begin), range.size(),
                  is_tight_ ? kDroppedByte : '!');
    }
    found.push_back(described(state.identity.key, state.identity.base.has_value(), bytes, changed));
  }
  std::ranges::sort(found);
  return found;
}

bool StagedModel::comes_to_no_upload() {
  return comes_to([&] { return bucket_.store.open_uploads() == 0; });
}

std::string StagedModel::compare_disk() {
  const auto expected = expected_on_disk();
  if (!comes_to([&] { return are_files(found_on_disk(), expected); })) {
    std::string text = "a crash would leave other bytes; expected:";
    for (const std::string& file : expected) text += "\n  " + file;
    text += "\nfound:";
    for (const std::string& file : found_on_disk()) text += "\n  " + file;
    return text;
  }
  const bool is_empty = !handles_.empty() || !left_.empty() ||
                        comes_to([&] { return bucket_.staging->used_bytes() == 0; });
  return is_empty ? "" : "room of the staging area is not given back";
}

}  // namespace s3rdmafs::vfs
