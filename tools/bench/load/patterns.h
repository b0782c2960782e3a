// SPDX-License-Identifier: Apache-2.0
// The ways to read that the benchmark knows, each by any number of readers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "load/readers.h"

namespace s3rdmafs::bench {

enum class How {
  kRead,     ///< pread into a buffer
  kMmap,     ///< a shared mapping, every word of which is looked at
  kLibrary,  ///< the same with mappings of libs3rdmafs (s3rdmafs/client.h)
};

struct Load {
  How how = How::kRead;
  std::uint64_t block_bytes = 0;  ///< of one read
  unsigned readers = 1;
  bool verify = false;  ///< that content is what `make` writes (content.h)
  std::uint64_t seed = 1;
  bool in_order = false;  ///< of the names, where another load's order is random
};

/// Front to back. Reader i reads the i-th path, counted around.
/// @param share_bytes  0, or: the readers share each file, and take turns with pieces of this size
[[nodiscard]] Outcome read_sequentially(const Load& load, const std::vector<std::string>& paths,
                                        std::uint64_t share_bytes);

/// `reads` blocks in all, each at a random multiple of its size.
[[nodiscard]] Outcome read_randomly(const Load& load, const std::string& path, std::uint64_t reads);

/// Every file of a folder (at most `files`; 0: all), opened, read whole and closed, in random
/// order or in that of the names. Listing the folder is part of the time.
[[nodiscard]] Outcome read_files(const Load& load, const std::string& folder, std::uint64_t files);

/// The same block `reads` times, each timed by itself.
[[nodiscard]] Outcome read_again(const Load& load, const std::string& path, std::uint64_t reads);

/// Takes the files below a folder out of the page cache, so that the next run does not find its
/// memory full of what this one read.
void drop_from_page_cache(const std::string& folder);

}  // namespace s3rdmafs::bench
