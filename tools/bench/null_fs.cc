// SPDX-License-Identifier: Apache-2.0
//
// The ceiling of a mount on this machine: a FUSE file system whose every read is answered at once,
// out of resident huge pages, with no lookup, no lock and no accounting in between. With --sink it
// takes new files and writes as fast, and throws their bytes away.
//
//   null_fs --like FOLDER [--direct] [--sink] [--buffer-mib N] [-o OPTION,...] MOUNT_POINT
//
// It shows the names and sizes of FOLDER as they were at start. The bytes of files are meaningless:
// all files are windows onto one buffer, which is as large as the cache of the mount it is compared
// with, so that both read from memory and not from the processor's cache. Runs in the foreground
// until it is unmounted.
//
// Session and INIT settings are those of src/fuse/session.cc and src/fuse/ops/init.cc, written out
// a second time because a ceiling that shared that code would share its faults. Change both. The
// kernel's read-ahead is for the program that starts it to set (driver/contestants.py).
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "fuse/lowlevel.h"
#include "memory/arena.h"
#include "rdma/null_fabric.h"
#include "s3rdmafs/base/mutex.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::bench {
namespace {

// Nothing here ever changes but for new files, whose names the kernel knows.
constexpr double kValidSeconds = 3600;

// More than a run creates. Workers read inodes without a lock, so their vector must not move.
constexpr std::size_t kInodesMax = 4'000'000;

struct Node {
  struct stat status{};
  std::map<std::string, fuse_ino_t, std::less<>> children;
};

struct NullFs {
  std::vector<Node> nodes{2};  // by inode number; 0 is none, 1 the root
  std::span<const std::byte> buffer;
  bool direct = false;
  bool is_sink = false;
  Mutex mutex;  // of new files; the kernel alone sees to it that a directory has one at a time

  fuse_ino_t add(fuse_ino_t parent, const std::string& name, mode_t mode, off_t size) {
    const fuse_ino_t ino = name.empty() ? FUSE_ROOT_ID : nodes.size();
    if (!name.empty()) {
      nodes.emplace_back();
      nodes[parent].children.emplace(name, ino);
    }
    struct stat& status = nodes[ino].status;
    status.st_ino = ino;
    status.st_mode = mode;
    status.st_nlink = 1;
    status.st_size = size;
    status.st_blocks = (size + 511) / 512;
    return ino;
  }

  void copy_names(const std::filesystem::path& folder, fuse_ino_t parent) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::string name = entry.path().filename();
      if (entry.is_directory()) {
        copy_names(entry.path(), add(parent, name, S_IFDIR | 0555, 0));
      } else {
        add(parent, name, S_IFREG | (is_sink ? 0644 : 0444), static_cast<off_t>(entry.file_size()));
      }
    }
  }
};

NullFs& fs_of(fuse_req_t request) { return *static_cast<NullFs*>(fuse_req_userdata(request)); }

void init(void*, fuse_conn_info* connection) noexcept {
  for (const std::uint64_t wanted :
       {FUSE_CAP_ASYNC_READ, FUSE_CAP_ASYNC_DIO, FUSE_CAP_PARALLEL_DIROPS,
        FUSE_CAP_EXPLICIT_INVAL_DATA, FUSE_CAP_DIRECT_IO_ALLOW_MMAP}) {
    fuse_set_feature_flag(connection, wanted);
  }
  for (const std::uint64_t unwanted :
       {FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE, FUSE_CAP_AUTO_INVAL_DATA,
        FUSE_CAP_WRITEBACK_CACHE}) {
    fuse_unset_feature_flag(connection, unwanted);
  }
  constexpr unsigned kMaxBackground = 128;
  connection->max_background = kMaxBackground;
  connection->congestion_threshold = kMaxBackground * 3 / 4;
  // libfuse leaves the kernel's limit above 256 pages to us.
  constexpr unsigned kLargestRequestBytes = 4 * kMiB;
  constexpr unsigned kPageBytes = 4096;
  unsigned pages_limit = 256;
  std::ifstream("/proc/sys/fs/fuse/max_pages_limit") >> pages_limit;
  connection->max_write = std::min(pages_limit * kPageBytes, kLargestRequestBytes);
}

fuse_entry_param entry_of(const NullFs& fs, fuse_ino_t ino) {
  fuse_entry_param entry{};
  entry.ino = ino;
  entry.attr = fs.nodes[ino].status;
  entry.attr_timeout = kValidSeconds;
  entry.entry_timeout = kValidSeconds;
  return entry;
}

void lookup(fuse_req_t request, fuse_ino_t parent, const char* name) noexcept {
  const NullFs& fs = fs_of(request);
  const auto& children = fs.nodes[parent].children;
  const auto child = children.find(std::string_view(name));
  if (child == children.end()) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = entry_of(fs, child->second);
  fuse_reply_entry(request, &entry);
}

void forget(fuse_req_t request, fuse_ino_t, std::uint64_t) noexcept { fuse_reply_none(request); }

void getattr(fuse_req_t request, fuse_ino_t ino, fuse_file_info*) noexcept {
  fuse_reply_attr(request, &fs_of(request).nodes[ino].status, kValidSeconds);
}

void open(fuse_req_t request, fuse_ino_t, fuse_file_info* file) noexcept {
  if ((file->flags & O_ACCMODE) != O_RDONLY && !fs_of(request).is_sink) {
    fuse_reply_err(request, EROFS);
    return;
  }
  file->direct_io = fs_of(request).direct;
  file->keep_cache = 1;
  file->noflush = 1;
  fuse_reply_open(request, file);
}

// Where a file begins in the buffer, on a large page. Neighbours by the golden ratio apart, which
// spreads any number of them evenly: readers of several files a few MiB apart would find in the
// processor's cache what the one before them has just read, as no readers of different files do.
std::uint64_t begin_of(const NullFs& fs, fuse_ino_t ino) {
  constexpr std::uint64_t kGoldenPermille = 618;
  const std::uint64_t apart =
      fs.buffer.size() / 1000 * kGoldenPermille / memory::kHugePageBytes * memory::kHugePageBytes;
  return ino * apart;
}

void read(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
          fuse_file_info*) noexcept {
  const NullFs& fs = fs_of(request);
  const auto left =
      static_cast<std::uint64_t>(std::max<off_t>(0, fs.nodes[ino].status.st_size - offset));
  const std::size_t length = std::min<std::uint64_t>(size, left);
  const std::size_t begin =
      (begin_of(fs, ino) + static_cast<std::uint64_t>(offset)) % fs.buffer.size();
  const std::size_t first = std::min(length, fs.buffer.size() - begin);
  auto* memory = const_cast<std::byte*>(fs.buffer.data());
  const std::array<iovec, 2> parts{iovec{.iov_base = memory + begin, .iov_len = first},
                                   iovec{.iov_base = memory, .iov_len = length - first}};
  fuse_reply_iov(request, parts.data(), first < length ? 2 : 1);
}

void create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
            fuse_file_info* file) noexcept {
  NullFs& fs = fs_of(request);
  fuse_ino_t ino = 0;
  {
    const MutexLock lock(fs.mutex);
    if (fs.nodes.size() < fs.nodes.capacity()) ino = fs.add(parent, name, mode, 0);
  }
  if (ino == 0) {
    fuse_reply_err(request, ENOSPC);
    return;
  }
  file->direct_io = fs.direct;
  file->keep_cache = 1;
  const fuse_entry_param entry = entry_of(fs, ino);
  fuse_reply_create(request, &entry, file);
}

void answer_nothing(fuse_req_t request, fuse_ino_t, fuse_file_info*) noexcept {
  fuse_reply_err(request, 0);
}

// The size stays what it was: a file that is read afterwards would show nothing that was written.
void write(fuse_req_t request, fuse_ino_t, const char*, std::size_t size, off_t,
           fuse_file_info*) noexcept {
  fuse_reply_write(request, size);
}

void setattr(fuse_req_t request, fuse_ino_t ino, struct stat*, int, fuse_file_info*) noexcept {
  fuse_reply_attr(request, &fs_of(request).nodes[ino].status, kValidSeconds);
}

// The offset of an entry is its place among the children, counted from 1.
void readdir(fuse_req_t request, fuse_ino_t ino, std::size_t size, off_t offset,
             fuse_file_info*) noexcept {
  const NullFs& fs = fs_of(request);
  const auto& children = fs.nodes[ino].children;
  std::vector<char> listing(size);
  std::size_t used = 0;
  auto child = children.begin();
  std::advance(child, std::min<off_t>(offset, static_cast<off_t>(children.size())));
  for (; child != children.end(); ++child) {
    const std::size_t needed =
        fuse_add_direntry(request, listing.data() + used, size - used, child->first.c_str(),
                          &fs.nodes[child->second].status, ++offset);
    if (needed > size - used) break;
    used += needed;
  }
  fuse_reply_buf(request, listing.data(), used);
}

fuse_lowlevel_ops operations(bool is_sink) {
  fuse_lowlevel_ops table{};
  table.init = init;
  table.lookup = lookup;
  table.forget = forget;
  table.getattr = getattr;
  table.open = open;
  table.read = read;
  table.readdir = readdir;
  if (is_sink) {
    table.create = create;
    table.flush = answer_nothing;
    table.release = answer_nothing;
    table.write = write;
    table.setattr = setattr;
  }
  return table;
}

int serve(NullFs& fs, const std::string& mount_options, const std::string& mount_point) {
  std::vector<std::string> words = {"null_fs", "-o", "default_permissions,fsname=null_fs"};
  words.back() += fs.is_sink ? ",rw" : ",ro";
  if (!mount_options.empty()) words.back() += "," + mount_options;
  std::vector<char*> pointers;
  pointers.reserve(words.size());
  for (std::string& word : words) pointers.push_back(word.data());
  fuse_args args = FUSE_ARGS_INIT(static_cast<int>(pointers.size()), pointers.data());
  const fuse_lowlevel_ops table = operations(fs.is_sink);
  const std::unique_ptr<fuse_session, void (*)(fuse_session*)> session(
      fuse_session_new(&args, &table, sizeof(table), &fs), fuse_session_destroy);
  fuse_opt_free_args(&args);
  if (!session || fuse_session_mount(session.get(), mount_point.c_str()) != 0 ||
      fuse_set_signal_handlers(session.get()) != 0) {
    std::fprintf(stderr, "null_fs: cannot mount on %s\n", mount_point.c_str());
    return 1;
  }
  const std::unique_ptr<fuse_loop_config, void (*)(fuse_loop_config*)> config(
      fuse_loop_cfg_create(), fuse_loop_cfg_destroy);
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 2U, 16U);
  fuse_loop_cfg_set_clone_fd(config.get(), 1);
  fuse_loop_cfg_set_max_threads(config.get(), threads);
  fuse_loop_cfg_set_idle_threads(config.get(), threads);
  const int result = fuse_session_loop_mt(session.get(), config.get());
  fuse_session_unmount(session.get());
  fuse_remove_signal_handlers(session.get());
  return result < 0 ? 1 : 0;
}

}  // namespace
}  // namespace s3rdmafs::bench

int main(int argc, char** argv) {
  using namespace s3rdmafs;
  CLI::App app("The ceiling of a FUSE mount: names of a folder, bytes of one resident buffer.");
  std::string like;
  std::string mount_options;
  std::string mount_point;
  std::uint64_t buffer_mib = 1024;
  bench::NullFs fs;
  app.add_option("--like", like, "Folder whose names and sizes to show")->required();
  app.add_flag("--direct", fs.direct, "Past the page cache (FOPEN_DIRECT_IO)");
  app.add_flag("--sink", fs.is_sink, "Take new files and writes, and throw their bytes away");
  app.add_option("--buffer-mib", buffer_mib, "Memory all files are windows onto; a multiple of 8")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("-o", mount_options, "Further mount options for libfuse and the kernel");
  app.add_option("mount_point", mount_point)->required();
  CLI11_PARSE(app, argc, argv);

  const auto fabric = rdma::make_null_fabric();
  const auto arena = memory::Arena::create(buffer_mib * kMiB, memory::Arena::Lock::kTry, *fabric);
  if (!arena) {
    std::fprintf(stderr, "null_fs: %s\n", arena.error().detail.c_str());
    return 1;
  }
  // The slabs of an arena are one run of memory.
  fs.buffer = {(*arena)->region(0).bytes().data(), buffer_mib * kMiB};
  if (fs.is_sink) fs.nodes.reserve(bench::kInodesMax);
  fs.add(FUSE_ROOT_ID, "", S_IFDIR | 0555, 0);
  try {
    fs.copy_names(like, FUSE_ROOT_ID);
  } catch (const std::filesystem::filesystem_error& error) {
    std::fprintf(stderr, "null_fs: %s\n", error.what());
    return 1;
  }
  return bench::serve(fs, mount_options, mount_point);
}
