// SPDX-License-Identifier: Apache-2.0
// The file that remembers a staging file: a head, and a record for each range that was changed.
//
// Why records of 32 bytes. None crosses a page, so the death of the daemon cannot tear one; the
// checksum finds what a full disk or a power failure tore. The file of a program that writes in
// order has one record, which is written again at each write; so one small pwrite(2) is the cost of
// any write. A cut is a record too: replaying them in order gives size and ranges.
//
// Order. Bytes are written first, then their record: a write that was not acknowledged may be
// forgotten, and one that was is found. A cut is recorded first: bytes beyond the size are cut off
// when the file is taken over.
#include "upload/staged/sidecar.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "journal/record.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::upload {
namespace {

constexpr std::uint64_t kHeadAlignment = 4096;
constexpr std::string_view kHeadKind = "staged";
constexpr std::size_t kHeadFields = 7;  // then names and values of the metadata
constexpr std::string_view kWholeHeadKind = "whole";
constexpr std::size_t kWholeHeadFields = 8;  // those of "staged", and the mark

Result<void> check_write(ssize_t written, std::size_t wanted) {
  if (written == static_cast<ssize_t>(wanted)) return {};
  if (written >= 0 || errno == ENOSPC) {
    return fail(ErrorCode::kNoSpace, "the file system of write.staging_dir is full");
  }
  return fail_errno("write a sidecar", errno);
}

Result<void> write_at(int file, std::span<const std::byte> bytes, std::uint64_t offset_bytes) {
  const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
  return check_write(n, bytes.size());
}

/// Where the records begin after this head.
std::uint64_t head_bytes(const std::string& head) { return round_up(head.size(), kHeadAlignment); }

/// The head, and zeros up to the records. They come from a constant: a block of a page out of the
/// heap makes malloc tidy up first, which took as long as the write.
Result<void> write_head(int file, const std::string& head) {
  static constexpr std::array<char, kHeadAlignment> kZeros{};
  const std::size_t length = head_bytes(head);
  const std::array<iovec, 2> parts{
      iovec{.iov_base = const_cast<char*>(head.data()), .iov_len = head.size()},
      iovec{.iov_base = const_cast<char*>(kZeros.data()), .iov_len = length - head.size()}};
  return check_write(::pwritev(file, parts.data(), static_cast<int>(parts.size()), 0), length);
}

std::string flag_text(bool flag) { return flag ? "1" : "0"; }

std::string head_of(const StagedState& state) {
  const StagedIdentity& identity = state.identity;
  journal::Record head{.kind = std::string(kHeadKind),
                       .fields = {identity.key, flag_text(identity.base.has_value()),
                                  identity.base ? identity.base->etag : "",
                                  std::to_string(identity.base ? identity.base->size_bytes : 0),
                                  std::to_string(state.size_bytes), state.reason,
                                  flag_text(state.metadata_changed)}};
  if (state.is_whole) {
    head.kind = kWholeHeadKind;
    head.fields.push_back(std::to_string(state.stored_mark));
  }
  for (const auto& [name, value] : identity.metadata) {
    head.fields.push_back(name);
    head.fields.push_back(value);
  }
  return journal::line_of(head);
}

std::optional<std::uint64_t> number_in(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<StagedState> parse_head(std::string_view text) {
  const std::size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  const auto head = journal::parse_line(text.substr(0, line_end));
  if (!head) return std::nullopt;
  const bool is_whole = head->kind == kWholeHeadKind;
  const std::size_t known_fields = is_whole ? kWholeHeadFields : kHeadFields;
  const std::vector<std::string>& fields = head->fields;
  if ((!is_whole && head->kind != kHeadKind) || fields.size() < known_fields) return std::nullopt;
  const auto base_bytes = number_in(fields[3]);
  const auto size_bytes = number_in(fields[4]);
  const auto mark = is_whole ? number_in(fields[7]) : std::uint64_t{0};
  if (!base_bytes || !size_bytes || !mark || (fields.size() - known_fields) % 2 != 0) {
    return std::nullopt;
  }
  StagedState state{.identity = {.key = fields[0], .base = std::nullopt, .metadata = {}},
                    .size_bytes = *size_bytes,
                    .changed = {},
                    .reason = fields[5],
                    .metadata_changed = fields[6] == "1",
                    .is_whole = is_whole,
                    .stored_mark = static_cast<WriteMark>(*mark)};
  if (fields[1] == "1")
    state.identity.base = BaseVersion{.etag = fields[2], .size_bytes = *base_bytes};
  for (std::size_t i = known_fields; i < fields.size(); i += 2) {
    state.identity.metadata.emplace_back(fields[i], fields[i + 1]);
  }
  return state;
}

Result<std::string> text_of(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return fail_errno("stat a sidecar", errno);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t n = ::pread(file, text.data(), text.size(), 0);
  if (n < 0) return fail_errno("read a sidecar", errno);
  text.resize(static_cast<std::size_t>(n));
  return text;
}

}  // namespace

/// As in the file; the machine that wrote it reads it.
struct Sidecar::SidecarRecord {
  RecordKind kind = RecordKind::kChanged;
  std::uint32_t checksum = 0;  ///< CRC-32C of the record with this as 0
  std::uint64_t begin = 0;     ///< of a cut: the size
  std::uint64_t end = 0;
  std::uint64_t reserved = 0;

  [[nodiscard]] std::uint32_t right_checksum() const {
    SidecarRecord record = *this;
    record.checksum = 0;
    return crc32c(0, std::as_bytes(std::span(&record, 1)));
  }
  void replay(StagedState& state) const {
    switch (kind) {
      case RecordKind::kChanged:
        state.changed.add({begin, end});
        state.size_bytes = std::max(state.size_bytes, end);
        return;
      case RecordKind::kDropped:
        return state.dropped.add({begin, end});
      case RecordKind::kResized:
        state.size_bytes = begin;
        state.changed.subtract({begin, UINT64_MAX});
        state.dropped.subtract({begin, UINT64_MAX});
    }
  }
};

bool StagedState::is_changed() const {
  return !identity.base || metadata_changed || !changed.empty() ||
         size_bytes != identity.base->size_bytes;
}

void StagedState::take_from(const struct stat& local) {
  size_bytes = static_cast<std::uint64_t>(local.st_size);
  changed.clear();
  const bool was_written = stored_mark == 0 || write_mark_of(local) != stored_mark;
  if (was_written && size_bytes > 0) changed.add({.begin = 0, .end = size_bytes});
}

Result<Sidecar> Sidecar::create(int folder, const std::string& name, const StagedState& state) {
  return make(folder, name, O_EXCL, state);
}

Result<Sidecar> Sidecar::write(int folder, const std::string& name, const StagedState& state) {
  const std::string next = name + ".next";
  auto made = make(folder, next, O_TRUNC, state);
  if (made && ::renameat(folder, next.c_str(), folder, name.c_str()) != 0) {
    return fail_errno("replace a sidecar", errno);
  }
  return made;
}

Result<Sidecar> Sidecar::make(int folder, const std::string& name, int flags,
                              const StagedState& state) {
  UniqueFd file(
      ::openat(folder, name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!file) {
    if (errno == ENOSPC) {
      return fail(ErrorCode::kNoSpace, "the file system of write.staging_dir is full");
    }
    return fail_errno("make a sidecar", errno);
  }
  const std::string head = head_of(state);
  if (auto ok = write_head(file.get(), head); !ok) return std::unexpected(ok.error());
  Sidecar made(std::move(file), head_bytes(head));
  if (state.is_whole) return made;
  for (const ByteRange& range : state.changed.list()) {
    if (auto ok = made.add(range); !ok) return std::unexpected(ok.error());
  }
  for (const ByteRange& range : state.dropped.list()) {
    if (auto ok = made.drop(range); !ok) return std::unexpected(ok.error());
  }
  return made;
}

Result<std::pair<Sidecar, StagedState>> Sidecar::load(int folder, const std::string& name) {
  UniqueFd file(::openat(folder, name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return fail_errno("open " + name, errno);
  const auto text = text_of(file.get());
  if (!text) return std::unexpected(text.error());
  auto state = parse_head(*text);
  if (!state) return fail(ErrorCode::kCorrupt, name + " is damaged");

  const std::uint64_t first = round_up(text->find('\n') + 1, kHeadAlignment);
  Sidecar made(std::move(file), first);
  SidecarRecord record;
  for (std::uint64_t at = first; at + sizeof(record) <= text->size(); at += sizeof(record)) {
    std::memcpy(&record, text->data() + at, sizeof(record));
    if (record.checksum != record.right_checksum()) break;  // torn: the last one
    record.replay(*state);
    ++made.records_;
  }
  return std::pair(std::move(made), std::move(*state));
}

Result<void> Sidecar::put(std::uint64_t index, RecordKind kind, ByteRange bytes) {
  static_assert(sizeof(SidecarRecord) == 32);
  SidecarRecord record{.kind = kind, .begin = bytes.begin, .end = bytes.end};
  record.checksum = record.right_checksum();
  return write_at(file_.get(), std::as_bytes(std::span(&record, 1)),
                  first_ + index * sizeof(record));
}

// In place where it continues the last record of its kind, so that it takes no room.
Result<void> Sidecar::put_range(RecordKind kind, ByteRange bytes) {
  const bool continues = last_ && last_->kind == kind && bytes.begin >= last_->bytes.begin &&
                         bytes.begin <= last_->bytes.end;
  const std::uint64_t index = continues ? records_ - 1 : records_;
  if (continues) {
    bytes = {.begin = last_->bytes.begin, .end = std::max(bytes.end, last_->bytes.end)};
  }
  if (auto ok = put(index, kind, bytes); !ok) return ok;
  records_ = index + 1;
  last_ = Last{.kind = kind, .bytes = bytes};
  return {};
}

Result<void> Sidecar::add(ByteRange bytes) { return put_range(RecordKind::kChanged, bytes); }

// One page, as a record: the death of the daemon cannot tear it. The records go afterwards. Those
// of a file that was stored name bytes that the new base has too, and end in its size.
Result<void> Sidecar::settle(const StagedState& state) {
  const std::string head = head_of(state);
  if (head_bytes(head) != first_ || first_ != kHeadAlignment) {
    return fail(ErrorCode::kUnsupported, "the head of the sidecar is larger than a page");
  }
  if (auto ok = write_head(file_.get(), head); !ok) return ok;
  if (records_ > 0 && ::ftruncate(file_.get(), static_cast<off_t>(first_)) != 0) {
    return fail_errno("cut a sidecar", errno);
  }
  records_ = 0;
  last_.reset();
  has_synced_drop_ = false;
  return {};
}

// The first is on the disk before the bytes go: a file system that loses its power may keep a hole
// and lose a record.
Result<void> Sidecar::drop(ByteRange bytes) {
  if (auto ok = put_range(RecordKind::kDropped, bytes); !ok) return ok;
  if (!has_synced_drop_ && ::fdatasync(file_.get()) != 0) {
    return fail_errno("sync a sidecar", errno);
  }
  has_synced_drop_ = true;
  return {};
}

Result<void> Sidecar::resize(std::uint64_t size_bytes) {
  if (auto ok = put(records_, RecordKind::kResized, {size_bytes, size_bytes}); !ok) return ok;
  ++records_;
  last_.reset();
  return {};
}

}  // namespace s3rdmafs::upload
