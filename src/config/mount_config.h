// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/connection_options.h"
#include "s3rdmafs/base/log_setup.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {

/// Whether bulk bytes may, should or must go by RDMA token.
enum class RdmaMode {
  kRequire,  ///< a read that cannot use RDMA fails
  kPrefer,   ///< RDMA where it works, HTTP elsewhere, counted and logged
  kOff,      ///< HTTP only
};

/// Whether success by RDMA needs the count of bytes.
enum class ByteCount {
  kRequire,
  kOptional,  ///< not where the answer is otherwise beyond doubt
};

/// Which reads by RDMA are compared with what the server has.
enum class Verify { kOff, kSample, kAlways };

/// Which fabric makes the tokens.
enum class FabricChoice {
  kAuto,  ///< `shm` to a server on this host, else `rc` if a device's port leads to the server
  kShm,
  kRc,
  kDc,
};

/// How the `dc` fabric writes its tokens (rdma/mlx5/dc_token.h).
enum class DcTokenForm {
  k81,      ///< cuObject's 81 characters
  k115,     ///< with the window once more after them: older servers
  kBase64,  ///< the 81 characters in base64
};

/// Whether the cache's memory must stay in memory.
enum class CacheLock {
  kOff,
  kTry,      ///< locked where the limit allows it
  kRequire,  ///< the mount fails where it does not
};

/// The use of POSIX attributes in user metadata (s3fs's names).
enum class PosixMetadata {
  kOff,
  kRead,   ///< they show
  kWrite,  ///< they show, and changes are kept
};

/// When open(2) asks the server which version a name stands for.
enum class OpenCheck {
  kAlways,  ///< each time: close-to-open between mounts
  kTtl,     ///< where what is known is older than the ttl
};

/// How the server encrypts what the mount stores, by the names that S3's documents have.
enum class Encryption {
  kBucket,  ///< as the bucket's own settings say
  kSseS3,   ///< with keys of the server
  kSseKms,  ///< with a key of the server's key service
  kSseC,    ///< with a key that each request brings, and that each read needs
};

/// The changes that the mount may make in the bucket.
enum class WriteMode {
  kOff,         ///< nothing: a read-only mount
  kSequential,  ///< files from start to end, unlink, mkdir, rmdir
  kStaged,      ///< files at any place, through a local staging file
};

/// How files are read that the kernel does not read for itself.
enum class ReadMode {
  kAuto,      ///< by size, and by what their readers did last
  kDirect,    ///< past the kernel's page cache
  kBuffered,  ///< through it
};

/// How the kernel's requests reach the daemon.
enum class Transport {
  kAuto,   ///< the better one of those that can be had
  kDev,    ///< by read(2) and write(2) on /dev/fuse
  kUring,  ///< over io_uring; the mount fails where it cannot be had
};

/// The part of cache.size that objects which are read by pieces always have: 8 slabs, so that a
/// few readers of large objects do not evict each other's blocks.
inline constexpr std::uint64_t kBlocksBytesMin = 64 * kMiB;

/// The purpose of a mount, which gives some keys other defaults (keys/mount_profiles.h).
enum class Profile { kNone, kTraining, kServing, kCheckpoint };

enum class AddressingStyle { kPath, kVirtualHost };

/// Everything one mount file says, checked and with defaults filled in. Plain value.
/// Every default and bound stands once, in config/keys, which the man page is tested against.
struct MountConfig {
  struct Bucket {
    std::string name;
    std::string prefix;  ///< empty, or ends in "/"
    bool requester_pays = false;
    std::string expected_owner = {};  ///< an account; empty: any
  } bucket;

  struct Endpoint {
    std::string url;                ///< scheme://host[:port], no path; or empty, and then
    std::vector<std::string> urls;  ///< the same for each server of one store
    bool hedge = true;              ///< whether a slow read is asked for again elsewhere
    std::string region;
    AddressingStyle addressing = AddressingStyle::kPath;
    net::ConnectionOptions connection = {};

    /// Every URL there is, by whichever key it was given.
    [[nodiscard]] std::vector<std::string> all_urls() const {
      return urls.empty() ? std::vector{url} : urls;
    }
  } endpoint;

  struct Credentials {
    bool anonymous = false;
    std::string access_key_id;
    std::string secret_access_key;
    std::string session_token;
    std::string file;     ///< AWS shared credentials file; empty: none named
    std::string profile;  ///< section in that file
    std::string sts_url;  ///< empty: of the environment, or Amazon's
  } credentials;

  struct EncryptionKeys {
    Encryption mode = Encryption::kBucket;
    std::string kms_key;       ///< empty: the service's default
    std::string customer_key;  ///< 32 bytes in base64; set if and only if mode is kSseC
  } encryption;

  struct Rdma {
    RdmaMode mode = RdmaMode::kPrefer;
    FabricChoice fabric = FabricChoice::kAuto;
    /// Smaller transfers go by HTTP; nothing: measured (s3/endpoints/path_model.h).
    std::optional<std::uint64_t> threshold_bytes = 0;
    std::string shm_socket;  ///< "auto", a path, or "@name" in the abstract name space

    std::string token_header = "x-amz-rdma-token";
    std::string reply_header = "x-amz-rdma-reply";
    std::string bytes_header = "x-amz-rdma-bytes-transferred";
    ByteCount byte_count = ByteCount::kRequire;
    std::chrono::milliseconds transfer_timeout{10'000};  ///< one attempt with a token
    Verify verify = Verify::kOff;

    std::uint64_t dc_key = 0;  ///< of DC targets: the servers must have the same
    DcTokenForm token_form = DcTokenForm::k81;
    std::string rails = {};  ///< "auto", or "name", "name:port" and addresses with commas between
    std::string gid_index = "auto";  ///< "auto", "none" or a number
    unsigned traffic_class = 0;      ///< of the GRH or IP header, 0 to 255
    unsigned service_level = 0;      ///< 0 to 15; on RoCE the priority
    unsigned sessions_max = 64;      ///< of the rc fabric
    bool bind_source = true;         ///< whether requests come from the address of their rail
  } rdma;

  struct Cache {
    std::uint64_t size_bytes = 0;  ///< registered memory, a multiple of a slab (8 MiB)
    CacheLock lock = CacheLock::kTry;
    /// Of size_bytes, for whole objects; nothing: chosen at mount (daemon/mount/object_memory.h).
    std::optional<std::uint64_t> resident_bytes;
    std::uint64_t passthrough_max_bytes = 0;  ///< the largest object fetched whole; 0: none
  } cache;

  /// A table of the array [[resident]]: objects to be made resident when the mount is ready.
  struct Resident {
    std::string glob;  ///< a path from the mount point on, or a pattern (config/path_glob.h)
  };
  std::vector<Resident> resident;

  struct Disk {
    std::string path;                 ///< a folder of this mount's own; empty: no disk tier
    std::uint64_t size_bytes = 0;     ///< what it may take, a hard limit
    std::uint64_t reserve_bytes = 0;  ///< what it leaves free on its file system
  } disk;

  struct Write {
    WriteMode mode = WriteMode::kOff;
    std::uint64_t part_bytes = 0;     ///< of the first parts of an object; later ones are larger
    std::uint64_t buffer_bytes = 0;   ///< registered memory for parts; at least two of them
    unsigned parallel_parts = 0;      ///< of one object
    unsigned rename_keys_max = 0;     ///< of a directory that is renamed
    std::string staging_dir = {};     ///< "auto" or a path: the folder of staging files
    std::uint64_t staging_bytes = 0;  ///< of all staging files together
    std::string state_dir = {};       ///< "auto" or a path: the folder of journals
    std::string storage_class = {};   ///< of what is stored; empty: the server's default
  } write;

  struct Read {
    ReadMode mode = ReadMode::kAuto;
    std::string buffered = {};  ///< patterns (config/file_globs.h) of files, whatever `mode` says
    std::string direct = {};    ///< the same; a file in both lists is buffered
  } read;

  struct ReadAhead {
    std::uint64_t window_max_bytes = 0;  ///< per stream; 0 switches read-ahead off
  } read_ahead;

  struct Http {
    unsigned event_threads = 0;
    unsigned connections_max = 0;  ///< in all, over every event thread
    std::chrono::milliseconds connect_timeout{};
    std::chrono::milliseconds request_timeout{};  ///< one attempt, first byte sent to last received
  } http;

  struct Retry {
    unsigned attempts_max = 0;  ///< the first one included
    std::chrono::milliseconds backoff_first{};
    std::chrono::milliseconds backoff_max{};
    std::chrono::milliseconds deadline{};  ///< a whole operation with all its attempts
  } retry;

  struct Metadata {
    std::chrono::milliseconds ttl{};           ///< how long a name's answer may be reused
    std::chrono::milliseconds negative_ttl{};  ///< the same for "no such name"
    std::uint64_t listing_bytes_max = 0;       ///< of all open directories together
    std::string manifest = {};  ///< file that names come from (manifest/); empty: the server
    OpenCheck open = OpenCheck::kTtl;
    PosixMetadata posix = PosixMetadata::kOff;
  } metadata;

  struct Mount {
    std::string point;  ///< empty: the command line must say
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t file_mode = 0;       ///< permission bits only
    mode_t directory_mode = 0;  ///< permission bits only
    bool allow_other = false;
    unsigned threads = 0;  ///< FUSE workers; 0: chosen from the processors
    Transport transport = Transport::kAuto;
  } mount;

  struct Log {
    std::string level;
    std::string file;  ///< of a mount in the background; empty: syslog
    LogFormat format = LogFormat::kText;
  } log;

  struct Metrics {
    std::string listen;  ///< "ADDRESS:PORT" or "unix:/PATH"; empty: nothing listens
    mode_t mode = 0;     ///< of the UNIX socket
    std::string group;   ///< of the UNIX socket; empty: the mounting user's
  } metrics;

  Profile profile = Profile::kNone;

  /// A table of the array [[bucket]]: a bucket that shows as a directory below the mount point.
  struct Directory {
    std::string name;  ///< one name: no "/", neither "." nor ".."
    /// The mount's settings with those of the table; it has no directories itself. Never null.
    std::shared_ptr<const MountConfig> config;
  };
  /// Empty: the mount shows one bucket, `bucket`. Else that and what a table may have of its own
  /// are not used but through these.
  std::vector<Directory> directories = {};
};

}  // namespace s3rdmafs::config
