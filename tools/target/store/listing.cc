// SPDX-License-Identifier: Apache-2.0
// A depth-first walk whose order is the order of keys, because a folder sorts as "name/" (see
// FolderSnapshot). It begins at the last folder of the prefix. Each folder is entered at the first
// entry that can matter, found by binary search for the larger of prefix and marker; a folder that
// is wholly rolled up into a common prefix is only asked whether it holds any key. So the cost of a
// page is in proportion to its entries.
#include "target/store/listing.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "target/store/key_path.h"
#include "target/store/tree.h"
#include "target/store/utf8.h"

namespace s3rdmafs::target {
namespace {

class Lister {
 public:
  Lister(const Bucket& bucket, SnapshotCache& snapshots, const ListQuery& query)
      : bucket_(bucket),
        snapshots_(snapshots),
        query_(query),
        bound_(std::max(query.prefix, query.after)) {}

  S3Result<ListPage> run() {
    if (query_.max_keys == 0) return page_;
    if (auto begun = begin(); !begun) return std::unexpected(std::move(begun.error()));
    while (!stack_.empty() && !done_) {
      Level& level = stack_.back();
      if (level.next == level.names->size()) {
        stack_.pop_back();
        continue;
      }
      const std::string& name = (*level.names)[level.next++];
      if (auto visited = visit(level, name); !visited) {
        return std::unexpected(std::move(visited.error()));
      }
    }
    return std::move(page_);
  }

 private:
  struct Level {
    UniqueFd folder;
    std::string path;  // empty or ends in "/"
    std::shared_ptr<const FolderSnapshot> names;
    std::size_t next;
  };

  // All keys with the prefix lie below its last folder: those above it, which may be large and
  // change, are not read.
  S3Result<void> begin() {
    const std::string folder = query_.prefix.substr(0, query_.prefix.rfind('/') + 1);
    if (folder.empty() || !is_storable_key(folder)) return enter("");
    if (!query_.include_non_utf8 && !is_utf8(folder)) return {};
    return folder == query_.prefix ? visit_folder(folder) : enter(folder);
  }

  S3Result<void> enter(const std::string& path) {
    UniqueFd folder = open_beneath(bucket_.folder(), path, O_RDONLY | O_DIRECTORY);
    if (!folder) {
      // Gone since its name was read, or not ours to read: no keys there.
      if (!path.empty() && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP ||
                            errno == ENAMETOOLONG || errno == EACCES)) {
        return {};
      }
      return refuse_errno("open a folder", errno);
    }
    auto names = snapshots_.get(folder.get());
    if (!names) return std::unexpected(std::move(names.error()));
    const std::size_t first = first_that_matters(**names, path);
    stack_.push_back({std::move(folder), path, std::move(*names), first});
    return {};
  }

  std::size_t first_that_matters(const FolderSnapshot& names, const std::string& path) const {
    if (!bound_.starts_with(path)) return 0;  // the whole folder lies after the bound
    const std::string_view rest = std::string_view(bound_).substr(path.size());
    auto it = std::ranges::lower_bound(names, rest);
    // The folder on the way to the bound sorts just before it.
    if (it != names.begin() && std::prev(it)->ends_with('/') && rest.starts_with(*std::prev(it))) {
      --it;
    }
    return static_cast<std::size_t>(it - names.begin());
  }

  S3Result<void> visit(const Level& level, const std::string& name) {
    const bool is_folder = name.back() == '/';
    const std::string key = level.path + name;
    const bool on_the_way = is_folder && query_.prefix.starts_with(key) && query_.prefix != key;
    if (on_the_way) return enter(key);
    if (!key.starts_with(query_.prefix)) {
      done_ = key > query_.prefix;
      return {};
    }
    if (!query_.include_non_utf8 && !is_utf8(key)) return {};
    if (!query_.delimiter.empty()) {
      const std::size_t at = key.find(query_.delimiter, query_.prefix.size());
      if (at != std::string::npos) {
        return roll_up(key, is_folder, key.substr(0, at + query_.delimiter.size()));
      }
    }
    if (!is_folder) {
      if (key > query_.after) list_file(level, name, key);
      return {};
    }
    return visit_folder(key);
  }

  S3Result<void> visit_folder(const std::string& key) {
    if (key > query_.after) {
      list_marked_folder(key);
    } else if (!query_.after.starts_with(key)) {
      return {};  // all of it lies before the marker
    }
    return done_ ? S3Result<void>{} : enter(key);
  }

  S3Result<void> roll_up(const std::string& key, bool is_folder, const std::string& common) {
    if (!page_.common_prefixes.empty() && page_.common_prefixes.back() == common) return {};
    if (common <= query_.after) {
      // Listed on an earlier page, or wholly before the marker; unless the marker lies inside.
      if (common == query_.after || !query_.after.starts_with(common)) return {};
      if (is_folder && query_.after.starts_with(key)) return enter(key);
      if (key <= query_.after) return {};
    }
    if (is_folder) {
      const UniqueFd folder = open_beneath(bucket_.folder(), key, O_RDONLY | O_DIRECTORY);
      if (!folder || !(is_marked_folder(folder.get()) || contains_key(folder.get()))) return {};
    }
    if (!has_room()) return {};
    page_.common_prefixes.push_back(common);
    page_.last = common;
    return {};
  }

  bool has_room() {
    if (page_.objects.size() + page_.common_prefixes.size() < query_.max_keys) return true;
    page_.is_truncated = true;
    done_ = true;
    return false;
  }

  void list_file(const Level& level, const std::string& name, const std::string& key) {
    struct stat status{};
    if (::fstatat(level.folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(status.st_mode)) {
      return;  // gone or replaced since its name was read
    }
    if (!has_room()) return;
    page_.objects.push_back({.key = key,
                             .etag = load_etag(level.folder.get(), name, status),
                             .size_bytes = static_cast<std::uint64_t>(status.st_size),
                             .modified = status.st_mtim});
    page_.last = key;
  }

  void list_marked_folder(const std::string& key) {
    auto object = bucket_.open_object(key);
    if (!object || !has_room()) return;
    page_.objects.push_back(
        {.key = key, .etag = object->metadata.etag, .size_bytes = 0, .modified = object->modified});
    page_.last = key;
  }

  const Bucket& bucket_;
  SnapshotCache& snapshots_;
  const ListQuery& query_;
  const std::string bound_;
  std::vector<Level> stack_;
  ListPage page_;
  bool done_ = false;
};

}  // namespace

S3Result<ListPage> list_keys(const Bucket& bucket, SnapshotCache& snapshots,
                             const ListQuery& query) {
  return Lister(bucket, snapshots, query).run();
}

}  // namespace s3rdmafs::target
