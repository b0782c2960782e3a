// SPDX-License-Identifier: Apache-2.0
// The keys of [cache], [disk], [write], [read] and [read_ahead].
#include "config/file_globs.h"
#include "config/keys/keys.h"
#include "config/text_checks.h"
#include "s3rdmafs/base/transfer_sizes.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::config {
namespace {

constexpr Names<CacheLock> kCacheLocks[] = {
    {"off", CacheLock::kOff}, {"try", CacheLock::kTry}, {"require", CacheLock::kRequire}};
constexpr Names<WriteMode> kWriteModes[] = {{"off", WriteMode::kOff},
                                            {"sequential", WriteMode::kSequential},
                                            {"staged", WriteMode::kStaged}};
constexpr Names<ReadMode> kReadModes[] = {
    {"auto", ReadMode::kAuto}, {"direct", ReadMode::kDirect}, {"buffered", ReadMode::kBuffered}};

constexpr Key kFileKeys[] = {
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
    // The server's default is the only class that every server has.
    {"write", "storage_class",
     Text{[](MountConfig& c) -> auto& { return c.write.storage_class; }, check_storage_class},
     Default{""}, "Storage class of what is stored; empty: the server's default."},
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

    // 50 ms of a 5 GB/s reader: it covers a server that takes that long to answer. Less is fetched
    // where answers come sooner (cache/readahead/transfer_model.h).
    {"read_ahead", "window_max",
     Size{[](MountConfig& c) -> auto& { return c.read_ahead.window_max_bytes; }, 0, 16 * kTiB, 1},
     Default{"256MiB"},
     "How far ahead of one reader to fetch, at most; 0 switches read-ahead off."},
};

}  // namespace

std::span<const Key> file_keys() noexcept { return kFileKeys; }

}  // namespace s3rdmafs::config
