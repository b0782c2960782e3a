// SPDX-License-Identifier: Apache-2.0
// Attributes in user metadata: changes of all of them, and reads of extended ones, which names and
// inodes do not keep. A file that is open to write has its own (names/live_files.h); of any other
// the server is asked (metadata/object_descriptions.h).
#include <array>
#include <string>
#include <utility>

#include "s3/wire/response_headers.h"
#include "s3/wire/stored_headers.h"
#include "vfs/file_system.h"
#include "vfs/files/file_writing.h"
#include "vfs/metadata/extended_attributes.h"
#include "vfs/metadata/object_descriptions.h"
#include "vfs/names/names.h"
#include "vfs/refusals.h"
#include "vfs/staged/staged_files.h"

namespace s3rdmafs::vfs {
namespace {

std::unexpected<Error> no_attribute(const std::string& name) {
  return fail(ErrorCode::kNoAttribute, "there is no attribute '" + name + "'");
}

/// Empty: there is none of this name.
std::string of_server(const s3::ObjectDescription& description, std::string_view name) {
  const auto& headers = description.object.headers;
  if (name == "s3.storage_class") return headers ? s3::storage_class_of(*headers) : "";
  const std::array<std::pair<std::string_view, const std::string&>, 4> known = {{
      {"s3.checksum", description.checksum},
      {"s3.etag", description.object.etag},
      {"s3.url", description.url},
      {"s3.version", description.version_id},
  }};
  for (const auto& [known_name, value] : known) {
    if (known_name == name) return value;
  }
  return "";
}

}  // namespace

void FileSystem::set_attributes(Ino ino, const PosixAttributes& set, ProcessId process,
                                Deadline deadline, Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<Inode> inode = names_->find(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  if (!keeps_posix() || inode->node.is_directory) return done({});
  change_attributes(ino, inode->node.object.key, {.posix = set}, process, deadline,
                    std::move(done));
}

void FileSystem::change_attributes(Ino ino, const std::string& key, const AttributeChange& change,
                                   ProcessId process, Deadline deadline, Done<void> done) {
  file_writing_->set_attributes(
      ino, change, process, deadline,
      [descriptions = descriptions_, key, done = std::move(done)](Result<void> changed) mutable {
        descriptions->invalidate(key);
        done(std::move(changed));
      });
}

void FileSystem::change_extended_attribute(Ino ino, ExtendedAttributeChange change,
                                           ProcessId process, Deadline deadline, Done<void> done) {
  if (!writing_) return done(read_only());
  const Result<Inode> inode = names_->find(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  if (!keeps_posix() || inode->node.is_directory) {
    return done(fail(ErrorCode::kUnsupported,
                     "extended attributes are kept of files, with metadata.posix = write"));
  }
  change_attributes(ino, inode->node.object.key, {.extended = std::move(change)}, process, deadline,
                    std::move(done));
}

void FileSystem::describe(Ino ino, Deadline deadline, Done<ObjectDescriptions::Description> done) {
  const Result<Inode> inode = names_->find(ino);
  if (!inode) return done(std::unexpected(inode.error()));
  const Node& node = inode->node;
  if (node.is_directory || node.written) return done(nullptr);
  const bool may_differ = staged_files_ && staged_files_->of(ino) != nullptr;
  descriptions_->get(
      node.object, deadline,
      [names = names_, may_differ, key = node.object.key, etag = node.object.etag,
       done = std::move(done)](Result<ObjectDescriptions::Description> there) mutable {
        const bool is_absent = !there && there.error().code == ErrorCode::kNotFound;
        if (may_differ) {
          if (is_absent) return done(nullptr);
          return done(std::move(there));
        }
        const bool is_other = there && !s3::is_same_etag((*there)->object.etag, etag);
        if (is_absent || is_other) {
          return done(names->look_again(key, "the object was replaced or removed"));
        }
        done(std::move(there));
      });
}

void FileSystem::user_attributes(Ino ino, Deadline deadline, Done<ExtendedAttributes> done) {
  if (!shows_posix()) return done({});
  if (const auto file = staged_files_ ? staged_files_->of(ino) : nullptr) {
    return done(extended_attributes(*file->live().metadata));
  }
  describe(ino, deadline,
           [done = std::move(done)](Result<ObjectDescriptions::Description> there) mutable {
             if (!there) return done(std::unexpected(std::move(there.error())));
             const auto metadata = *there ? (*there)->object.metadata : nullptr;
             done(metadata ? extended_attributes(*metadata) : ExtendedAttributes());
           });
}

void FileSystem::get_extended_attribute(Ino ino, const std::string& name, Deadline deadline,
                                        Done<std::string> done) {
  if (name.starts_with(kUserAttributePrefix)) {
    return user_attributes(
        ino, deadline,
        [name, done = std::move(done)](Result<ExtendedAttributes> attributes) mutable {
          if (!attributes) return done(std::unexpected(std::move(attributes.error())));
          const auto found = attributes->find(name);
          if (found == attributes->end()) return done(no_attribute(name));
          done(std::move(found->second));
        });
  }
  describe(ino, deadline,
           [name, done = std::move(done)](Result<ObjectDescriptions::Description> there) mutable {
             if (!there) return done(std::unexpected(std::move(there.error())));
             std::string value = *there ? of_server(**there, name) : "";
             if (value.empty()) return done(no_attribute(name));
             done(std::move(value));
           });
}

void FileSystem::list_extended_attributes(Ino ino, Deadline deadline,
                                          Done<std::vector<std::string>> done) {
  user_attributes(ino, deadline,
                  [done = std::move(done)](Result<ExtendedAttributes> attributes) mutable {
                    if (!attributes) return done(std::unexpected(std::move(attributes.error())));
                    std::vector<std::string> names;
                    for (const auto& [name, value] : *attributes) names.push_back(name);
                    done(std::move(names));
                  });
}

}  // namespace s3rdmafs::vfs
