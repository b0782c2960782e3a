// SPDX-License-Identifier: Apache-2.0
#include "journal/upload_journal.h"

#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::journal {
namespace {

constexpr std::string_view kUploadBegun = "upload-begun";  // id, key
constexpr std::string_view kUploadEnded = "upload-ended";  // id

// Some thousand uploads: rewriting the open ones costs next to nothing beside them.
constexpr std::uint64_t kCompactBytes = kMiB;

Record begun_record(const std::string& key, const std::string& id) {
  return {.kind = std::string(kUploadBegun), .fields = {id, key}};
}

}  // namespace

Result<std::unique_ptr<UploadJournal>> UploadJournal::open(const StateFolder& folder,
                                                           const Clock& clock) {
  auto journal = Journal::open(folder, "uploads", clock);
  if (!journal) return std::unexpected(journal.error());
  const std::vector<Record> found = (*journal)->take_found();
  std::unique_ptr<UploadJournal> made(new UploadJournal(std::move(*journal)));
  const MutexLock lock(made->mutex_);
  for (const Record& record : found) {
    if (record.kind == kUploadBegun && record.fields.size() == 2) {
      made->open_[record.fields[0]] = record.fields[1];
    } else if (record.kind == kUploadEnded && record.fields.size() == 1) {
      made->open_.erase(record.fields[0]);
    }
  }
  for (const auto& [id, key] : made->open_) made->left_.push_back({.key = key, .id = id});
  if (!found.empty()) made->compact();
  return made;
}

void UploadJournal::begun(const std::string& key, const std::string& id) {
  const MutexLock lock(mutex_);
  open_[id] = key;
  append(begun_record(key, id));
}

void UploadJournal::ended(const std::string& id) {
  const MutexLock lock(mutex_);
  if (open_.erase(id) == 0) return;
  append({.kind = std::string(kUploadEnded), .fields = {id}});
  if (journal_->size_bytes() > kCompactBytes && open_.size() < kCompactBytes / kKiB) compact();
}

void UploadJournal::append(const Record& record) {
  const auto written = journal_->append(record, Durability::kProcess);
  if (written || std::exchange(has_complained_, true)) return;
  spdlog::warn("{}; if this daemon is killed, uploads that it has begun stay on the server",
               written.error().detail);
}

void UploadJournal::compact() {
  std::vector<Record> records;
  for (const auto& [id, key] : open_) records.push_back(begun_record(key, id));
  if (const auto done = journal_->rewrite(records, Durability::kProcess); !done) {
    spdlog::debug("{}; it stays as long as it is", done.error().detail);
  }
}

}  // namespace s3rdmafs::journal
