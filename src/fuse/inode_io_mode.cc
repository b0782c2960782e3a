// SPDX-License-Identifier: Apache-2.0
#include "fuse/inode_io_mode.h"

#include <utility>

namespace s3rdmafs::fuse {
namespace {

metrics::Counter& opens(metrics::Registry& metrics, std::string_view labels) {
  return metrics.counter("fuse_opens_total", "Opens for reading, by how reads are served", labels);
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
      refused_(declined(metrics, R"(reason="kernel_refused")")),
      passed_writes_(metrics.counter(
          "passthrough_written_files_total",
          "Opens that made the kernel write a file without the daemon (FUSE passthrough)")) {}

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
                                        const MakeBacking& make_backing, const FillPageCache& fill,
                                        const Written& written) {
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);  // released before `whole`, which may be the last reference
  Inode& inode = stripe.inodes[ino];
  drop_former_file(inode, written);
  if (inode.handles++ == 0) {
    choose_mode(inode, otherwise, whole, make_backing);
    if (inode.mode == OpenMode::kCached) fill();
  } else if (whole && inode.mode != OpenMode::kPassthrough) {
    other_mode_.add();
  }
  opens_in(inode.mode).add();
  return {.mode = inode.mode, .backing_id = inode.backing_id};
}

void InodeIoModes::choose_mode(Inode& inode, const std::function<OpenMode()>& otherwise,
                               std::shared_ptr<const cache::ResidentObject>& whole,
                               const MakeBacking& make_backing) {
  if (whole) {
    const int backing_id = make_backing(whole->fd());
    if (backing_id > 0) {
      inode.mode = OpenMode::kPassthrough;
      inode.backing_id = backing_id;
      inode.whole = std::move(whole);
      return;
    }
    refused_.add();
  }
  inode.mode = otherwise();
}

metrics::Counter& InodeIoModes::opens_in(OpenMode mode) {
  switch (mode) {
    case OpenMode::kDirect:
      return direct_;
    case OpenMode::kCached:
      return cached_;
    case OpenMode::kPassthrough:
      break;
  }
  return passthrough_;
}

// The page cache serves every program, shared maps included, and a file that is written is read in
// small pieces as often as not.
bool InodeIoModes::open_to_write(vfs::Ino ino) {
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  Inode& inode = stripe.inodes[ino];
  if (inode.whole) return false;
  ++inode.handles;
  return true;
}

InodeIoModes::Answer InodeIoModes::mode_to_write(vfs::Ino ino, int local_fd,
                                                 const MakeBacking& make_backing,
                                                 const Written& written) {
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  Inode& inode = stripe.inodes[ino];
  drop_former_file(inode, written);
  if (local_fd >= 0 && inode.handles == 1 && inode.mode == OpenMode::kCached) {
    const int backing_id = make_backing(local_fd);
    if (backing_id > 0) {
      inode.mode = OpenMode::kPassthrough;
      inode.backing_id = backing_id;
      inode.local_number = written.number();
      passed_writes_.add();
    } else {
      refused_.add();
    }
  }
  return {.mode = inode.mode, .backing_id = inode.backing_id};
}

// The last handle of a file has been closed, and the file is gone, while an open of the inode was
// counted: its answer is another file.
void InodeIoModes::drop_former_file(Inode& inode, const Written& written) {
  const bool is_to_local = inode.mode == OpenMode::kPassthrough && !inode.whole;
  if (!is_to_local || inode.local_number == written.number()) return;
  written.close_backing(std::exchange(inode.backing_id, 0));
  inode.mode = OpenMode::kCached;
}

int InodeIoModes::release(vfs::Ino ino) {
  Inode last;  // its object is freed after the lock
  Stripe& stripe = stripe_of(ino);
  const MutexLock lock(stripe.mutex);
  const auto found = stripe.inodes.find(ino);
  if (found == stripe.inodes.end() || --found->second.handles > 0) return 0;
  last = std::move(found->second);
  stripe.inodes.erase(found);
  return last.backing_id;
}

}  // namespace s3rdmafs::fuse
