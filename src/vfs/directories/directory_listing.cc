// SPDX-License-Identifier: Apache-2.0
// From pages to names.
//
// The difficulty. Where key "a" and keys below "a/" exist, only the directory shows. A listing has
// both, but not side by side: "a-b", "a.txt" and every other name that continues with a byte below
// "/" sort between them, perhaps pages of them.
//
// The solution. A file is undecided until the listing has passed the place where "name/" would
// stand; then it is certain. Undecided files form a stack: a file "a" is undecided only while the
// listing is among keys that begin with "a", so each undecided name is a prefix of the next, and
// the last one is decided first. Hence at most 255 are held, however long the directory. The cost
// is the order: "a-b" comes out before "a". POSIX promises no order.
//
// A server that ignores the delimiter lists every key below a directory instead of one common
// prefix. Both are read alike: everything that follows the first "/" after the listing's prefix is
// cut off, and the rest is the directory. The keys of one directory stand side by side, so only the
// newest directory is remembered.
//
// A name longer than a key can be is hidden: no lookup would find it, and the tree of a server that
// answers each listing with one directory more has an end.
//
// This needs ascending keys over all pages, which ListObjectsV2 promises for general purpose
// buckets. From a server that breaks it a file may show beside its directory, or a directory twice
// if that server ignores the delimiter as well; nothing worse.
#include "vfs/directories/directory_listing.h"

#include <utility>

#include "vfs/names/key_path.h"

namespace s3rdmafs::vfs {
namespace {

/// Whether "key/" could still come after `position` in the order of bytes (or be `position`), for a
/// key that came before.
bool may_yet_be_hidden(std::string_view key, std::string_view position) {
  return position.starts_with(key) &&
         (position.size() == key.size() || static_cast<unsigned char>(position[key.size()]) <= '/');
}

/// Where the prefix of the directory below `prefix` that holds `key` ends: after the first "/" that
/// follows `prefix`. npos where no directory below `prefix` has this key.
std::size_t end_of_directory(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::string_view::npos;
  const std::size_t slash = key.find('/', prefix.size());
  return slash == std::string_view::npos ? slash : slash + 1;
}

}  // namespace

std::vector<ListedName> DirectoryListing::add(s3::ListPage page, SeenAt seen_at) {
  auto object = page.objects.begin();
  auto prefix = page.common_prefixes.begin();
  const auto objects_end = page.objects.end();
  const auto prefixes_end = page.common_prefixes.end();
  while (object != objects_end || prefix != prefixes_end) {
    if (prefix == prefixes_end || (object != objects_end && object->key < *prefix)) {
      add_object(std::move(*object++), seen_at);
    } else {
      add_prefix(std::move(*prefix++), seen_at);
    }
  }
  if (page.next_token.empty()) {
    for (ListedName& file : undecided_) certain_.push_back(std::move(file));
    undecided_.clear();
  }
  return std::exchange(certain_, {});
}

void DirectoryListing::add_object(s3::ObjectInfo object, SeenAt seen_at) {
  if (object.key == prefix_) return;  // only makes this directory exist
  const std::size_t end = end_of_directory(prefix_, object.key);
  if (end == std::string::npos) return add_file(std::move(object), seen_at);
  object.key.resize(end);
  add_directory(std::move(object.key), seen_at);
}

void DirectoryListing::add_prefix(std::string prefix, SeenAt seen_at) {
  const std::size_t end = end_of_directory(prefix_, prefix);
  if (end == std::string::npos) {
    ++hidden_;  // neither below this directory nor a directory
    return;
  }
  prefix.resize(end);
  add_directory(std::move(prefix), seen_at);
}

void DirectoryListing::add_file(s3::ObjectInfo object, SeenAt seen_at) {
  pass(object.key);
  std::string name(name_below(prefix_, object.key));
  if (!is_valid_name(name) || object.key.size() > kKeyBytesMax) {
    ++hidden_;
    return;
  }
  undecided_.push_back({std::move(name), Node::file(std::move(object)), seen_at});
}

void DirectoryListing::add_directory(std::string prefix, SeenAt seen_at) {
  if (prefix == newest_directory_) return;
  newest_directory_ = prefix;
  pass(prefix);
  std::string name(name_below(prefix_, prefix));
  if (!undecided_.empty() && undecided_.back().name == name) {
    undecided_.pop_back();
    ++hidden_;
  }
  if (!is_valid_name(name) || prefix.size() > kKeyBytesMax) {
    ++hidden_;
    return;
  }
  certain_.push_back({std::move(name), Node::directory(std::move(prefix)), seen_at});
}

void DirectoryListing::pass(std::string_view position) {
  while (!undecided_.empty() && !may_yet_be_hidden(undecided_.back().node.object.key, position)) {
    certain_.push_back(std::move(undecided_.back()));
    undecided_.pop_back();
  }
}

}  // namespace s3rdmafs::vfs
