// SPDX-License-Identifier: Apache-2.0
// The records of renames. "begun" waits for the disk: from then on the server may have two copies
// of one file. "copied" and "ended" need only outlive the process: without them the next mount asks
// the server, and leaves both names where the answer proves nothing.
//
// Cost: one fsync for a rename, shared by those that run side by side, and 200 bytes of disk, until
// the next mount makes the journal short again.
#include "vfs/renames/rename_journal.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::vfs {
namespace {

using journal::Record;

constexpr std::string_view kBegun = "rename-begun";
constexpr std::string_view kCopied = "rename-copied";
constexpr std::string_view kEnded = "rename-ended";

std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::uint64_t milliseconds_of(std::chrono::system_clock::time_point time) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::ceil<milliseconds>(time.time_since_epoch());
  return since.count() < 0 ? 0 : static_cast<std::uint64_t>(since.count());
}

Record begun_record(const BegunRename& rename) {
  return {std::string(kBegun),
          {std::to_string(rename.id), rename.from, rename.to, rename.etag,
           std::to_string(rename.size_bytes), rename.replaced_etag,
           std::to_string(milliseconds_of(rename.newest))}};
}

Record copied_record(std::uint64_t id, const std::string& etag) {
  return {std::string(kCopied), {std::to_string(id), etag}};
}

/// Follows the records, to the renames that never ended.
class Replay {
 public:
  void add(const Record& record) {
    const auto id = record.fields.empty() ? std::nullopt : number_of(record.fields[0]);
    if (!id) return;
    last_id = std::max(last_id, *id);
    if (record.kind == kBegun) return begin(*id, record.fields);
    const auto found = std::ranges::find(unfinished, *id, &BegunRename::id);
    if (found == unfinished.end()) return;
    if (record.kind == kEnded) {
      unfinished.erase(found);
    } else if (record.kind == kCopied && record.fields.size() == 2) {
      found->is_copied = true;
      found->copied_etag = record.fields[1];
    }
  }

  std::vector<BegunRename> unfinished;
  std::uint64_t last_id = 0;

 private:
  void begin(std::uint64_t id, const std::vector<std::string>& fields) {
    if (fields.size() != 7) return;
    const auto size_bytes = number_of(fields[4]);
    const auto newest = number_of(fields[6]);
    if (!size_bytes || !newest) return;
    unfinished.push_back(
        {.id = id,
         .from = fields[1],
         .to = fields[2],
         .etag = fields[3],
         .size_bytes = *size_bytes,
         .replaced_etag = fields[5],
         .newest = std::chrono::system_clock::time_point(std::chrono::milliseconds(*newest))});
  }
};

}  // namespace

Result<std::unique_ptr<RenameJournal>> RenameJournal::open(const journal::StateFolder& folder,
                                                           const Clock& clock) {
  auto journal = journal::Journal::open(folder, "renames", clock);
  if (!journal) return std::unexpected(journal.error());
  std::unique_ptr<RenameJournal> made(new RenameJournal(std::move(*journal)));
  Replay replay;
  for (const Record& record : made->journal_->take_found()) replay.add(record);
  std::vector<Record> left;
  for (const BegunRename& rename : replay.unfinished) {
    left.push_back(begun_record(rename));
    if (rename.is_copied) left.push_back(copied_record(rename.id, rename.copied_etag));
  }
  if (auto written = made->journal_->rewrite(left); !written) {
    return std::unexpected(written.error());
  }
  made->last_id_ = replay.last_id;
  made->unfinished_ = std::move(replay.unfinished);
  return made;
}

void RenameJournal::begun(const BegunRename& rename, Done<void> done) {
  journal_->append_async(begun_record(rename), std::move(done));
}

void RenameJournal::copied(std::uint64_t id, const std::string& etag) {
  note(copied_record(id, etag));
}

void RenameJournal::ended(std::uint64_t id) { note({std::string(kEnded), {std::to_string(id)}}); }

void RenameJournal::note(const Record& record) {
  const auto kept = journal_->append(record, journal::Durability::kProcess);
  if (!kept) {
    log::warn(
        "rename: the journal took no record: {}; after a crash a file may be left under both names",
        kept.error().detail);
  }
}

}  // namespace s3rdmafs::vfs
