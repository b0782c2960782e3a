// SPDX-License-Identifier: Apache-2.0
#include "checked_mount.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <string_view>

#include "../../unit/vfs/answer.h"
#include "vfs/names/inode_table.h"
#include "vfs/names/probe.h"

namespace s3rdmafs::vfs {
namespace {

using std::chrono::milliseconds;

/// None for "", the root.
std::vector<std::string> components(const std::string& path) {
  std::vector<std::string> parts;
  if (path.empty()) return parts;
  for (const auto part : std::views::split(path, '/')) parts.emplace_back(part.begin(), part.end());
  return parts;
}

}  // namespace

class CheckedMount::BuggyStore final : public s3::ObjectStore {
 public:
  BuggyStore(fakes::FakeObjectStore& store, PlantedBug bug) : store_(store), bug_(bug) {}

  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override {
    store_.head(std::move(key), deadline, std::move(done));
  }

  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override {
    const bool is_probe = request.keys_max == kNamesWithDirectory;
    if (bug_ == PlantedBug::kLookupMissesDirectories && is_probe) {
      s3::ListPage nothing;
      return done(std::move(nothing));
    }
    if (bug_ == PlantedBug::kListingForgetsAKey && !is_probe) {
      return store_.list(std::move(request), deadline, drop_last_object(std::move(done)));
    }
    store_.list(std::move(request), deadline, std::move(done));
  }

  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override {
    if (bug_ == PlantedBug::kReadMixesVersions) {
      store_.head(request.key, deadline, [&](const Result<s3::ObjectInfo>& object) {
        if (object && object->size_bytes >= request.offset_bytes + request.window.length) {
          request.etag = object->etag;
        }
      });
    }
    store_.get(std::move(request), deadline, std::move(done));
  }

  void shut_down() override { store_.shut_down(); }

 private:
  static Done<s3::ListPage> drop_last_object(Done<s3::ListPage> done) {
    return [done = std::move(done)](Result<s3::ListPage> page) mutable {
      if (!page) return done(std::unexpected(std::move(page.error())));
      s3::ListPage rest = std::move(*page);
      if (!rest.objects.empty()) rest.objects.pop_back();
      done(std::move(rest));
    };
  }

  fakes::FakeObjectStore& store_;
  const PlantedBug bug_;
};

CheckedMount::CheckedMount(milliseconds ttl, PlantedBug bug)
    : ttl_(ttl),
      buggy_store_(std::make_unique<BuggyStore>(store_, bug)),
      cache_(*buggy_store_),
      shared_fs_(FileSystem::create(*buggy_store_, cache_, clock_, metrics_,
                                    {.prefix = "", .ttl = ttl, .negative_ttl = ttl / 2})) {
  states_.emplace_back(clock_.now(), ReferenceModel{});
}

CheckedMount::~CheckedMount() = default;

std::string CheckedMount::run(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    clock_.advance(milliseconds(1));
    if (std::string wrong = step(command); !wrong.empty()) return wrong;
  }
  for (const Opened& opened : opened_) fs_.release(opened.handle);
  if (cache_.readers() != 0) return "readers are left over";
  return forget_all();
}

std::string CheckedMount::step(const Command& command) {
  Known found;
  switch (command.kind) {
    case Command::Kind::kPut:
    case Command::Kind::kRemove:
      change(command);
      return "";
    case Command::Kind::kLookup:
      return walk(path_of(command), found);
    case Command::Kind::kList:
      return list(command);
    case Command::Kind::kOpen:
      return open(command);
    case Command::Kind::kRead:
      return opened_.empty() ? "" : read(opened_[command.number % opened_.size()]);
    case Command::Kind::kForget:
      return forget_all();
    case Command::Kind::kWait:
      clock_.advance(milliseconds(command.number % 8));
      return "";
  }
  return "no such command";
}

void CheckedMount::change(const Command& command) {
  ReferenceModel next = now();
  if (command.kind == Command::Kind::kRemove) {
    store_.remove(command.key);
    next.objects.erase(command.key);
  } else {
    std::string bytes(command.number % 4, 'x');
    if (!bytes.empty()) bytes.back() = static_cast<char>('a' + states_.size() % 26);
    const std::string etag = store_.put(command.key, bytes);
    next.objects[command.key] = {bytes, etag};
    const Ino ino = hash_node(Node::file({command.key, etag, 0, {}}));
    known_["file " + command.key + " " + etag] = {ino, false, "", command.key, etag, bytes};
  }
  states_.emplace_back(clock_.now(), std::move(next));
}

std::vector<const ReferenceModel*> CheckedMount::believable() const {
  std::vector<const ReferenceModel*> states;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool is_current = i + 1 == states_.size();
    if (is_current || states_[i + 1].first > clock_.now() - ttl_) {
      states.push_back(&states_[i].second);
    }
  }
  return states;
}

const CheckedMount::Known& CheckedMount::known(const std::string& identity) {
  constexpr std::string_view kDirectory = "directory ";
  const auto [at, is_new] = known_.try_emplace(identity);
  if (is_new && identity.starts_with(kDirectory)) {
    const std::string prefix = identity.substr(kDirectory.size());
    at->second = {hash_node(Node::directory(prefix)), true, prefix, "", "", ""};
  }
  return at->second;
}

std::string CheckedMount::path_of(const Command& command) const {
  if (command.number % 2 == 0 || now().objects.empty()) return command.key;
  const auto skip = static_cast<std::ptrdiff_t>(command.number / 2 % now().objects.size());
  return std::next(now().objects.begin(), skip)->first;
}

std::string CheckedMount::walk(const std::string& path, Known& found) {
  found = {.ino = kRootIno, .is_directory = true, .prefix = "", .key = "", .etag = "", .bytes = ""};
  for (const std::string& name : components(path)) {
    if (found.ino == 0) return "";
    if (std::string wrong = look_up(name, found); !wrong.empty()) return wrong;
  }
  return "";
}

/// Looks up a name in `at`, which becomes what was found.
std::string CheckedMount::look_up(const std::string& name, Known& at) {
  Answer<Entry> answer;
  fs_.lookup(at.ino, name, {}, answer.done());
  const Known parent = std::exchange(at, {});
  if (!parent.is_directory) {
    return answer.error() == "NotDirectory" ? "" : "file '" + parent.key + "' has children";
  }
  const std::string where = "lookup of '" + name + "' in '" + parent.prefix + "' ";
  if (!answer.get() && answer.error() != "NotFound")
    return where + "failed: " + std::string(answer.error());
  if (answer.get()) ++references_[answer.get()->attributes.ino];

  std::string allowed;
  for (const ReferenceModel* state : believable()) {
    const std::string identity = state->child(parent.prefix, name);
    const Known& node = known(identity);
    const Ino found = answer.get() ? answer.get()->attributes.ino : 0;
    if (node.ino == found) {
      at = node;
      if (found != 0 && !node.is_directory) files_seen_.push_back(node);
      const bool right = found == 0 || (answer.get()->attributes.size_bytes == node.bytes.size() &&
                                        answer.get()->attributes.is_directory == node.is_directory);
      return right ? "" : where + "tells wrong attributes";
    }
    allowed += identity + "; ";
  }
  return where + "found none of: " + allowed;
}

std::string CheckedMount::list(const Command& command) {
  const std::string path = path_of(command);
  const std::size_t slash = path.rfind('/');  // a directory's path, "" for the root
  Known directory;
  if (std::string wrong = walk(slash == path.npos ? "" : path.substr(0, slash), directory);
      !wrong.empty())
    return wrong;
  if (directory.ino == 0) return "";
  const Result<std::uint64_t> handle = fs_.open_directory(directory.ino);
  if (!directory.is_directory) return handle ? "a file was opened as a directory" : "";
  if (!handle) return "a directory did not open";

  store_.set_page_keys_max(1 + command.number % 3);
  metrics::Counter& hidden_counter = metrics_.counter("vfs_hidden_keys_total", "");
  const std::uint64_t hidden_before = hidden_counter.value();
  std::map<std::string, Ino> names;
  std::uint64_t offset = 2;
  for (;;) {
    Answer<std::vector<DirectoryEntry>> answer;
    fs_.read_directory(*handle, offset, 2, {}, answer.done());
    if (!answer.get()) return "a listing failed with " + std::string(answer.error());
    if (answer.get()->empty()) break;
    for (const DirectoryEntry& entry : *answer.get()) {
      offset = entry.next_offset;
      const Entry given = fs_.add_lookup(entry);
      ++references_[given.attributes.ino];
      if (given.attributes.ino != entry.attributes.ino) return "add_lookup() changed the inode";
      if (!names.emplace(entry.name, entry.attributes.ino).second)
        return "'" + entry.name + "' is listed twice";
    }
  }
  fs_.release_directory(*handle);
  store_.set_page_keys_max(1000);
  // A directory that was listed ahead of its opening had its names counted then, in the middle of
  // another listing; and those of its first page may be as old as any name.
  const bool none_was_ahead = metrics_.counter("vfs_listings_ahead_total", "").value() == 0;
  const std::uint64_t hidden = now().directory(directory.prefix).hidden;
  if (none_was_ahead && hidden_counter.value() - hidden_before != hidden) {
    return "hidden names miscounted";
  }
  const std::vector<const ReferenceModel*> states =
      none_was_ahead ? std::vector<const ReferenceModel*>{&now()} : believable();
  return listed_wrong(names, directory.prefix, states);
}

std::string CheckedMount::listed_wrong(const std::map<std::string, Ino>& names,
                                       const std::string& prefix,
                                       const std::vector<const ReferenceModel*>& states) {
  std::map<std::string, std::size_t> in_states;  // how many have the name
  std::set<std::pair<std::string, Ino>> allowed;
  for (const ReferenceModel* state : states) {
    for (const auto& [name, identity] : state->directory(prefix).names) {
      ++in_states[name];
      allowed.emplace(name, known(identity).ino);
    }
  }
  for (const auto& [name, ino] : names) {
    if (!in_states.contains(name)) return "'" + name + "' is listed and should not be";
    if (!allowed.contains({name, ino})) return "'" + name + "' is listed with another inode";
  }
  for (const auto& [name, count] : in_states) {
    if (count == states.size() && !names.contains(name)) {
      return "names are missing in '" + prefix + "'";
    }
  }
  return "";
}

std::string CheckedMount::open(const Command& command) {
  if (command.number % 4 == 0 && !files_seen_.empty()) {
    const Known file = files_seen_[command.number / 4 % files_seen_.size()];
    return open_file(file);
  }
  Known file;
  if (std::string wrong = walk(path_of(command), file); !wrong.empty()) return wrong;
  return file.ino == 0 ? "" : open_file(file);
}

std::string CheckedMount::open_file(const Known& file) {
  Answer<OpenFile> answer;
  fs_.open(file.ino, {}, answer.done());
  if (file.is_directory) return answer.error() == "IsDirectory" ? "" : "a directory was opened";
  if (!answer.get()) {
    if (answer.error() != "Stale") return "open failed with " + std::string(answer.error());
    return now().has_version(file.key, file.etag) ? "the version is there, not stale" : "";
  }
  opened_.push_back({answer.get()->handle, file});
  if (answer.get()->size_bytes != file.bytes.size()) return "open tells a wrong size";
  const bool right = std::ranges::any_of(believable(), [&](const ReferenceModel* state) {
    return state->has_version(file.key, file.etag);
  });
  return right ? read(opened_.back()) : "a version was opened that is long gone";
}

std::string CheckedMount::read(const Opened& opened) {
  Answer<cache::PinnedBytes> answer;
  fs_.read(opened.handle, 0, 100, {}, answer.done());
  const Known& file = opened.file;
  if (!answer.get()) {
    if (answer.error() != "Stale") return "read failed with " + std::string(answer.error());
    return now().has_version(file.key, file.etag) ? "the version is there, not stale" : "";
  }
  std::string bytes;
  for (const auto piece : answer.get()->pieces()) {
    for (const std::byte byte : piece) bytes += static_cast<char>(byte);
  }
  return bytes == file.bytes ? "" : "read '" + bytes + "' instead of '" + file.bytes + "'";
}

std::string CheckedMount::forget_all() {
  for (const auto& [ino, count] : references_) fs_.forget(ino, count);
  references_.clear();
  files_seen_.clear();
  return metrics_.gauge("vfs_inodes", "").value() == 1 ? "" : "inodes are left over";
}

}  // namespace s3rdmafs::vfs
