// SPDX-License-Identifier: Apache-2.0
#include "journal/upload_journal.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::journal {
namespace {

constexpr std::string_view kUploadBegun = "upload-begun";  // id, key
constexpr std::string_view kUploadEnded = "upload-ended";  // id

// "upload-asked" has a fourth field where an earlier mount asked: no life sign of this mount says
// anything about it.
constexpr std::string_view kUploadAsked = "upload-asked";  // number, key, milliseconds[, until]
constexpr std::string_view kUploadAnswered = "upload-answered";  // number
constexpr std::string_view kLifeSign = "alive";                  // milliseconds

// Life signs come once a second, and later on a busy machine. The server may take up a request
// a moment after its sender was killed.
constexpr std::int64_t kAfterLifeSignMs = 5'000;

// Some thousand uploads: rewriting the open ones costs next to nothing beside them.
constexpr std::uint64_t kCompactBytes = kMiB;

Record begun_record(const std::string& key, const std::string& id) {
  return {.kind = std::string(kUploadBegun), .fields = {id, key}};
}

template <class Number>
bool read_number(const std::string& text, Number& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && stop == text.data() + text.size();
}

std::chrono::system_clock::time_point time_of(std::int64_t milliseconds) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(milliseconds));
}

}  // namespace

Result<std::unique_ptr<UploadJournal>> UploadJournal::open(const StateFolder& folder,
                                                           const Clock& clock) {
  auto journal = Journal::open(folder, "uploads", clock);
  if (!journal) return std::unexpected(journal.error());
  const std::vector<Record> found = (*journal)->take_found();
  std::unique_ptr<UploadJournal> made(new UploadJournal(std::move(*journal), clock));
  const MutexLock lock(made->mutex_);
  std::int64_t last_sign_ms = 0;
  for (const Record& record : found) made->take(record, last_sign_ms);
  for (const auto& [id, key] : made->open_) made->left_.push_back({.key = key, .id = id});
  for (auto& [number, question] : made->asked_) {
    if (!question.until_ms) question.until_ms = last_sign_ms + kAfterLifeSignMs;
    made->left_unanswered_.push_back({.number = number,
                                      .key = question.key,
                                      .from = time_of(question.from_ms),
                                      .until = time_of(*question.until_ms)});
  }
  if (!found.empty()) made->compact();
  return made;
}

void UploadJournal::take(const Record& record, std::int64_t& last_sign_ms) {
  const std::vector<std::string>& fields = record.fields;
  std::uint64_t number = 0;
  std::int64_t time_ms = 0;
  if (record.kind == kUploadBegun && fields.size() == 2) {
    open_[fields[0]] = fields[1];
  } else if (record.kind == kUploadEnded && fields.size() == 1) {
    open_.erase(fields[0]);
  } else if (record.kind == kUploadAsked && (fields.size() == 3 || fields.size() == 4) &&
             read_number(fields[0], number) && read_number(fields[2], time_ms)) {
    Question question{.key = fields[1], .from_ms = time_ms};
    std::int64_t until_ms = 0;
    if (fields.size() == 4 && read_number(fields[3], until_ms)) question.until_ms = until_ms;
    asked_[number] = std::move(question);
    next_number_ = std::max(next_number_, number + 1);
    last_sign_ms = std::max(last_sign_ms, time_ms);
  } else if (record.kind == kUploadAnswered && fields.size() == 1 &&
             read_number(fields[0], number)) {
    asked_.erase(number);
  } else if (record.kind == kLifeSign && fields.size() == 1 && read_number(fields[0], time_ms)) {
    last_sign_ms = std::max(last_sign_ms, time_ms);
  }
}

Record UploadJournal::record_of(std::uint64_t number, const Question& question) {
  Record record{.kind = std::string(kUploadAsked),
                .fields = {std::to_string(number), question.key, std::to_string(question.from_ms)}};
  if (question.until_ms) record.fields.push_back(std::to_string(*question.until_ms));
  return record;
}

std::int64_t UploadJournal::now_ms() const {
  const auto since = clock_.wall_now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::uint64_t UploadJournal::asked(const std::string& key) {
  const MutexLock lock(mutex_);
  const std::uint64_t number = next_number_++;
  const Question& question = asked_[number] = {.key = key, .from_ms = now_ms()};
  append(record_of(number, question));
  return number;
}

void UploadJournal::answered(std::uint64_t number) {
  const MutexLock lock(mutex_);
  if (asked_.erase(number) == 0) return;
  append({.kind = std::string(kUploadAnswered), .fields = {std::to_string(number)}});
}

void UploadJournal::on_tick() {
  const MutexLock lock(mutex_);
  const bool waits =
      std::ranges::any_of(asked_, [](const auto& one) { return !one.second.until_ms; });
  if (waits) append({.kind = std::string(kLifeSign), .fields = {std::to_string(now_ms())}});
}

bool UploadJournal::knows(const std::string& id) const {
  const MutexLock lock(mutex_);
  return open_.contains(id);
}

bool UploadJournal::is_asking(const std::string& key) const {
  const MutexLock lock(mutex_);
  return std::ranges::any_of(
      asked_, [&](const auto& one) { return one.second.key == key && !one.second.until_ms; });
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
}

void UploadJournal::append(const Record& record) {
  const auto written = journal_->append(record, Durability::kProcess);
  const std::size_t open = open_.size() + asked_.size();
  if (journal_->size_bytes() > kCompactBytes && open < kCompactBytes / kKiB) compact();
  if (written || std::exchange(has_complained_, true)) return;
  log::warn("{}; if this daemon is killed, uploads that it has begun stay on the server",
            written.error().detail);
}

void UploadJournal::compact() {
  std::vector<Record> records;
  records.reserve(open_.size() + asked_.size());
  for (const auto& [id, key] : open_) records.push_back(begun_record(key, id));
  for (const auto& [number, question] : asked_) records.push_back(record_of(number, question));
  if (const auto done = journal_->rewrite(records, Durability::kProcess); !done) {
    log::debug("{}; it stays as long as it is", done.error().detail);
  }
}

}  // namespace s3rdmafs::journal
