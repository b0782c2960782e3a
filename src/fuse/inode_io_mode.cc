// SPDX-License-Identifier: Apache-2.0
#include "fuse/inode_io_mode.h"

#include <utility>

namespace s3rdmafs::fuse {
namespace {

metrics::Counter& opens(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("fuse_opens_total", "Opens for reading by who serves the reads", labels);
}

metrics::Counter& declined(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("passthrough_declined_total",
                         "Opens that were not passed through, by reason", labels);
}

}  // namespace

InodeIoModes::InodeIoModes(metrics::Registry& metrics)
    : direct_(opens(metrics, R"(mode="direct")")),
      cached_(opens(metrics, R"(mode="cached")")),
      passthrough_(opens(metrics, R"(mode="passthrough")")),
      other_mode_(declined(metrics, R"(reason="other_mode")")),
      refused_(declined(metrics, R"(reason="kernel_refused")")) {}

bool InodeIoModes::may_pass_through(vfs::Ino ino) const {
  const Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.inodes.find(ino);
  const bool may = found == stripe.inodes.end() || found->second.mode == OpenMode::kPassthrough;
  if (!may) other_mode_.add();
  return may;
}

InodeIoModes::Answer InodeIoModes::open(vfs::Ino ino, const std::function<OpenMode()>& otherwise,
                                        std::shared_ptr<const cache::ResidentObject> whole,
                                        const MakeBacking& make_backing,
                                        const FillPageCache& fill) {
  std::shared_ptr<const cache::ResidentObject> unused;  // goes after the lock
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  Inode& inode = stripe.inodes[ino];
  if (inode.handles++ == 0) {
    if (whole) {
      inode.backing_id = make_backing(whole->fd());
      if (inode.backing_id > 0) {
        inode.mode = OpenMode::kPassthrough;
        inode.whole = std::move(whole);
      } else {
        inode.backing_id = 0;
        refused_.add();
      }
    }
    if (inode.backing_id == 0) inode.mode = otherwise();
    if (inode.mode == OpenMode::kCached) fill();
  } else if (whole && inode.mode != OpenMode::kPassthrough) {
    other_mode_.add();
  }
  unused = std::move(whole);
  switch (inode.mode) {
    case OpenMode::kDirect:
      direct_.add();
      break;
    case OpenMode::kCached:
      cached_.add();
      break;
    case OpenMode::kPassthrough:
      passthrough_.add();
      break;
  }
  return {.mode = inode.mode, .backing_id = inode.backing_id};
}

int InodeIoModes::release(vfs::Ino ino) {
  Inode last;  // its object goes after the lock
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.inodes.find(ino);
  if (found == stripe.inodes.end() || --found->second.handles > 0) return 0;
  last = std::move(found->second);
  stripe.inodes.erase(found);
  return last.backing_id;
}

}  // namespace s3rdmafs::fuse
