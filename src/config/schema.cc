// SPDX-License-Identifier: Apache-2.0
// The one table of the mount file's keys. A default or a bound stands here and nowhere else, with
// its reason; s3rdmafs.toml(5) is tested against it.
#include "config/schema.h"

#include <algorithm>
#include <limits>

#include "config/file_globs.h"
#include "config/text_checks.h"
#include "s3rdmafs/base/transfer_sizes.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

using std::chrono::milliseconds;
using namespace std::chrono_literals;

template <class T>
using Names = std::pair<std::string_view, T>;

constexpr Names<RdmaMode> kRdmaModes[] = {
    {"prefer", RdmaMode::kPrefer}, {"require", RdmaMode::kRequire}, {"off", RdmaMode::kOff}};
constexpr Names<ByteCount> kByteCounts[] = {{"require", ByteCount::kRequire},
                                            {"optional", ByteCount::kOptional}};
constexpr Names<Verify> kVerifies[] = {
    {"off", Verify::kOff}, {"sample", Verify::kSample}, {"always", Verify::kAlways}};
constexpr Names<FabricChoice> kFabrics[] = {{"auto", FabricChoice::kAuto},
                                            {"shm", FabricChoice::kShm},
                                            {"rc", FabricChoice::kRc},
                                            {"dc", FabricChoice::kDc}};
constexpr Names<DcTokenForm> kTokenForms[] = {
    {"81", DcTokenForm::k81}, {"115", DcTokenForm::k115}, {"base64", DcTokenForm::kBase64}};
constexpr Names<CacheLock> kCacheLocks[] = {
    {"off", CacheLock::kOff}, {"try", CacheLock::kTry}, {"require", CacheLock::kRequire}};
constexpr Names<WriteMode> kWriteModes[] = {{"off", WriteMode::kOff},
                                            {"sequential", WriteMode::kSequential},
                                            {"staged", WriteMode::kStaged}};
constexpr Names<OpenCheck> kOpenChecks[] = {{"always", OpenCheck::kAlways},
                                            {"ttl", OpenCheck::kTtl}};
constexpr Names<PosixMetadata> kPosixMetadata[] = {
    {"off", PosixMetadata::kOff}, {"read", PosixMetadata::kRead}, {"write", PosixMetadata::kWrite}};
constexpr Names<ReadMode> kReadModes[] = {
    {"auto", ReadMode::kAuto}, {"direct", ReadMode::kDirect}, {"buffered", ReadMode::kBuffered}};
constexpr Names<Transport> kTransports[] = {
    {"auto", Transport::kAuto}, {"dev", Transport::kDev}, {"uring", Transport::kUring}};
constexpr Names<AddressingStyle> kAddressingStyles[] = {
    {"path", AddressingStyle::kPath}, {"virtual-host", AddressingStyle::kVirtualHost}};
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

std::string verify_nothing(const Environment&) { return "off"; }
std::string open_by_ttl(const Environment&) { return "ttl"; }
std::string negative_of_readers(const Environment&) { return "1s"; }

// (uid_t)-1 means "no change" to chown(2), so no user has it.
constexpr unsigned kIdMax = std::numeric_limits<unsigned>::max() - 1;

// Longer than a day is a typing error for every wait and lifetime in this file.
constexpr milliseconds kDay = 24h;

// Bounds of time-outs: below 100 ms a busy server on a good network misses them; above an hour no
// job waits for a read.
constexpr milliseconds kTimeoutMin = 100ms;
constexpr milliseconds kTimeoutMax = 1h;

constexpr Key kKeys[] = {
    {"bucket",
     "name",
     Text{[](MountConfig& c) -> auto& { return c.bucket.name; }, check_bucket_name},
     {},
     "The bucket to mount."},
    // Empty: most mounts are of a whole bucket.
    {"bucket", "prefix",
     Text{[](MountConfig& c) -> auto& { return c.bucket.prefix; }, check_prefix}, Default{""},
     "Only keys that begin with this show, without it; a missing last \"/\" is added."},

    {"endpoint", "url",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.url; }, check_only_endpoint_url},
     Default{""}, "The S3 server: scheme, host and optional port."},
    // load.cc sees to it that one of the two is set. 256 storage servers are more than one client
    // has a use for, so that many is a typing error.
    {"endpoint", "urls",
     TextList{[](MountConfig& c) -> auto& { return c.endpoint.urls; }, check_endpoint_url, 256},
     Default{""}, "Instead of url: several servers of the same store, which share the requests."},
    // On: at most one read in fifty is asked for again (s3/endpoints/hedge_policy.h).
    {"endpoint", "hedge", Boolean{[](MountConfig& c) -> auto& { return c.endpoint.hedge; }},
     Default{"true"}, "Whether a read that one of several servers is slow with goes to another."},
    // Servers other than Amazon's take this one if they take only one.
    {"endpoint", "region",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.region; }, check_region},
     Default{"us-east-1"}, "The region that requests are signed for."},
    // Works without wildcard names in the DNS, which on-premises servers seldom have.
    {"endpoint", "addressing",
     Choice<AddressingStyle>{[](MountConfig& c) -> auto& { return c.endpoint.addressing; },
                             kAddressingStyles},
     Default{"path"}, "Whether the bucket's name goes into the path or in front of the host."},
    {"endpoint", "ca_file",
     Text{[](MountConfig& c) -> auto& { return c.endpoint.ca_file; }, check_path}, Default{""},
     "PEM file with the certificates to trust; empty: the system's."},

    {"credentials", "anonymous",
     Boolean{[](MountConfig& c) -> auto& { return c.credentials.anonymous; }}, Default{"false"},
     "Send unsigned requests, for buckets that anyone may read."},
    {"credentials", "access_key_id",
     Text{[](MountConfig& c) -> auto& { return c.credentials.access_key_id; }, check_header_text},
     Default{""}, "Access key; needs secret_access_key beside it."},
    {"credentials", "secret_access_key",
     Text{[](MountConfig& c) -> auto& { return c.credentials.secret_access_key; },
          check_header_text},
     Default{""}, "Secret key; keep the file readable by its owner only.", true},
    {"credentials", "session_token",
     Text{[](MountConfig& c) -> auto& { return c.credentials.session_token; }, check_header_text},
     Default{""}, "Token of temporary credentials.", true},
    {"credentials", "file",
     Text{[](MountConfig& c) -> auto& { return c.credentials.file; }, check_path}, Default{""},
     "AWS shared credentials file to read the keys from."},
    // Empty rather than "default", so that AWS_PROFILE has its say where no file is named.
    {"credentials", "profile",
     Text{[](MountConfig& c) -> auto& { return c.credentials.profile; }, any_text}, Default{""},
     "Section of the credentials file; empty: AWS_PROFILE, else \"default\"."},

    // The promise of README.md: where RDMA cannot serve, the mount goes on over HTTP and says so.
    {"rdma", "mode",
     Choice<RdmaMode>{[](MountConfig& c) -> auto& { return c.rdma.mode; }, kRdmaModes},
     Default{"prefer"}, "Whether bulk bytes should, must or must not go by RDMA token."},
    {"rdma", "fabric",
     Choice<FabricChoice>{[](MountConfig& c) -> auto& { return c.rdma.fabric; }, kFabrics},
     Default{"auto"}, "The fabric that makes the tokens; \"auto\" takes one that works here."},
    // Below about this size the token's headers and registration cost what they save. Above a slab
    // no transfer could reach it: that would be rdma.mode = "off" in disguise.
    {"rdma", "threshold",
     SizeOrAuto{[](MountConfig& c) -> auto& { return c.rdma.threshold_bytes; }, 0, kSlabBytes},
     Default{"auto"}, "Smaller transfers go by HTTP; 0: all by RDMA; \"auto\": measured."},

    // The names that most servers have; Dell's is x-rdma-info, Scality's x-scal-rdma.
    {"rdma", "token_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.token_header; }, check_header_name},
     Default{"x-amz-rdma-token"}, "The request header that carries the token."},
    {"rdma", "reply_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.reply_header; }, check_header_name},
     Default{"x-amz-rdma-reply"},
     "The answer's header that tells how the transfer by token ended."},
    {"rdma", "bytes_header",
     Text{[](MountConfig& c) -> auto& { return c.rdma.bytes_header; }, check_header_name},
     Default{"x-amz-rdma-bytes-transferred"}, "The answer's header with the count of bytes."},
    // Without the count a read that the server cut short cannot be told from a whole one.
    {"rdma", "byte_count",
     Choice<ByteCount>{[](MountConfig& c) -> auto& { return c.rdma.byte_count; }, kByteCounts},
     Default{"require"}, "Whether a read by RDMA is good only with a count of its bytes."},
    // Less than half of retry.deadline, so that a read whose transfer is stuck has time for a
    // second attempt; 1 GiB, the longest transfer, takes a tenth of it at 10 Gb/s.
    {"rdma", "transfer_timeout",
     Duration{[](MountConfig& c) -> auto& { return c.rdma.transfer_timeout; }, kTimeoutMin,
              kTimeoutMax},
     Default{"10s"}, "How long one attempt with a token may take."},
    // It doubles what the server sends; s3rdmafs doctor compares bytes once. The dc fabric gets no
    // completion for what a server writes, so there some of it is compared; load.cc says so.
    {"rdma", "verify",
     Choice<Verify>{[](MountConfig& c) -> auto& { return c.rdma.verify; }, kVerifies},
     Default{"off, or sample with the dc fabric", verify_nothing},
     "Which transfers by RDMA are compared with the server's object."},

    {"rdma", "shm_socket",
     Text{[](MountConfig& c) -> auto& { return c.rdma.shm_socket; }, check_socket}, Default{"auto"},
     "The server's socket for the shm fabric; \"auto\" derives it from the endpoint."},

    // The default of every server's library (s3rdmafs-protocol(7)). A key and a token together open
    // the cache's memory, so any other key is a secret.
    {"rdma", "dc_key", HexKey{[](MountConfig& c) -> auto& { return c.rdma.dc_key; }},
     Default{"0xffeeddcc"}, "Access key of the dc fabric; the servers must have the same.", true},
    // The only form that all present servers take.
    {"rdma", "token_form",
     Choice<DcTokenForm>{[](MountConfig& c) -> auto& { return c.rdma.token_form; }, kTokenForms},
     Default{"81"},
     "How the dc fabric writes its tokens; \"115\" and \"base64\" for older servers."},
    // Every active port of every ConnectX: a node with several is built to use them together.
    {"rdma", "rails", Text{[](MountConfig& c) -> auto& { return c.rdma.rails; }, check_rails},
     Default{"auto"}, "RDMA ports to use: dc takes all of them, rc the first; \"auto\" chooses."},
    // The kernel's table has an entry for each address and RoCE version; the route tells which.
    {"rdma", "gid_index",
     Text{[](MountConfig& c) -> auto& { return c.rdma.gid_index; }, check_gid_index},
     Default{"auto"},
     "Entry of the port's GID table to use; \"auto\" chooses, \"none\": on InfiniBand the LID "
     "alone."},
    // Unmarked packets are the safe choice on a network of which nothing is known.
    // A lossless RoCE network has a class of its own (cuObject's servers mark theirs with 96).
    {"rdma", "traffic_class",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.traffic_class; }, 0, 255}, Default{"0"},
     "Traffic class of the packets that our NIC sends: DSCP times 4, and ECN."},
    {"rdma", "service_level",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.service_level; }, 0, 15}, Default{"0"},
     "Service level of the packets that our NIC sends; on RoCE the priority, up to 7."},
    // As many as http.connections_max, since each request in flight needs one. Servers of this
    // dialect have 1024 for all their clients (s3rdmafs-protocol(7)).
    {"rdma", "sessions_max",
     Integer{[](MountConfig& c) -> auto& { return c.rdma.sessions_max; }, 1, 1024}, Default{"64"},
     "Most sessions of the rc fabric, one for each transfer under way."},
    // A server with a port on each network answers by the one that it was asked over.
    {"rdma", "bind_source", Boolean{[](MountConfig& c) -> auto& { return c.rdma.bind_source; }},
     Default{"true"},
     "Whether a request is sent from the address of the rail that its token names."},

    // A gibibyte holds read-ahead for a dozen streams and fits on any machine that trains.
    // At least 8 slabs, so that one reader's window and the blocks of a few others fit at once;
    // 16 TiB is more memory than a machine has, so it is a typing error.
    {"cache", "size",
     Size{[](MountConfig& c) -> auto& { return c.cache.size_bytes; }, kBlocksBytesMin, 16 * kTiB,
          kSlabBytes},
     Default{"1GiB"}, "Registered memory, taken at mount and never exceeded; a multiple of 8MiB."},

    // A cache that is swapped out is slower than none, but most users may lock only 8 MiB, and the
    // shm fabric and HTTP work without.
    {"cache", "lock",
     Choice<CacheLock>{[](MountConfig& c) -> auto& { return c.cache.lock; }, kCacheLocks},
     Default{"try"}, "Whether the cache must be locked in memory (never swapped)."},

    // Half: data sets of shards of some MiB are read whole, and all else still has as much.
    {"cache", "resident_size",
     SizeOrAuto{[](MountConfig& c) -> auto& { return c.cache.resident_bytes; }, 0, 16 * kTiB},
     Default{"auto"}, "The share of cache.size for whole objects; \"auto\": half, where of use."},
    // 64 MiB come in 5 ms at 100 Gb/s: an open may take that long.
    {"cache", "passthrough_max",
     Size{[](MountConfig& c) -> auto& { return c.cache.passthrough_max_bytes; }, 0, 16 * kTiB, 1},
     Default{"64MiB"}, "The largest object that is fetched whole when it is opened; 0: none."},

    // Off: only the administrator knows which disk is local, fast and has room.
    {"disk", "path", Text{[](MountConfig& c) -> auto& { return c.disk.path; }, check_path},
     Default{""}, "Folder for a cache on a local disk, of this mount's own; empty: none."},
    // Many times the memory cache, and there on any disk that is worth it. 64 MiB: eight segments
    // of chunks; 1 PiB is more than a machine has, so it is a typing error.
    {"disk", "size",
     Size{[](MountConfig& c) -> auto& { return c.disk.size_bytes; }, 64 * kMiB, 1024 * kTiB, 1},
     Default{"64GiB"}, "The size of all files of the disk cache, never exceeded."},
    // Enough for logs and core dumps of the machine it is on.
    {"disk", "reserve",
     Size{[](MountConfig& c) -> auto& { return c.disk.reserve_bytes; }, 0, 1024 * kTiB, 1},
     Default{"10GiB"}, "Room that the disk cache leaves free on its file system."},

    // Training must not be able to damage its data set; a mount for checkpoints sets it.
    {"write", "mode",
     Choice<WriteMode>{[](MountConfig& c) -> auto& { return c.write.mode; }, kWriteModes},
     Default{"off"},
     "Changes that the mount may make: none, files written from start to end, or at any place."},
    // 8 MiB: above S3's least part (5 MiB), and long enough that a request costs next to nothing.
    // 1 GiB parts hold the largest object there is, so more is a typing error. A multiple of a huge
    // page, so that no two parts share one.
    {"write", "part_size",
     Size{[](MountConfig& c) -> auto& { return c.write.part_bytes; }, 8 * kMiB, kGiB, 2 * kMiB},
     Default{"8MiB"}, "Bytes of an object's first parts; after each 500 parts they double."},
    // 32 parts of the first size: 8 writers with one filling and three on their way each.
    {"write", "buffer_size",
     Size{[](MountConfig& c) -> auto& { return c.write.buffer_bytes; }, 16 * kMiB, 16 * kTiB,
          2 * kMiB},
     Default{"256MiB"}, "Registered memory for parts, taken at mount if it may write."},
    // Four requests of 8 MiB keep a 25 GB/s link busy through 1 ms of latency each; a bound of 64
    // is what http.connections_max allows by default.
    {"write", "parallel_parts",
     Integer{[](MountConfig& c) -> auto& { return c.write.parallel_parts; }, 1, 64}, Default{"4"},
     "Parts of one object that travel at once."},
    // A copy and a removal for each key, 32 at a time: 100,000 take minutes, for which the program
    // waits. A million keys take 300 MB of memory while they move.
    {"write", "rename_max_keys",
     Integer{[](MountConfig& c) -> auto& { return c.write.rename_keys_max; }, 0, 1'000'000},
     Default{"100000"}, "The most keys below a directory that rename(2) moves; 0: none."},
    // "auto" is memory (a tmpfs): writes then go at its speed, and a killed daemon loses nothing.
    {"write", "staging_dir",
     Text{[](MountConfig& c) -> auto& { return c.write.staging_dir; }, check_folder},
     Default{"auto"},
     "Folder of staging files, of this mount's own; \"auto\": in memory, or a user's home."},
    // A rank's checkpoint or a working tree of source code; taken only while files are changed.
    // Below 64 MiB one large write would wait for the next; 1 PiB is more than a machine has.
    {"write", "staging_size",
     Size{[](MountConfig& c) -> auto& { return c.write.staging_bytes; }, 64 * kMiB, 1024 * kTiB, 1},
     Default{"8GiB"}, "Room that all staging files may take together, never exceeded."},
    // It has to outlive a reboot, for what the next mount cleans up.
    {"write", "state_dir",
     Text{[](MountConfig& c) -> auto& { return c.write.state_dir; }, check_folder}, Default{"auto"},
     "Folder of journals, of this mount's own; \"auto\": the system's or the user's state folder."},

    // tools/bench/MEASUREMENTS.md has the numbers that "auto" goes by.
    {"read", "mode",
     Choice<ReadMode>{[](MountConfig& c) -> auto& { return c.read.mode; }, kReadModes},
     Default{"auto"}, "Whether reads go through the kernel's page cache or past it."},
    // Their own library maps them, and often one process a GPU does so at once. Each mmap(2) of a
    // direct file empties the page cache of it: 8 processes read 1.4 to 1.7 times its
    // size (November 2026).
    {"read", "buffered", Text{[](MountConfig& c) -> auto& { return c.read.buffered; }, check_globs},
     Default{"*.safetensors"}, "Patterns of files that are always read through the page cache."},
    {"read", "direct", Text{[](MountConfig& c) -> auto& { return c.read.direct; }, check_globs},
     Default{""}, "Patterns of files that are always read past the page cache."},

    // 64 MiB is 10 ms of a 6 GB/s reader: it covers a server that takes that long to answer.
    {"read_ahead", "window_max",
     Size{[](MountConfig& c) -> auto& { return c.read_ahead.window_max_bytes; }, 0, 16 * kTiB, 1},
     Default{"64MiB"}, "How far ahead of one reader to fetch, at most; 0 switches read-ahead off."},

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
};

}  // namespace

std::string Key::full_name() const { return std::string(section) + "." + std::string(name); }

std::string Key::variable_name() const {
  std::string result = "S3RDMAFS_" + std::string(section) + "_" + std::string(name);
  std::ranges::transform(result, result.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return result;
}

std::span<const Key> schema() noexcept { return kKeys; }

const Key* find_key(std::string_view section, std::string_view name) noexcept {
  const auto* const found = std::ranges::find_if(
      kKeys, [&](const Key& key) { return key.section == section && key.name == name; });
  return found == std::end(kKeys) ? nullptr : found;
}

}  // namespace s3rdmafs::config
