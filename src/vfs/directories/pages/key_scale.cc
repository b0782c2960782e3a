// SPDX-License-Identifier: Apache-2.0
// Keys as numbers.
//
// Names of large directories are mostly made by programs: numbers with leading zeros, hashes, or
// both with fixed text around them. Between two such names lie as many others as their digits say,
// if each place counts only the bytes that stand there. So each place has an alphabet: the digits,
// where a digit was seen, and likewise hexadecimal digits and letters; any other byte for itself. A
// place at which always the same byte stands counts nothing, unless it is a digit: the first digits
// of a page's names are equal, and change later.
//
// Bytes of different names may make no character together, and servers refuse a start-after that is
// not UTF-8. So a key is cut before the first of them.
#include "vfs/directories/pages/key_scale.h"

#include <algorithm>

#include "s3rdmafs/base/utf8.h"

namespace s3rdmafs::vfs {
namespace {

constexpr std::string_view kDecimal = "0123456789";
constexpr std::string_view kLowerHex = "abcdef";
constexpr std::string_view kUpperHex = "ABCDEF";
constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kHexLetters = "abcdefABCDEF";
// So that a few hundred times the distance of two numbers is still one.
constexpr std::uint64_t kNumbersMax = std::uint64_t{1} << 54;
constexpr std::size_t kPlacesMax = 255;

bool has_any(std::string_view seen, std::string_view of) {
  return seen.find_first_of(of) != std::string_view::npos;
}

/// The bytes that probably stand where these were seen.
std::string alphabet_of(const std::string& seen, bool are_hashes) {
  std::string all = seen;
  if (are_hashes || has_any(seen, kDecimal)) all += kDecimal;
  for (const auto& [letters, hex] : {std::pair{kLower, kLowerHex}, std::pair{kUpper, kUpperHex}}) {
    if (!has_any(seen, letters)) continue;
    if (are_hashes) {
      all += hex;
    } else if (seen.size() > 1) {
      all += letters;
    }
  }
  std::ranges::sort(all, {}, [](char each) { return static_cast<unsigned char>(each); });
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// The bytes that stand at each place after the prefix.
std::vector<std::string> seen_at_places(std::size_t prefix_size,
                                        const std::vector<s3::ObjectInfo>& sample) {
  std::vector<std::string> places;
  for (std::size_t place = 0; place < kPlacesMax; ++place) {
    std::string seen;
    for (const s3::ObjectInfo& object : sample) {
      const std::size_t at = prefix_size + place;
      if (at < object.key.size() && !seen.contains(object.key[at])) seen += object.key[at];
    }
    if (seen.empty()) break;
    places.push_back(std::move(seen));
  }
  return places;
}

/// The place of a byte in an alphabet, or of the next one that is in it; the last where none is.
std::size_t rank_of(const std::string& alphabet, char byte) {
  const auto unsigned_of = [](char each) { return static_cast<unsigned char>(each); };
  const auto at = std::ranges::lower_bound(alphabet, unsigned_of(byte), {}, unsigned_of);
  return std::min(static_cast<std::size_t>(at - alphabet.begin()), alphabet.size() - 1);
}

}  // namespace

KeyScale::KeyScale(std::string_view prefix, const std::vector<s3::ObjectInfo>& sample)
    : prefix_(prefix) {
  std::vector<std::string> places = seen_at_places(prefix.size(), sample);
  std::string stem;  // what stands before a "." that all names have
  for (const std::string& seen : places) {
    if (seen == ".") break;
    stem += seen;
  }
  const std::string_view no_hex_lower = kLower.substr(kLowerHex.size());
  const std::string_view no_hex_upper = kUpper.substr(kUpperHex.size());
  const bool are_hashes =
      has_any(stem, kDecimal) && !has_any(stem, no_hex_lower) && !has_any(stem, no_hex_upper);
  std::uint64_t numbers = 1;
  for (const std::string& seen : places) {
    std::string alphabet = alphabet_of(seen, are_hashes && has_any(seen, kHexLetters));
    if (numbers > kNumbersMax / alphabet.size()) return;
    numbers *= alphabet.size();
    alphabets_.push_back(std::move(alphabet));
  }
}

std::uint64_t KeyScale::number_of(std::string_view key) const {
  const std::string_view name = key.substr(std::min(prefix_.size(), key.size()));
  std::uint64_t number = 0;
  for (std::size_t place = 0; place < alphabets_.size(); ++place) {
    const std::string& alphabet = alphabets_[place];
    number *= alphabet.size();
    if (place < name.size()) number += rank_of(alphabet, name[place]);
  }
  return number;
}

std::string KeyScale::key_of(std::uint64_t number) const {
  std::string name(alphabets_.size(), '\0');
  for (std::size_t place = alphabets_.size(); place-- > 0;) {
    const std::string& alphabet = alphabets_[place];
    name[place] = alphabet[number % alphabet.size()];
    number /= alphabet.size();
  }
  return std::string(utf8_beginning(prefix_ + name));
}

}  // namespace s3rdmafs::vfs
