// SPDX-License-Identifier: Apache-2.0
// Why not libsystemd for the journal: its native protocol is documented as stable, is one datagram,
// and the library brings half a dozen others into a process that then holds keys.
#include "base/log_sinks.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include <spdlog/sinks/base_sink.h>
#ifndef SPDLOG_HEADER_ONLY  // spdlog defines it where it is used as headers alone: the template is
                            // whole there
#include <spdlog/sinks/base_sink-inl.h>
#endif

#include "base/log_formats.h"
#include "base/repeat_limiter.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/printable.h"

namespace s3rdmafs {
namespace {

// spdlog's own follows symbolic links, and makes files that every user can read.
class FileSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  explicit FileSink(UniqueFd file) : file_(std::move(file)) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* at = line.data();
    const char* const end = at + line.size();
    while (at != end) {
      const ssize_t n = ::write(file_.get(), at, static_cast<std::size_t>(end - at));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return;
      at += n;
    }
  }
  void flush_() override {}

  const UniqueFd file_;
};

// Never waits: a journal that is slow costs lines.
class JournalSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  JournalSink(UniqueFd socket, std::string mount_point)
      : socket_(std::move(socket)), mount_point_(std::move(mount_point)) {}

 private:
  // Larger datagrams are refused where net.core.wmem_max is small.
  static constexpr std::size_t kMessageBytesMax = std::size_t{32} * 1024;

  // Values without line breaks, which printable() takes away, need no length.
  void sink_it_(const spdlog::details::log_msg& message) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    std::string fields =
        fmt::format("MESSAGE={}\nPRIORITY={}\nSYSLOG_IDENTIFIER=s3rdmafs\nTID={}\n",
                    std::string_view(text).substr(0, kMessageBytesMax), priority_of(message.level),
                    message.thread_id);
    if (!mount_point_.empty()) fields += "S3RDMAFS_MOUNT=" + printable(mount_point_) + "\n";
    ::send(socket_.get(), fields.data(), fields.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  }
  void flush_() override {}

  const UniqueFd socket_;
  const std::string mount_point_;
};

class LimitedSink final : public spdlog::sinks::base_sink<Mutex> {
 public:
  explicit LimitedSink(spdlog::sink_ptr to) : sink_(std::move(to)) {}
  ~LimitedSink() override { tell_dropped(RepeatLimiter::Time::max()); }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (message.level < spdlog::level::info) return sink_->log(message);
    tell_dropped(message.time);
    const std::string_view text(message.payload.data(), message.payload.size());
    if (limiter_.may_pass(text, message.time)) sink_->log(message);
  }
  void flush_() override { sink_->flush(); }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    sink_->set_formatter(std::move(formatter));
  }
  void set_pattern_(const std::string& pattern) override { sink_->set_pattern(pattern); }

  void tell_dropped(RepeatLimiter::Time now) {
    for (const RepeatLimiter::Dropped& dropped : limiter_.take_dropped(now)) {
      const std::string text = fmt::format("log: {} lines like this one were left out: {}",
                                           dropped.count, dropped.example);
      sink_->log(spdlog::details::log_msg("s3rdmafs", spdlog::level::warn, text));
    }
  }

  const spdlog::sink_ptr sink_;
  RepeatLimiter limiter_;  // under base_sink's mutex
};

}  // namespace

spdlog::sink_ptr make_file_sink(UniqueFd file) {
  return std::make_shared<FileSink>(std::move(file));
}

Result<spdlog::sink_ptr> make_journal_sink(const std::string& socket_path,
                                           const std::string& mount_point) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (socket_path.size() >= sizeof(address.sun_path)) {
    return fail(ErrorCode::kSystem, socket_path + " is too long for a UNIX socket");
  }
  std::memcpy(address.sun_path, socket_path.data(), socket_path.size());
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return fail_errno("journal " + socket_path, errno);
  }
  return std::make_shared<JournalSink>(std::move(socket), mount_point);
}

spdlog::sink_ptr make_limited_sink(spdlog::sink_ptr sink) {
  return std::make_shared<LimitedSink>(std::move(sink));
}

}  // namespace s3rdmafs
