// SPDX-License-Identifier: Apache-2.0
#include "load/patterns.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <random>
#include <span>

#include "load/content.h"
#include "s3rdmafs/base/unique_fd.h"
#include "s3rdmafs/base/units.h"
#include "s3rdmafs/client.h"

namespace s3rdmafs::bench {
namespace {

/// The sum of every word: memory that is only mapped is not yet read.
std::uint64_t look_at(std::span<const std::byte> bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof(sum) <= bytes.size(); at += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    sum += word;
  }
  return sum;
}

/// A buffer whose pages are there before anything is timed.
class Buffer {
 public:
  explicit Buffer(std::uint64_t size) : memory_(size) {
    std::fill(memory_.begin(), memory_.end(), std::byte{1});
  }
  [[nodiscard]] std::byte* data() { return memory_.data(); }

 private:
  std::vector<std::byte> memory_;
};

/// A window of a file, mapped by the library. The next one is asked for before this one is used.
class LibraryWindow {
 public:
  explicit LibraryWindow(int fd) {
    if (::s3rdmafs_attach(fd, &file_) != 0) give_up("s3rdmafs_attach");
    if (const char* reason = ::s3rdmafs_reason(file_); reason != nullptr) give_up(reason);
  }
  ~LibraryWindow() {
    unmap();
    ::s3rdmafs_close(file_);
  }
  LibraryWindow(const LibraryWindow&) = delete;
  LibraryWindow& operator=(const LibraryWindow&) = delete;

  /// The bytes, which are inside one window.
  const std::byte* at(std::uint64_t offset) {
    const std::uint64_t begin = offset / kBytes * kBytes;
    if (mapping_.bytes == nullptr || begin != begin_) {
      unmap();
      begin_ = begin;
      if (::s3rdmafs_map(file_, static_cast<off_t>(begin), kBytes, &mapping_) != 0) give_up("map");
      if (mapping_.source != S3RDMAFS_FROM_MEMORY) give_up("a mapping is of the mount");
      ::s3rdmafs_prefetch(file_, static_cast<off_t>(begin + kBytes), kBytes);
    }
    return static_cast<const std::byte*>(mapping_.bytes) + (offset - begin_);
  }

 private:
  static constexpr std::uint64_t kBytes = 32 * kMiB;  // a few parts: one is used while others come

  void unmap() {
    if (mapping_.bytes != nullptr) ::s3rdmafs_unmap(&mapping_);
    mapping_ = {};
  }

  s3rdmafs_file* file_ = nullptr;
  s3rdmafs_mapping mapping_{};
  std::uint64_t begin_ = 0;
};

/// One open file, read in any way. Ends the process where anything is wrong.
class OpenFile {
 public:
  OpenFile(const Load& load, const std::string& path)
      : load_(load), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (!fd_) give_up_errno(path.c_str());
    struct stat status{};
    if (::fstat(fd_.get(), &status) != 0) give_up_errno(path.c_str());
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (load.how == How::kMmap && size_ > 0) {
      mapped_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_.get(), 0);
      if (mapped_ == MAP_FAILED) give_up_errno("mmap");
    }
    if (load.how == How::kLibrary) window_ = std::make_unique<LibraryWindow>(fd_.get());
  }
  ~OpenFile() {
    if (mapped_ != nullptr) ::munmap(mapped_, size_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// All of [offset, offset + length), which must be inside the file.
  void read(std::uint64_t offset, std::uint64_t length, Buffer& buffer, Tally& tally) {
    std::span<const std::byte> bytes;
    if (mapped_ != nullptr || window_) {
      bytes = {window_ ? window_->at(offset) : static_cast<const std::byte*>(mapped_) + offset,
               length};
      sum_ = sum_ + look_at(bytes);
      ++tally.ops;
    } else {
      for (std::uint64_t done = 0; done < length;) {
        const ssize_t got = ::pread(fd_.get(), buffer.data() + done, length - done,
                                    static_cast<off_t>(offset + done));
        if (got < 0) give_up_errno("read");
        if (got == 0) give_up("a file ended before its size");
        done += static_cast<std::uint64_t>(got);
        ++tally.ops;
      }
      bytes = {buffer.data(), length};
    }
    tally.bytes += length;
    if (load_.verify && !is_stamped(bytes, offset)) give_up("the bytes read are not the file's");
  }

 private:
  const Load& load_;
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  void* mapped_ = nullptr;
  std::unique_ptr<LibraryWindow> window_;
  volatile std::uint64_t sum_ = 0;  // keeps the compiler from leaving the reads away
};

/// [begin, end) of a file, block by block.
void read_part(const Load& load, OpenFile& file, std::uint64_t begin, std::uint64_t end,
               Buffer& buffer, Tally& tally) {
  for (std::uint64_t at = begin; at < end; at += load.block_bytes) {
    file.read(at, std::min(load.block_bytes, end - at), buffer, tally);
  }
}

}  // namespace

Outcome read_sequentially(const Load& load, const std::vector<std::string>& paths,
                          std::uint64_t share_bytes) {
  return run_readers(load.readers, [&](Reader& reader) {
    Buffer buffer(load.block_bytes);
    Tally tally;
    reader.wait_for_start();
    if (share_bytes == 0) {
      OpenFile file(load, paths[reader.number % paths.size()]);
      read_part(load, file, 0, file.size(), buffer, tally);
      return tally;
    }
    for (const std::string& path : paths) {
      OpenFile file(load, path);
      for (std::uint64_t at = reader.number * share_bytes; at < file.size();
           at += load.readers * share_bytes) {
        read_part(load, file, at, std::min(at + share_bytes, file.size()), buffer, tally);
      }
    }
    return tally;
  });
}

Outcome read_randomly(const Load& load, const std::string& path, std::uint64_t reads) {
  return run_readers(load.readers, [&](Reader& reader) {
    Buffer buffer(load.block_bytes);
    Tally tally;
    std::mt19937_64 random(load.seed * 1000 + reader.number);
    reader.wait_for_start();
    OpenFile file(load, path);
    if (file.size() < load.block_bytes) give_up("the file is smaller than one block");
    std::uniform_int_distribution<std::uint64_t> block(0, file.size() / load.block_bytes - 1);
    while (reader.next->fetch_add(1) < reads) {
      file.read(block(random) * load.block_bytes, load.block_bytes, buffer, tally);
    }
    return tally;
  });
}

Outcome read_files(const Load& load, const std::string& folder, std::uint64_t files) {
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    paths.push_back(entry.path());
  }
  if (error || paths.empty()) give_up((folder + ": cannot be listed, or is empty").c_str());
  std::ranges::sort(paths);
  if (!load.in_order) std::ranges::shuffle(paths, std::mt19937_64(load.seed));
  if (files != 0 && files < paths.size()) paths.resize(files);
  const std::chrono::duration<double> listing = std::chrono::steady_clock::now() - began;

  Outcome outcome = run_readers(load.readers, [&](Reader& reader) {
    Buffer buffer(load.block_bytes);
    Tally tally;
    reader.wait_for_start();
    for (std::uint64_t i = 0; (i = reader.next->fetch_add(1)) < paths.size();) {
      OpenFile file(load, paths[i]);
      read_part(load, file, 0, file.size(), buffer, tally);
    }
    return tally;
  });
  outcome.total.ops = paths.size();
  outcome.seconds += listing.count();
  return outcome;
}

Outcome read_again(const Load& load, const std::string& path, std::uint64_t reads) {
  return run_readers(load.readers, [&](Reader& reader) {
    Buffer buffer(load.block_bytes);
    Tally tally;
    OpenFile file(load, path);
    for (int i = 0; i < 100; ++i) file.read(0, load.block_bytes, buffer, tally);  // now cached
    tally = {};
    std::vector<double> times_us(reads);
    reader.wait_for_start();
    for (double& time_us : times_us) {
      const auto began = std::chrono::steady_clock::now();
      file.read(0, load.block_bytes, buffer, tally);
      time_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began)
                    .count();
    }
    std::ranges::sort(times_us);
    tally.p50_us = times_us[times_us.size() / 2];
    tally.p99_us = times_us[times_us.size() * 99 / 100];
    return tally;
  });
}

void drop_from_page_cache(const std::string& folder) {
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (!entry.is_regular_file()) continue;
    const UniqueFd file(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC));
    if (file) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  if (error) give_up((folder + ": " + error.message()).c_str());
}

}  // namespace s3rdmafs::bench
