// SPDX-License-Identifier: Apache-2.0
// FOLDER/staged/VOLUME             a record of a staged volume, with its secrets
// FOLDER/mounts/MOUNT/mount.toml   and other files that s3rdmafs reads
// FOLDER/mounts/MOUNT/point/       where it is mounted
// FOLDER/mounts/MOUNT/users/USER   a record of one pod's use
// KEEP/key                         of the names of mounts
// KEEP/journal/MOUNT               write.state_dir
// VOLUME and USER are digests, since what they stand for comes from outside.
#include "csi/node/node_state.h"

#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "csi/node/private_files.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::csi {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kNameDigits = 32;  // 128 bits
constexpr std::size_t kKeyBytes = 32;

std::string user_name(const std::string& volume, const std::string& target) {
  return hex_digest(volume + '\0' + target).substr(0, kNameDigits);
}

std::string record(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Nothing for a file that is not there, or is not a record: a version of the driver to come may
// write others.
std::optional<Json> read_record(const std::string& path) {
  const auto text = read_private_file(path);
  if (!text || !*text) return std::nullopt;
  Json json = Json::parse(**text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    log::warn("{} is not a record; it is ignored", path);
    return std::nullopt;
  }
  return json;
}

template <class Value>
Value value_in(const Json& json, const char* name, Value otherwise) {
  try {
    return json.value(name, otherwise);
  } catch (const Json::exception&) {
    return otherwise;
  }
}

std::optional<Reference> read_reference(const std::string& path) {
  const auto json = read_record(path);
  if (!json) return std::nullopt;
  return Reference{.volume = value_in(*json, "volume", std::string()),
                   .target = value_in(*json, "target", std::string()),
                   .digest = value_in(*json, "digest", std::string()),
                   .read_only = value_in(*json, "read_only", false)};
}

Result<void> remove_tree(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) return fail_errno("remove " + path, error.value());
  return {};
}

// A journal with something in it is for the next mount of the same name to finish.
bool has_records(const std::string& journal) {
  for (const std::string& name : names_in(journal)) {
    std::error_code error;
    if (name == "lock") continue;
    if (std::filesystem::file_size(fmt::format("{}/{}", journal, name), error) != 0 || error)
      return true;
  }
  return false;
}

Result<std::string> read_or_make_key(const std::string& path) {
  const auto known = read_private_file(path);
  if (!known) return std::unexpected(known.error());
  if (*known && (*known)->size() == kKeyBytes) return **known;
  std::string key(kKeyBytes, '\0');
  if (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
    return fail_errno("getrandom", errno);
  }
  if (auto written = replace_file(path, key); !written) return std::unexpected(written.error());
  return key;
}

}  // namespace

Result<NodeState> NodeState::open(const std::string& folder, const std::string& keep,
                                  const Clock& clock) {
  auto taken = journal::StateFolder::take(folder, "--state", clock);
  if (!taken) return std::unexpected(taken.error());
  auto kept = journal::StateFolder::take(keep, "--keep", clock);
  if (!kept) return std::unexpected(kept.error());
  for (const std::string& made : {folder + "/staged", folder + "/mounts", keep + "/journal"}) {
    if (auto done = make_folder(made); !done) return std::unexpected(done.error());
  }
  auto key = read_or_make_key(keep + "/key");
  if (!key) return std::unexpected(key.error());
  return NodeState(std::move(*taken), std::move(*kept), std::move(*key));
}

std::string NodeState::mount_name(const std::string& text) const {
  return hex_digest(text, key_).substr(0, kNameDigits);
}

MountPlaces NodeState::places(const std::string& mount) const {
  return {.folder = folder_.path() + "/mounts/" + mount,
          .journal = keep_.path() + "/journal/" + mount};
}

std::string NodeState::point(const std::string& mount) const {
  return places(mount).folder + "/point";
}

Result<void> NodeState::save(const StagedVolume& staged) const {
  return replace_file(
      folder_.path() + "/staged/" + hex_digest(staged.volume).substr(0, kNameDigits),
      record({{"volume", staged.volume},
              {"path", staged.path},
              {"mode", static_cast<int>(staged.mode)},
              {"mount_flags", staged.mount_flags},
              {"secrets", staged.secrets}}));
}

Result<std::optional<StagedVolume>> NodeState::staged(const std::string& volume) const {
  const auto json =
      read_record(folder_.path() + "/staged/" + hex_digest(volume).substr(0, kNameDigits));
  if (!json) return std::nullopt;
  return StagedVolume{.volume = volume,
                      .path = value_in(*json, "path", std::string()),
                      .mode = static_cast<AccessMode>(value_in(*json, "mode", 0)),
                      .mount_flags = value_in(*json, "mount_flags", std::vector<std::string>()),
                      .secrets = value_in(*json, "secrets", Texts())};
}

Result<void> NodeState::forget_staged(const std::string& volume) const {
  return remove_tree(folder_.path() + "/staged/" + hex_digest(volume).substr(0, kNameDigits));
}

Result<void> NodeState::make_mount(const std::string& mount) const {
  const std::string folder = places(mount).folder;
  for (const std::string& made : {folder, folder + "/users", folder + "/point"}) {
    if (auto done = make_folder(made); !done) return done;
  }
  return {};
}

Result<void> NodeState::write(const std::string& mount, const std::string& file,
                              const std::string& text) const {
  return replace_file(places(mount).folder + "/" + file, text);
}

Result<void> NodeState::forget_mount(const std::string& mount) const {
  const MountPlaces of_mount = places(mount);
  // First, and not with all below it: what is mounted there would be emptied.
  if (::rmdir(point(mount).c_str()) != 0 && errno != ENOENT) {
    return fail_errno("remove " + point(mount), errno);
  }
  if (!has_records(of_mount.journal)) {
    if (auto done = remove_tree(of_mount.journal); !done) return done;
  }
  return remove_tree(of_mount.folder);
}

std::vector<std::string> NodeState::mounts() const { return names_in(folder_.path() + "/mounts"); }

Result<void> NodeState::add(const std::string& mount, const Reference& reference) const {
  return replace_file(
      places(mount).folder + "/users/" + user_name(reference.volume, reference.target),
      record({{"volume", reference.volume},
              {"target", reference.target},
              {"digest", reference.digest},
              {"read_only", reference.read_only}}));
}

Result<void> NodeState::remove(const std::string& mount, const Reference& reference) const {
  return remove_tree(places(mount).folder + "/users/" +
                     user_name(reference.volume, reference.target));
}

std::optional<std::pair<std::string, Reference>> NodeState::find(const std::string& volume,
                                                                 const std::string& target) const {
  for (const std::string& mount : mounts()) {
    auto found = read_reference(places(mount).folder + "/users/" + user_name(volume, target));
    if (found) return std::pair(mount, std::move(*found));
  }
  return std::nullopt;
}

std::vector<Reference> NodeState::references(const std::string& mount) const {
  std::vector<Reference> all;
  const std::string folder = places(mount).folder + "/users";
  for (const std::string& name : names_in(folder)) {
    // A record that cannot be read is a user all the same: it must not lose its mount.
    all.push_back(read_reference(fmt::format("{}/{}", folder, name)).value_or(Reference{}));
  }
  return all;
}

}  // namespace s3rdmafs::csi
