// SPDX-License-Identifier: Apache-2.0
// An external merge sort, whose runs are manifests without names.
#include "manifest/sorter.h"

#include <algorithm>
#include <queue>
#include <utility>

namespace s3rdmafs::manifest {
namespace {

// The newest first among entries of one key.
bool comes_first(const Entry& a, const Entry& b) {
  const int order = a.object.key.compare(b.object.key);
  return order != 0 ? order < 0 : a.object.modified > b.object.modified;
}

std::uint64_t bytes_of_entry(const Entry& entry) {
  return sizeof(Entry) + entry.object.key.capacity() + entry.object.etag.capacity();
}

// Leaves out what has the key of the entry before.
class DistinctKeys {
 public:
  explicit DistinctKeys(Writer& writer) : writer_(writer) {}

  Result<void> add(const Entry& entry) {
    if (entry.object.key == last_key_) return {};
    last_key_ = entry.object.key;
    return writer_.add(entry);
  }

 private:
  Writer& writer_;
  std::string last_key_;
};

}  // namespace

Sorter::Sorter(std::string folder, std::uint64_t memory_bytes)
    : folder_(std::move(folder)), memory_bytes_(memory_bytes) {}

Result<void> Sorter::add(Entry entry) {
  if (auto ok = check_entry(entry); !ok) return ok;
  const MutexLock lock(mutex_);
  bytes_ += bytes_of_entry(entry);
  entries_.push_back(std::move(entry));
  return bytes_ < memory_bytes_ ? Result<void>() : spill();
}

void Sorter::sort() { std::ranges::sort(entries_, comes_first); }

Result<void> Sorter::spill() {
  sort();
  auto run = Writer::create_unnamed(folder_);
  if (!run) return std::unexpected(run.error());
  DistinctKeys distinct(*run);
  for (const Entry& entry : entries_) {
    if (auto ok = distinct.add(entry); !ok) return ok;
  }
  entries_.clear();
  bytes_ = 0;
  if (auto kept = keep_run(*run); !kept || runs_.size() < kRunsMax) return kept;
  auto merged = Writer::create_unnamed(folder_);
  if (!merged) return std::unexpected(merged.error());
  if (auto ok = merge(*merged); !ok) return ok;
  runs_.clear();
  return keep_run(*merged);
}

Result<void> Sorter::keep_run(Writer& written) {
  auto file = written.finish({}, {});
  if (!file) return std::unexpected(file.error());
  auto run = Manifest::read(std::move(*file), "for sorting, in " + folder_);
  if (!run) return std::unexpected(run.error());
  runs_.push_back(std::move(*run));
  return {};
}

Result<void> Sorter::merge(Writer& into) {
  std::vector<Cursor> cursors;
  cursors.reserve(runs_.size());
  for (const auto& run : runs_) {
    auto cursor = run->seek("");
    if (!cursor) return std::unexpected(cursor.error());
    cursors.push_back(std::move(*cursor));
  }
  const auto comes_later = [](const Cursor* a, const Cursor* b) {
    return comes_first(*b->entry(), *a->entry());
  };
  std::priority_queue<Cursor*, std::vector<Cursor*>, decltype(comes_later)> next(comes_later);
  for (Cursor& cursor : cursors) {
    if (cursor.entry() != nullptr) next.push(&cursor);
  }
  DistinctKeys distinct(into);
  while (!next.empty()) {
    Cursor* const first = next.top();
    next.pop();
    if (auto ok = distinct.add(*first->entry()); !ok) return ok;
    if (auto ok = first->advance(); !ok) return ok;
    if (first->entry() != nullptr) next.push(first);
  }
  return {};
}

Result<void> Sorter::write_to(Writer& writer) {
  const MutexLock lock(mutex_);
  if (!runs_.empty()) {
    if (!entries_.empty()) {
      if (auto spilled = spill(); !spilled) return spilled;
    }
    return merge(writer);
  }
  sort();
  DistinctKeys distinct(writer);
  for (const Entry& entry : entries_) {
    if (auto ok = distinct.add(entry); !ok) return ok;
  }
  return {};
}

}  // namespace s3rdmafs::manifest
