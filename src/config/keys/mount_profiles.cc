// SPDX-License-Identifier: Apache-2.0
// The key `profile`, and the defaults that each profile changes. None of them can contradict a key
// that a mount file is likely to set, so that a profile never makes a valid file invalid for its
// sizes.
#include "config/keys/mount_profiles.h"

#include <algorithm>

#include "config/keys/keys.h"

namespace s3rdmafs::config {
namespace {

constexpr Names<Profile> kProfiles[] = {{"none", Profile::kNone},
                                        {"training", Profile::kTraining},
                                        {"serving", Profile::kServing},
                                        {"checkpoint", Profile::kCheckpoint}};

// None: the defaults suit most mounts, and a profile is a promise about the data.
constexpr Key kTopLevelKeys[] = {
    {"", "profile", Choice<Profile>{[](MountConfig& c) -> auto& { return c.profile; }, kProfiles},
     Default{"none"}, "The purpose of the mount, which gives some keys other defaults."}};

constexpr ProfileLine kLines[] = {
    // Eight processes with eight workers each are 64 streams, and each has 64 MiB of read-ahead.
    {Profile::kTraining, "cache", "size", "4GiB"},
    // One request and one that reads ahead for each of them.
    {Profile::kTraining, "http", "connections_max", "128"},
    // A data set does not change while it is trained on; each epoch would ask for all names again.
    {Profile::kTraining, "metadata", "ttl", "10m"},
    // A job of days had better wait for a server that restarts than begin again.
    {Profile::kTraining, "retry", "deadline", "5m"},

    // Formats that programs map, often one process for each GPU: 8 of them read a direct file 1.4
    // to 1.7 times, and a
    // buffered one once (tools/bench/MEASUREMENTS.md).
    {Profile::kServing, "read", "buffered", "*.safetensors,*.gguf"},
    // A new model has a new name; a minute until a replaced one shows is soon enough.
    {Profile::kServing, "metadata", "ttl", "1m"},
    // A load balancer takes a replica that fails out; one that stands still keeps its requests.
    {Profile::kServing, "retry", "deadline", "10s"},
    // Less than half of it, so that there is time for a second attempt, at another server if there
    // is one.
    {Profile::kServing, "rdma", "transfer_timeout", "4s"},
    {Profile::kServing, "http", "request_timeout", "4s"},

    // Checkpoints are written from start to end, and may be larger than any staging folder.
    {Profile::kCheckpoint, "write", "mode", "sequential"},
    // Few ranks write, and a server that computes checksums answers a part late.
    {Profile::kCheckpoint, "write", "parallel_parts", "8"},
    // Eight ranks of a node, each with eight parts of 8 MiB on their way and one that fills.
    {Profile::kCheckpoint, "write", "buffer_size", "1GiB"},
    // A checkpoint that is lost costs more than the wait for a server that restarts.
    {Profile::kCheckpoint, "retry", "deadline", "5m"},
};

}  // namespace

std::span<const ProfileLine> profile_lines() noexcept { return kLines; }

std::string_view profile_name(Profile profile) noexcept {
  return std::ranges::find(kProfiles, profile, &Names<Profile>::second)->first;
}

std::span<const Key> top_level_keys() noexcept { return kTopLevelKeys; }

}  // namespace s3rdmafs::config
