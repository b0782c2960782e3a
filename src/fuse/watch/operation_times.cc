// SPDX-License-Identifier: Apache-2.0
#include "fuse/watch/operation_times.h"

#include "s3rdmafs/base/enum_names.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::fuse {
namespace {

constexpr EnumNames<Opcode::kOther> kOperationNames({{Opcode::kLookup, "lookup"},
                                                     {Opcode::kGetattr, "getattr"},
                                                     {Opcode::kSetattr, "setattr"},
                                                     {Opcode::kReadlink, "readlink"},
                                                     {Opcode::kMake, "make"},
                                                     {Opcode::kRemove, "remove"},
                                                     {Opcode::kRename, "rename"},
                                                     {Opcode::kOpen, "open"},
                                                     {Opcode::kCreate, "create"},
                                                     {Opcode::kRead, "read"},
                                                     {Opcode::kWrite, "write"},
                                                     {Opcode::kCopyFileRange, "copy_file_range"},
                                                     {Opcode::kFlush, "flush"},
                                                     {Opcode::kFsync, "fsync"},
                                                     {Opcode::kRelease, "release"},
                                                     {Opcode::kReaddir, "readdir"},
                                                     {Opcode::kXattr, "xattr"},
                                                     {Opcode::kOther, "other"}});

std::string labels_of(Opcode operation, metrics::SizeClass size) {
  const std::string label = fmt::format("operation=\"{}\"", kOperationNames[operation]);
  const bool has_size = operation == Opcode::kRead || operation == Opcode::kWrite;
  return has_size ? fmt::format("{},size=\"{}\"", label, metrics::kSizeClassNames[size]) : label;
}

}  // namespace

OperationTimes::OperationTimes(metrics::Registry& registry) {
  for (std::size_t operation = 0; operation < kOperations; ++operation) {
    for (std::size_t size = 0; size < kSizes; ++size) {
      times_[operation][size] = &registry.histogram(
          "fuse_operation_seconds", "Time from a request of the kernel to its answer",
          labels_of(static_cast<Opcode>(operation), static_cast<metrics::SizeClass>(size)));
    }
  }
}

}  // namespace s3rdmafs::fuse
