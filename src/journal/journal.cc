// SPDX-License-Identifier: Apache-2.0
// A file of records, written at its end.
//
// Why lines are written whole. One write(2) a batch of lines: the death of the process leaves all
// of it or nothing, a power failure at worst a torn end, which load() cuts off. After a failed
// write the file is cut back to its last good length, so that a later line does not follow half of
// one.
//
// Locks. mutex_ is held during the calls on the file: they are what it orders. It is not held while
// append() waits for the disk, since event threads of s3/ write records meanwhile (kProcess); so a
// line that cannot be synced may have others after it, and stays. waiting_mutex_ is held only to
// queue, so that append_async() waits for no disk.
#include "journal/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::journal {
namespace {

Result<void> write_all(int file, std::string_view text, std::uint64_t offset_bytes) {
  while (!text.empty()) {
    const ssize_t n = ::pwrite(file, text.data(), text.size(), static_cast<off_t>(offset_bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("write", errno);
    text.remove_prefix(static_cast<std::size_t>(n));
    offset_bytes += static_cast<std::uint64_t>(n);
  }
  return {};
}

Result<std::string> read_all(int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0) return fail_errno("stat", errno);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t n =
        ::pread(file, text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read", errno);
    if (n == 0) break;
    have += static_cast<std::size_t>(n);
  }
  text.resize(have);
  return text;
}

}  // namespace

Journal::Journal(const StateFolder& folder, std::string name, const Clock& clock)
    : folder_(folder), name_(std::move(name)), thread_("journal", clock, [] {}) {}

Journal::~Journal() { finish(); }

void Journal::finish() { thread_.finish(); }

Result<std::unique_ptr<Journal>> Journal::open(const StateFolder& folder, std::string name,
                                               const Clock& clock) {
  std::unique_ptr<Journal> made(new Journal(folder, std::move(name), clock));
  if (auto loaded = made->load(); !loaded) {
    return fail_with_context("journal " + folder.path() + "/" + made->name_, loaded.error());
  }
  return made;
}

Result<void> Journal::load() {
  const MutexLock lock(mutex_);
  file_ = std::make_shared<const UniqueFd>(
      ::openat(folder_.fd(), name_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!*file_) return fail_errno("open", errno);
  const auto text = read_all(file_->get());
  if (!text) return std::unexpected(text.error());

  std::string_view rest = *text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = rest.find('\n');
    const bool is_last = end == std::string_view::npos || end + 1 == rest.size();
    auto record = end == std::string_view::npos ? std::nullopt : parse_line(rest.substr(0, end));
    if (!record && is_last) break;
    if (record) {
      found_.push_back(std::move(*record));
    } else {
      log::warn("journal {}/{}: line {} is damaged; the event that it names is forgotten",
                folder_.path(), name_, number);
    }
    rest.remove_prefix(end + 1);
  }
  size_bytes_ = text->size() - rest.size();
  if (!rest.empty() && ::ftruncate(file_->get(), static_cast<off_t>(size_bytes_)) != 0) {
    return fail_errno("cut off a torn line", errno);
  }
  return {};
}

Result<void> Journal::write_lines(const std::string& lines, Durability durability) {
  const auto file = add_lines(lines);
  if (!file) return std::unexpected(file.error());
  if (durability == Durability::kMachine && ::fdatasync((*file)->get()) != 0) {
    return fail_errno("journal " + folder_.path() + "/" + name_ + ": fdatasync", errno);
  }
  return {};
}

Result<std::shared_ptr<const UniqueFd>> Journal::add_lines(const std::string& lines) {
  const MutexLock lock(mutex_);
  if (const auto written = write_all(file_->get(), lines, size_bytes_); !written) {
    if (::ftruncate(file_->get(), static_cast<off_t>(size_bytes_)) != 0) {
      log::debug("journal {}/{}: half a line cannot be cut off; the next one overwrites it",
                 folder_.path(), name_);
    }
    return fail_with_context("journal " + folder_.path() + "/" + name_, written.error());
  }
  size_bytes_ += lines.size();
  return file_;
}

Result<void> Journal::append(const Record& record, Durability durability) {
  return write_lines(line_of(record), durability);
}

void Journal::append_async(const Record& record, Done<void> done) {
  bool is_first = false;
  {
    const MutexLock lock(waiting_mutex_);
    is_first = waiting_.empty();
    waiting_.push_back({.line = line_of(record), .done = std::move(done)});
  }
  if (!is_first || thread_.post([this] { write_waiting(); })) return;
  for (Waiting& waiting : take_waiting()) {
    waiting.done(fail(ErrorCode::kCancelled, "journal " + name_ + ": the mount ends"));
  }
}

std::deque<Journal::Waiting> Journal::take_waiting() {
  const MutexLock lock(waiting_mutex_);
  return std::exchange(waiting_, {});
}

void Journal::write_waiting() {
  std::deque<Waiting> batch = take_waiting();
  std::string lines;
  for (const Waiting& waiting : batch) lines += waiting.line;
  const Result<void> written = write_lines(lines, Durability::kMachine);
  for (Waiting& waiting : batch) waiting.done(written);
}

Result<void> Journal::rewrite(const std::vector<Record>& records, Durability durability) {
  std::string lines;
  for (const Record& record : records) lines += line_of(record);
  const std::string whole_name = "journal " + folder_.path() + "/" + name_;
  const std::string next_name = name_ + ".next";

  const MutexLock lock(mutex_);
  UniqueFd next(::openat(folder_.fd(), next_name.c_str(),
                         O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!next) return fail_errno(whole_name + ": open its next version", errno);
  if (auto written = write_all(next.get(), lines, 0); !written) {
    return fail_with_context(whole_name, written.error());
  }
  const bool syncs = durability == Durability::kMachine;
  if ((syncs && ::fsync(next.get()) != 0) ||
      ::renameat(folder_.fd(), next_name.c_str(), folder_.fd(), name_.c_str()) != 0) {
    return fail_errno(whole_name + ": replace it", errno);
  }
  file_ = std::make_shared<const UniqueFd>(std::move(next));
  size_bytes_ = lines.size();
  if (syncs && ::fsync(folder_.fd()) != 0)
    return fail_errno(whole_name + ": sync its folder", errno);
  return {};
}

std::uint64_t Journal::size_bytes() const {
  const MutexLock lock(mutex_);
  return size_bytes_;
}

}  // namespace s3rdmafs::journal
