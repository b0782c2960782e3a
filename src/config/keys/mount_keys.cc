// SPDX-License-Identifier: Apache-2.0
// The keys of [http], [retry], [metadata], [mount], [log] and [metrics].
#include <limits>

#include "config/keys/keys.h"
#include "config/text_checks.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

constexpr Names<OpenCheck> kOpenChecks[] = {{"always", OpenCheck::kAlways},
                                            {"ttl", OpenCheck::kTtl}};
constexpr Names<PosixMetadata> kPosixMetadata[] = {
    {"off", PosixMetadata::kOff}, {"read", PosixMetadata::kRead}, {"write", PosixMetadata::kWrite}};
constexpr Names<Transport> kTransports[] = {
    {"auto", Transport::kAuto}, {"dev", Transport::kDev}, {"uring", Transport::kUring}};

constexpr Names<LogFormat> kLogFormats[] = {
    {"text", LogFormat::kText}, {"json", LogFormat::kJson}, {"journald", LogFormat::kJournald}};

std::string mounting_user(const Environment& environment) {
  return std::to_string(environment.uid);
}
std::string mounting_group(const Environment& environment) {
  return std::to_string(environment.gid);
}
std::string true_for_root(const Environment& environment) {
  return environment.is_root ? "true" : "false";
}

// load.cc replaces these where other keys say so.
std::string read_only_files(const Environment&) { return "0444"; }
std::string read_only_directories(const Environment&) { return "0555"; }

std::string open_by_ttl(const Environment&) { return "ttl"; }
std::string negative_of_readers(const Environment&) { return "1s"; }

// (uid_t)-1 means "no change" to chown(2), so no user has it.
constexpr unsigned kIdMax = std::numeric_limits<unsigned>::max() - 1;

// Longer than a day is a typing error for every wait and lifetime in this file.
constexpr milliseconds kDay = 24h;

constexpr Key kMountKeys[] = {
    // Two: one thread copies HTTP bodies at 2 to 3 GB/s, and RDMA needs hardly any of it.
    {"http", "event_threads",
     Integer{[](MountConfig& c) -> auto& { return c.http.event_threads; }, 1, 64}, Default{"2"},
     "Threads that run connections."},
    // 64: enough requests in flight for 4 MiB parts at 10 ms each to fill 25 GB/s. 4096 stays below
    // the usual limits on open files.
    {"http", "connections_max",
     Integer{[](MountConfig& c) -> auto& { return c.http.connections_max; }, 1, 4096},
     Default{"64"}, "Connections to the server, over all threads."},
    // Three lost SYN packets (1 s + 2 s + 4 s, RFC 6298) are more than a working network loses.
    {"http", "connect_timeout",
     Duration{[](MountConfig& c) -> auto& { return c.http.connect_timeout; }, kTimeoutMin,
              kTimeoutMax},
     Default{"5s"}, "How long a connection may take to come about."},
    // Shorter than retry.deadline, so that one silent server leaves time for a second attempt.
    {"http", "request_timeout",
     Duration{[](MountConfig& c) -> auto& { return c.http.request_timeout; }, kTimeoutMin,
              kTimeoutMax},
     Default{"20s"}, "How long one attempt may take, first byte sent to last received."},

    // With the back-offs below, five attempts span most of a second of 503 answers. A server that
    // cannot be reached is waited for until the deadline (s3/exchanges/retry_policy.h).
    {"retry", "attempts_max",
     Integer{[](MountConfig& c) -> auto& { return c.retry.attempts_max; }, 1, 100}, Default{"5"},
     "Attempts at one operation, the first included, that the server answers or keeps silent on."},
    // About the time in which a restarted connection or another server thread is there.
    {"retry", "backoff_first",
     Duration{[](MountConfig& c) -> auto& { return c.retry.backoff_first; }, 1ms, 60s},
     Default{"50ms"},
     "Pause before the second attempt; it doubles from one attempt to the next, with jitter."},
    {"retry", "backoff_max",
     Duration{[](MountConfig& c) -> auto& { return c.retry.backoff_max; }, 1ms, 300s},
     Default{"5s"}, "The longest pause between two attempts."},
    // As long as a job may stand still over one read before it is better told.
    {"retry", "deadline",
     Duration{[](MountConfig& c) -> auto& { return c.retry.deadline; }, kTimeoutMin, kTimeoutMax},
     Default{"30s"}, "A whole operation with all its attempts ends by then; a read gives EIO."},

    // Training data seldom changes; ten seconds is usual for network file systems.
    {"metadata", "ttl", Duration{[](MountConfig& c) -> auto& { return c.metadata.ttl; }, 0ms, kDay},
     Default{"10s"}, "How long a name and its attributes may be reused; 0s asks every time."},
    // Nodes that write also wait for each other's files. An open then costs one request that a
    // reader of data sets, which no job changes, need not pay.
    {"metadata", "open",
     Choice<OpenCheck>{[](MountConfig& c) -> auto& { return c.metadata.open; }, kOpenChecks},
     Default{"ttl, or always if the mount may write", open_by_ttl},
     "When open asks the server which version a name has: always, or after metadata.ttl."},
    // Off: listings have no user metadata, so that `ls -l` would cost a HeadObject for each file
    // instead of one request for a thousand.
    {"metadata", "posix",
     Choice<PosixMetadata>{[](MountConfig& c) -> auto& { return c.metadata.posix; },
                           kPosixMetadata},
     Default{"off"}, "Whether modes, owners, times and symbolic links are user metadata."},
    // Short: a job that waits for a file to appear should see it soon.
    {"metadata", "negative_ttl",
     Duration{[](MountConfig& c) -> auto& { return c.metadata.negative_ttl; }, 0ms, kDay},
     Default{"1s, or 0s if metadata.open is always", negative_of_readers},
     "How long \"no such name\" may be reused."},
    // Some eight million names in directories that are open at the same time.
    {"metadata", "listing_memory",
     Size{[](MountConfig& c) -> auto& { return c.metadata.listing_bytes_max; }, kMiB, 16 * kTiB, 1},
     Default{"512MiB"}, "Memory for the listings of open directories, about 60 bytes a name."},
    // None: only for data sets that do not change, which only their owner knows.
    {"metadata", "manifest",
     Text{[](MountConfig& c) -> auto& { return c.metadata.manifest; }, check_path}, Default{""},
     "File of `s3rdmafs manifest` that all names come from; empty: the server is asked."},

    {"mount", "point", Text{[](MountConfig& c) -> auto& { return c.mount.point; }, check_path},
     Default{""}, "Where to mount; empty: the command line says."},
    {"mount", "uid", Integer{[](MountConfig& c) -> auto& { return c.mount.uid; }, 0, kIdMax},
     Default{"the mounting user", mounting_user}, "Owner of every file and directory."},
    {"mount", "gid", Integer{[](MountConfig& c) -> auto& { return c.mount.gid; }, 0, kIdMax},
     Default{"the mounting user's group", mounting_group}, "Group of every file and directory."},
    // Readable by all; writable by the owner where the mount may write.
    {"mount", "file_mode", Mode{[](MountConfig& c) -> auto& { return c.mount.file_mode; }},
     Default{"0444, or 0644 if the mount may write", read_only_files},
     "Permission bits of files, in octal."},
    {"mount", "directory_mode",
     Mode{[](MountConfig& c) -> auto& { return c.mount.directory_mode; }},
     Default{"0555, or 0755 if the mount may write", read_only_directories},
     "Permission bits of directories, in octal."},
    // A mount by root is for all users; others need user_allow_other in /etc/fuse.conf, so they
    // must ask.
    {"mount", "allow_other", Boolean{[](MountConfig& c) -> auto& { return c.mount.allow_other; }},
     Default{"true for root, else false", true_for_root},
     "Whether users other than the mounting one may enter."},
    // Workers never wait for the network, so more than the processors are of no use; 256 is a bound
    // for typing errors.
    {"mount", "threads", Integer{[](MountConfig& c) -> auto& { return c.mount.threads; }, 0, 256},
     Default{"0"}, "FUSE workers; 0: chosen from the number of processors."},
    // tools/bench/MEASUREMENTS.md has the numbers that "auto" goes by.
    {"mount", "transport",
     Choice<Transport>{[](MountConfig& c) -> auto& { return c.mount.transport; }, kTransports},
     Default{"auto"}, "How requests reach the daemon: /dev/fuse or io_uring."},

    {"log", "level", Text{[](MountConfig& c) -> auto& { return c.log.level; }, check_log_level},
     Default{"info"}, "The least important lines to log: trace, debug, info, warn or error."},
    {"log", "file", Text{[](MountConfig& c) -> auto& { return c.log.file; }, check_path},
     Default{""}, "Where a mount in the background logs to; empty: syslog."},
    {"log", "format",
     Choice<LogFormat>{[](MountConfig& c) -> auto& { return c.log.format; }, kLogFormats},
     Default{"text"}, "How lines look: text, JSON, or fields of systemd's journal."},

    // Off: a user who can connect learns names of servers and buckets, and how much is read.
    {"metrics", "listen",
     Text{[](MountConfig& c) -> auto& { return c.metrics.listen; }, check_listen_address},
     Default{""}, "Where the counters can be scraped over HTTP; empty: nowhere."},
    // The group reads and writes: connect(2) to a UNIX socket asks for the right to write.
    {"metrics", "mode", Mode{[](MountConfig& c) -> auto& { return c.metrics.mode; }},
     Default{"0660"}, "Permission bits of metrics.listen's UNIX socket, in octal."},
    {"metrics", "group", Text{[](MountConfig& c) -> auto& { return c.metrics.group; }, any_text},
     Default{""}, "Group of metrics.listen's UNIX socket; empty: the mounting user's."},
};

}  // namespace

std::span<const Key> mount_keys() noexcept { return kMountKeys; }

}  // namespace s3rdmafs::config
