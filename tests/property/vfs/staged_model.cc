// SPDX-License-Identifier: Apache-2.0
#include "staged_model.h"

#include <algorithm>
#include <array>
#include <utility>

#include <spdlog/spdlog.h>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::size_t kHandlesMax = 5;

}  // namespace

std::string StagedModel::text_by(unsigned serial, std::size_t length) {
  std::string text(length, 'a');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>('a' + (serial + i) % 26);
  return text;
}

std::ostream& operator<<(std::ostream& out, const StagedCommand& command) {
  constexpr std::array kNames = {
      "open",          "open truncated", "open exclusive", "open to read",   "write",
      "append",        "read",           "truncate",       "truncate path",  "zero",
      "extend",        "sync",           "sync slowly",    "close",          "unlink",
      "rename",        "forget",         "crash",          "stores fail",    "answers are lost",
      "removals fail", "all succeed",    "another puts",   "another removes"};
  return out << kNames.at(static_cast<std::size_t>(command.kind)) << " name " << command.name
             << " handle " << command.handle << " at " << command.offset << " bytes "
             << command.bytes;
}

StagedModel::StagedModel(StagedMistake mistake, std::uint64_t staging_bytes)
    : mistake_(mistake),
      is_tight_(staging_bytes < kMiB),
      bucket_(MountedBucket::kTtl, staging_bytes) {
  spdlog::set_level(spdlog::level::off);  // thousands of mounts, and stores that fail
  if (mistake == StagedMistake::kDropsConditions) bucket_.store.ignore_conditions();
}

std::string StagedModel::run(const std::vector<StagedCommand>& commands) {
  for (const StagedCommand& command : commands) {
    bucket_.clock.advance(std::chrono::milliseconds(1));
    std::string wrong = step(command);
    if (wrong.empty()) wrong = compare_bucket();
    if (wrong.empty()) wrong = compare_names();
    if (!wrong.empty()) return wrong;
  }
  let_fail(StagedCommand::Kind::kAllSucceed);
  while (!handles_.empty()) {
    if (std::string wrong = close(0); !wrong.empty()) return wrong;
  }
  if (std::string wrong = compare_bucket(); !wrong.empty()) return wrong;
  if (!comes_to_no_upload()) return "an upload is left over";
  return compare_disk();
}

std::string StagedModel::step(const StagedCommand& command) {
  using Kind = StagedCommand::Kind;
  const std::string name(1, static_cast<char>('a' + command.name));
  switch (command.kind) {
    case Kind::kOpen:
    case Kind::kOpenTruncated:
      return open(name, command.kind == Kind::kOpenTruncated);
    case Kind::kOpenExclusive:
      return open_exclusive(name);
    case Kind::kOpenToRead:
      return open_to_read(name);
    case Kind::kTruncatePath:
      return truncate_path(name, command.offset);
    case Kind::kUnlink:
      return unlink(name);
    case Kind::kRename:
      return rename(name, std::string(1, static_cast<char>('a' + command.handle % 3)));
    case Kind::kForget:
      forget_unused();
      return "";
    case Kind::kCrash:
      return compare_disk();
    case Kind::kStoresFail:
    case Kind::kAnswersLost:
    case Kind::kRemovalsFail:
    case Kind::kAllSucceed:
      let_fail(command.kind);
      return "";
    case Kind::kOtherPuts:
      other_puts(name, command.bytes);
      return "";
    case Kind::kOtherRemoves:
      other_removes(name);
      return "";
    default:
      return handles_.empty() ? "" : step_of_handle(command);
  }
}

std::string StagedModel::step_of_handle(const StagedCommand& command) {
  using Kind = StagedCommand::Kind;
  const std::size_t at = command.handle % handles_.size();
  const Handle handle = handles_[at];
  if (command.kind == Kind::kClose) return close(at);
  if (command.kind == Kind::kRead) return read(handle, command.offset, command.bytes);
  if (!handle.may_write) return "";  // the kernel refuses
  switch (command.kind) {
    case Kind::kWrite:
      return write(handle, command.offset, command.bytes);
    case Kind::kAppend:
      return write(handle, handle.file->bytes.size(), command.bytes);
    case Kind::kTruncate:
      return truncate(handle, command.offset);
    case Kind::kZero:
      return allocate(
          handle,
          {.offset_bytes = command.offset, .length_bytes = command.bytes + 1, .zeroes = true});
    case Kind::kExtend:
      return allocate(
          handle,
          {.offset_bytes = command.offset, .length_bytes = command.bytes + 1, .extends = true});
    case Kind::kSyncSlowly:
      return sync_slowly(handle, command);
    default:
      return sync(handle);
  }
}

// State

bool StagedModel::is_changed(const File& file) {
  return !file.base || file.bytes.size() != file.base->bytes.size() ||
         std::ranges::find(file.changed, true) != file.changed.end();
}

bool StagedModel::is_dirty(const File& file) {
  return file.is_staged && !file.has_failed && !file.is_unlinked && is_changed(file);
}

bool StagedModel::is_base_there(const File& file) const {
  const auto found = stored_.find(file.key);
  if (!file.base) return found == stored_.end();
  return found != stored_.end() && found->second.serial == file.base->serial;
}

// Of a file that is larger than the room, parts are out of reach until it is stored.
bool StagedModel::may_lack_room(const Error& error) const {
  return is_tight_ &&
         (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kSequentialOnly);
}

StagedModel::FilePtr StagedModel::file_of(const std::string& name) {
  if (const auto named = named_.find(name); named != named_.end() && is_dirty(*named->second)) {
    return named->second;
  }
  const auto version = stored_.find(name);
  if (version == stored_.end()) return nullptr;
  for (const Handle& handle : handles_) {
    const File& file = *handle.file;
    const bool is_it = file.key == name && file.base && file.base->serial == version->second.serial;
    if (is_it && !file.has_failed && !file.is_unlinked) return handle.file;
  }
  auto made = std::make_shared<File>();
  made->key = name;
  made->base = version->second;
  made->bytes = version->second.bytes;
  made->first_bytes = made->bytes;
  made->changed.assign(made->bytes.size(), false);
  return made;
}

Result<Entry> StagedModel::look_up(const std::string& name) {
  auto found = bucket_.lookup(kRootIno, name);
  if (found) ++lookups_[found->attributes.ino];
  return found;
}

// Opening and closing

std::string StagedModel::open(const std::string& name, bool truncate) {
  if (handles_.size() == kHandlesMax) return "";
  FilePtr file = file_of(name);
  const auto opened = bucket_.open_by_name(kRootIno, name, truncate, WritableBucket::kProcess);
  if (!opened && may_lack_room(opened.error())) return "";
  if (!opened) return "open failed: " + opened.error().detail;
  if (!file) {
    file = std::make_shared<File>();
    file->key = name;
  }
  if (!file->is_staged) named_[name] = file;
  file->is_staged = true;
  if (truncate) resize(*file, 0);
  return add_handle(*opened, file, /*may_write=*/true);
}

std::string StagedModel::open_exclusive(const std::string& name) {
  if (handles_.size() == kHandlesMax) return "";
  const bool is_there = file_of(name) != nullptr;
  const auto created = bucket_.create(kRootIno, name, {.is_exclusive = true});
  if (!created && may_lack_room(created.error())) return "";
  if (created.has_value() == is_there) return "an exclusive open told the wrong outcome";
  if (is_there) return created.error().code == ErrorCode::kExists ? "" : "not EEXIST";
  ++lookups_[created->entry.attributes.ino];
  auto file = std::make_shared<File>();
  file->key = name;
  file->is_staged = true;
  named_[name] = file;
  return add_handle(created->file.handle, file, /*may_write=*/true);
}

std::string StagedModel::open_to_read(const std::string& name) {
  if (handles_.size() == kHandlesMax) return "";
  const FilePtr file = file_of(name);
  const auto found = look_up(name);
  if (found.has_value() != (file != nullptr)) return "a lookup told the wrong outcome";
  if (!found) return "";
  const auto opened = bucket_.open(found->attributes.ino);
  if (!opened) return "an open to read failed: " + opened.error().detail;
  return add_handle(opened->handle, file, /*may_write=*/false);
}

std::string StagedModel::add_handle(std::uint64_t number, const FilePtr& file, bool may_write) {
  handles_.push_back({number, file, may_write});
  ++file->handles;
  if (may_write) ++file->writers;
  if (file_of(file->key) != file) return "";  // cut to what its base was, and that was replaced
  const auto found = look_up(file->key);
  if (!found) return "an open file has no name";
  const Ino ino = found->attributes.ino;
  if (file->ino != 0 && file->ino != ino) return "the inode of an open file changed";
  file->ino = ino;
  for (const Handle& other : handles_) {
    if (other.file != file && other.file->ino == ino) return "two files have one inode";
  }
  return "";
}

std::string StagedModel::close(std::size_t at) {
  const Handle handle = handles_[at];
  std::string wrong = handle.may_write ? sync(handle) : "";
  handles_.erase(handles_.begin() + static_cast<std::ptrdiff_t>(at));
  bucket_.fs.release(handle.number);
  --handle.file->handles;
  if (handle.may_write) --handle.file->writers;
  end_if_unused(handle.file);
  return wrong;
}

void StagedModel::end_if_unused(const FilePtr& file) {
  if (file->handles > 0) return;
  const auto named = named_.find(file->key);
  if (named != named_.end() && named->second == file) named_.erase(named);
  if (file->has_failed && !file->is_unlinked) left_.push_back(file);
}

void StagedModel::forget_unused() {
  std::erase_if(lookups_, [this](const auto& lookup) {
    const bool is_used = std::ranges::any_of(
        handles_, [&](const Handle& handle) { return handle.file->ino == lookup.first; });
    if (!is_used) bucket_.fs.forget(lookup.first, lookup.second);
    return !is_used;
  });
}

// Bytes

void StagedModel::resize(File& file, std::size_t size) {
  file.bytes.resize(size, '\0');
  file.changed.resize(size, true);
}

void StagedModel::put(File& file, std::uint64_t offset, const std::string& text) {
  if (text.empty()) return;
  const std::size_t end = offset + text.size();
  if (file.bytes.size() < end) resize(file, end);
  file.bytes.replace(offset, text.size(), text);
  std::fill_n(file.changed.begin() + static_cast<std::ptrdiff_t>(offset), text.size(), true);
}

std::string StagedModel::write(const Handle& handle, std::uint64_t offset, std::size_t length) {
  File& file = *handle.file;
  const std::string text = text_by(++serial_, length);
  const auto written = bucket_.write(handle.number, offset, text);
  if (!written && may_lack_room(written.error()) && !file.has_failed) return "";
  if (written.has_value() == file.has_failed) return "a write told the wrong outcome";
  if (written && mistake_ != StagedMistake::kForgetsAWrite) put(file, offset, text);
  return "";
}

std::string StagedModel::read(const Handle& handle, std::uint64_t offset, std::size_t length) {
  const File& file = *handle.file;
  const auto bytes = bucket_.read(handle.number, offset, length);
  // Bytes that the staging file lacks went with the version that had them.
  if (!bytes) {
    if (may_lack_room(bytes.error())) return "";
    return file.base && !is_base_there(file) ? "" : "read failed: " + bytes.error().detail;
  }
  const std::string expected =
      offset < file.bytes.size() ? file.bytes.substr(offset, length) : std::string();
  return *bytes == expected ? "" : "a read gave other bytes";
}

std::string StagedModel::truncate(const Handle& handle, std::size_t size) {
  File& file = *handle.file;
  const bool is_version = !file.is_unlinked && !file.has_failed && !is_changed(file);
  const bool is_replaced = is_version && !is_base_there(file);
  const auto cut = bucket_.truncate(file.ino, size);
  if (!cut && may_lack_room(cut.error()) && !file.has_failed && size > 0) return "";
  if (cut.has_value() == (file.has_failed || is_replaced)) {
    return "a truncation told the wrong outcome";
  }
  if (cut) resize(file, size);
  return "";
}

std::string StagedModel::truncate_path(const std::string& name, std::size_t size) {
  const FilePtr file = file_of(name);
  if (!file) return "";
  Result<void> cut;
  for (int attempt = 0; attempt < 2; ++attempt) {  // as the kernel after ESTALE
    const auto found = look_up(name);
    if (!found) return "a file that is there has no name";
    cut = bucket_.truncate(found->attributes.ino, size);
    if (cut || cut.error().code != ErrorCode::kStale) break;
  }
  if (!cut && may_lack_room(cut.error())) return "";
  if (!file->is_staged) named_[name] = file;
  file->is_staged = true;
  resize(*file, size);
  if (file->writers == 0) {
    if (store(file) != cut.has_value()) return "a truncation of a path told the wrong outcome";
    end_if_unused(file);
    return "";
  }
  return cut ? "" : "a truncation of a path failed: " + cut.error().detail;
}

std::string StagedModel::allocate(const Handle& handle, Allocation what) {
  File& file = *handle.file;
  const auto allocated = answer_of<void>(
      [&](auto done) { bucket_.fs.allocate(handle.number, what, std::move(done)); });
  if (!allocated && may_lack_room(allocated.error()) && !file.has_failed) return "";
  if (allocated.has_value() == file.has_failed) return "an allocation told the wrong outcome";
  if (!allocated) return "";
  const std::size_t end = what.offset_bytes + what.length_bytes;
  const std::size_t zeros_end = std::min(end, file.bytes.size());
  if (what.zeroes && what.offset_bytes < zeros_end) {
    put(file, what.offset_bytes, std::string(zeros_end - what.offset_bytes, '\0'));
  }
  if (what.extends && end > file.bytes.size()) resize(file, end);
  return "";
}

// Storing

bool StagedModel::store(const FilePtr& file) {
  if (file->has_failed) return false;
  if (!is_dirty(*file)) return true;
  const bool is_believed = mistake_ == StagedMistake::kBelievesAFailedStore;
  if ((stores_fail_ && !is_believed) || !is_base_there(*file)) {
    file->has_failed = true;
    return false;
  }
  Version made{.bytes = file->bytes, .serial = ++serial_};
  if (mistake_ == StagedMistake::kMixesBases) {
    for (std::size_t i = 0; i < std::min(made.bytes.size(), file->first_bytes.size()); ++i) {
      if (!file->changed[i]) made.bytes[i] = file->first_bytes[i];
    }
  }
  stored_[file->key] = made;
  if (answers_are_lost_) {
    file->has_failed = true;
    return false;
  }
  file->base = std::move(made);
  file->changed.assign(file->bytes.size(), false);
  return true;
}

std::string StagedModel::sync(const Handle& handle) {
  const auto synced = bucket_.sync(handle.number);
  if (store(handle.file) == synced.has_value()) return "";
  return synced ? "a sync did not fail" : "a sync failed: " + synced.error().detail;
}

}  // namespace s3rdmafs::vfs
