// SPDX-License-Identifier: Apache-2.0
#include "fuse/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <thread>

#include "fuse/kernel/ring.h"
#include "fuse/lowlevel.h"
#include "fuse/status/status_ops.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::fuse {
namespace {

// At the end of a session libfuse cancels its workers. Writing a log line is a cancellation point,
// and unwinding out of a noexcept function ends the program, so cancellation waits for the line.
void log_for_libfuse(fuse_log_level level, const char* format, va_list arguments) noexcept {
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string_view text(line);
  while (text.ends_with('\n')) text.remove_suffix(1);
  int previous = PTHREAD_CANCEL_ENABLE;
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &previous);
  log::line(level <= FUSE_LOG_ERR ? log::Level::kError : log::Level::kDebug, "libfuse: {}", text);
  ::pthread_setcancelstate(previous, nullptr);
}

unsigned worker_count(unsigned wanted) {
  // No worker waits for the network, so a second one for each processor only adds wake-ups: four
  // served 16 cold random readers on two processors 12 % slower than two. More than 16 gained
  // nothing.
  if (wanted != 0) return wanted;
  return std::clamp(std::thread::hardware_concurrency(), 2U, 16U);
}

// A comma would end the option's value; libfuse takes "\," for one.
std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == ',' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

std::string options_for_libfuse(const MountContext& context, const Session::Options& options) {
  std::string list = context.any(&vfs::FileSystem::is_writable) ? "rw" : "ro";
  list += ",default_permissions,subtype=s3rdma,fsname=" + escaped(options.source);
  if (options.over_ring) list += fmt::format(",io_uring,io_uring_q_depth={}", ring_depth());
  if (options.allow_other) list += ",allow_other";
  if (!options.kernel_options.empty()) list += "," + options.kernel_options;
  return list;
}

fuse_session* new_session(MountContext& context, const std::string& mount_options) {
  std::array<std::string, 3> words = {"s3rdmafs", "-o", mount_options};
  std::array<char*, 3> pointers = {words[0].data(), words[1].data(), words[2].data()};
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  const fuse_lowlevel_ops operations = table_with_status_files();
  fuse_session* const session = fuse_session_new(&args, &operations, sizeof(operations), &context);
  fuse_opt_free_args(&args);
  return session;
}

Result<void> attach(fuse_session& session, const std::string& mount_point) {
  if (fuse_session_mount(&session, mount_point.c_str()) == 0) return {};
  // For users other than root fusermount3 mounts; it prints its reason, and errno does not say.
  return fail(ErrorCode::kSystem,
              "mounting on " + mount_point + " failed: " +
                  (::geteuid() == 0 ? std::strerror(errno)
                                    : "fusermount3 says why above, or is not installed"));
}

}  // namespace

void Session::Destroy::operator()(fuse_session* session) const {
  fuse_remove_signal_handlers(session);
  fuse_session_unmount(session);
  fuse_session_destroy(session);
}

Result<std::unique_ptr<Session>> Session::mount(MountContext& context, const Options& options) {
  fuse_set_log_func(log_for_libfuse);
  const std::string mount_options = options_for_libfuse(context, options);
  std::unique_ptr<fuse_session, Destroy> session(new_session(context, mount_options));
  if (!session) {
    return fail(ErrorCode::kInvalidArgument, "libfuse refuses the mount options " + mount_options);
  }
  context.over_ring = options.over_ring;
  context.session = session.get();
  if (auto attached = attach(*session, options.mount_point); !attached) {
    return std::unexpected(attached.error());
  }
  if (fuse_set_signal_handlers(session.get()) != 0) {
    return fail(ErrorCode::kSystem, "installing signal handlers failed");
  }
  return std::unique_ptr<Session>(new Session(std::move(session), worker_count(options.threads)));
}

Session::~Session() = default;

void Session::serve() {
  const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(
      fuse_loop_cfg_create(), fuse_loop_cfg_destroy);
  fuse_loop_cfg_set_clone_fd(config.get(), 1);
  fuse_loop_cfg_set_max_threads(config.get(), threads_);
  fuse_loop_cfg_set_idle_threads(config.get(), threads_);  // workers do not come and go under load
  const int result = fuse_session_loop_mt(session_.get(), config.get());
  if (result < 0) log::error("fuse: the session ended: {}", std::strerror(-result));
}

void Session::stop() { fuse_session_exit(session_.get()); }

// libfuse reports this too, but without advice.
Result<void> check_fuse_device() {
  const UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device) return {};
  const int saved_errno = errno;
  const std::string reason = std::string("/dev/fuse: ") + std::strerror(saved_errno);
  if (saved_errno == EACCES || saved_errno == EPERM) {
    return fail_with_advice(ErrorCode::kAccessDenied, reason,
                            "run as root, or give this user the right to open /dev/fuse");
  }
  return fail_with_advice(ErrorCode::kUnsupported, reason,
                          "load the kernel's FUSE (modprobe fuse), or in a container pass the "
                          "device in (--device /dev/fuse)");
}

}  // namespace s3rdmafs::fuse
