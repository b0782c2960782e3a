// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace s3rdmafs::fakes {

struct SeenRegistration {
  std::string device;
  void* address = nullptr;
  std::size_t length = 0;
  unsigned access = 0;
  std::uint32_t rkey = 0;
  bool is_alive = true;
  std::uint64_t iova = 0;  ///< the first byte's address as servers know it
};

/// The memory regions of the recorded devices, with keys as the mlx5 driver hands them out: the key
/// that came back last goes to the next registration of like shape. Thread-bound.
class RecordedMemory {
 public:
  /// @param owner  the object that stands for it
  /// @return  its key
  std::uint32_t add(const void* owner, SeenRegistration registration);
  /// The end of a registration; its key may come again.
  void remove(const void* owner);

  /// Every registration there has ever been, in order.
  [[nodiscard]] const std::vector<SeenRegistration>& log() const noexcept { return log_; }

  /// Where a server's access to [iova, iova + length) lands; nullptr where the device refuses it.
  [[nodiscard]] std::byte* find(const std::string& device, std::uint32_t rkey, std::uint64_t iova,
                                std::size_t length, unsigned access) const;

 private:
  using Shape = std::tuple<std::string, unsigned, int>;  ///< device, access, class of length

  [[nodiscard]] static Shape shape_of(const SeenRegistration& registration);

  std::vector<SeenRegistration> log_;
  std::map<const void*, std::size_t> alive_;          // owner -> index in the log
  std::map<Shape, std::vector<std::uint32_t>> free_;  // the last one is the next to go
  std::uint32_t next_key_ = 0x1000;
};

}  // namespace s3rdmafs::fakes
