// SPDX-License-Identifier: Apache-2.0
#include "fuse/ops/ops.h"

namespace s3rdmafs::fuse::ops {

fuse_lowlevel_ops table() noexcept {
  fuse_lowlevel_ops ops{};
  ops.init = init;
  ops.lookup = lookup;
  ops.forget = forget;
  ops.forget_multi = forget_multi;
  ops.getattr = getattr;
  ops.opendir = opendir;
  ops.readdir = readdir;
  ops.readdirplus = readdirplus;
  ops.releasedir = releasedir;
  ops.open = open;
  ops.read = read;
  ops.release = release;
  ops.create = create;
  ops.write = write;
  ops.flush = flush;
  ops.fsync = fsync;
  ops.setattr = setattr;
  ops.fallocate = fallocate;
  ops.copy_file_range = copy_file_range;
  ops.unlink = unlink;
  ops.mkdir = mkdir;
  ops.rmdir = rmdir;
  ops.rename = rename;
  ops.link = link;
  ops.symlink = symlink;
  ops.readlink = readlink;
  ops.mknod = mknod;
  ops.setxattr = setxattr;
  ops.getxattr = getxattr;
  ops.listxattr = listxattr;
  ops.removexattr = removexattr;
  ops.statfs = statfs;
  ops.access = access;
  return ops;
}

}  // namespace s3rdmafs::fuse::ops
