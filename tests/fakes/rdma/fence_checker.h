// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "fakes/rdma/recorded_memory.h"

namespace s3rdmafs::fakes {

/// A window that a server was told of.
struct HandedOut {
  std::string device;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;
  std::size_t length = 0;
};

/// Whether a token could reach memory that was registered after what it was made for: the same key,
/// and addresses that overlap. Thread-bound.
class FenceChecker {
 public:
  struct Findings {
    std::size_t tokens = 0;
    std::size_t registrations = 0;
    std::size_t tokens_of_nothing = 0;  ///< no registration before had that key and range
    std::size_t intersections = 0;      ///< registrations that an older token reaches
    std::size_t keys_used_again = 0;    ///< registrations whose key an earlier one had
  };

  /// @param registrations  how many there have been until now
  void on_token(HandedOut token, std::size_t registrations) {
    tokens_.push_back({std::move(token), registrations});
  }

  [[nodiscard]] Findings check(const std::vector<SeenRegistration>& log) const {
    Findings findings{.tokens = tokens_.size(), .registrations = log.size()};
    std::map<Key, std::vector<std::size_t>> of_key;  // ascending indices in the log
    for (std::size_t i = 0; i < log.size(); ++i) of_key[{log[i].device, log[i].rkey}].push_back(i);
    std::map<std::size_t, std::vector<const HandedOut*>> tokens_of;  // by registration
    for (const auto& [token, until] : tokens_) {
      const auto found = made_for(token, until, log, of_key[{token.device, token.rkey}]);
      if (found == log.size()) {
        ++findings.tokens_of_nothing;
      } else {
        tokens_of[found].push_back(&token);
      }
    }
    for (const auto& [key, indices] : of_key) {
      if (indices.empty()) continue;
      findings.keys_used_again += indices.size() - 1;
      Ranges reachable;
      for (const std::size_t index : indices) {
        if (reachable.meets(log[index].iova, log[index].length)) ++findings.intersections;
        for (const HandedOut* token : tokens_of[index])
          reachable.add(token->address, token->length);
      }
    }
    return findings;
  }

 private:
  using Key = std::pair<std::string, std::uint32_t>;  // device, rkey

  /// A set of addresses.
  class Ranges {
   public:
    [[nodiscard]] bool meets(std::uint64_t begin, std::size_t length) const {
      const auto next = ends_.lower_bound(begin + length);
      return next != ends_.begin() && std::prev(next)->second > begin;
    }
    void add(std::uint64_t begin, std::size_t length) {
      std::uint64_t end = begin + length;
      auto next = ends_.upper_bound(end);
      while (next != ends_.begin() && std::prev(next)->second >= begin) {
        --next;
        begin = std::min(begin, next->first);
        end = std::max(end, next->second);
        next = ends_.erase(next);
      }
      ends_[begin] = end;
    }

   private:
    std::map<std::uint64_t, std::uint64_t> ends_;  // begin -> end, disjoint
  };

  // The latest registration that the token lies in; the log's size where there is none.
  static std::size_t made_for(const HandedOut& token, std::size_t until,
                              const std::vector<SeenRegistration>& log,
                              const std::vector<std::size_t>& indices) {
    auto at = std::ranges::lower_bound(indices, until);
    while (at != indices.begin()) {
      const SeenRegistration& candidate = log[*--at];
      if (token.address >= candidate.iova &&
          token.address + token.length <= candidate.iova + candidate.length) {
        return *at;
      }
    }
    return log.size();
  }

  std::vector<std::pair<HandedOut, std::size_t>> tokens_;
};

}  // namespace s3rdmafs::fakes
