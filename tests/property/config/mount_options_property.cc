// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "config/mount_options.h"

namespace s3rdmafs::config {
namespace {

// Option texts with many of the characters that matter, but without double quotes, which fstab
// cannot escape.
rc::Gen<std::vector<std::string>> options() {
  return rc::gen::container<std::vector<std::string>>(rc::gen::nonEmpty(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab=,. x")))));
}

std::string join(const std::vector<std::string>& options, bool quoted) {
  std::string list;
  for (const std::string& option : options) {
    if (!list.empty()) list += ',';
    list += quoted ? '"' + option + '"' : option;
  }
  return list;
}

// Text that fstab's writer puts in quotes comes back whole, whatever commas it has.
RC_GTEST_PROP(SplitOptions, GivesBackWhatWasJoinedInQuotes, ()) {
  const auto wanted = *options();
  const auto split = split_options(join(wanted, /*quoted=*/true));
  RC_ASSERT(split.has_value());
  RC_ASSERT(*split == wanted);
}

// The control for the above: without quotes an option with a comma is taken apart.
RC_GTEST_PROP(SplitOptions, TakesApartAtEveryCommaOutsideQuotes, ()) {
  const auto wanted = *options();
  const auto split = split_options(join(wanted, /*quoted=*/false));
  RC_ASSERT(split.has_value());
  for (const std::string& option : *split) {
    RC_ASSERT(!option.empty());
    RC_ASSERT(option.find(',') == std::string::npos);
  }
}

// Any bytes at all: a value or an error, and no option goes to the kernel that was not listed.
RC_GTEST_PROP(ParseMountOptions, NeverLetsAnUnknownOptionThrough, (const std::string& list)) {
  const std::vector<std::string> lists = {list};
  const auto parsed = parse_mount_options(lists, {});
  const auto split = split_options(list);
  if (!parsed) {
    RC_ASSERT(!parsed.error().detail.empty());
    return;
  }
  RC_ASSERT(parsed->kernel_options.size() + parsed->overrides.size() <= split->size());
}

// Each kind of option goes to its place, in the order given, however they are mixed and however
// they are spread over several -o.
RC_GTEST_PROP(ParseMountOptions, SortsAMixtureAndKeepsItsOrder, ()) {
  const auto mixture = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
      "ro", "noexec", "nofail", "x-a.b=c", "uid=7", "cache.size=1GiB"));
  const auto cut = *rc::gen::inRange<std::size_t>(0, mixture.size() + 1);
  const auto middle = mixture.begin() + static_cast<std::ptrdiff_t>(cut);
  const std::vector<std::string> lists = {join({mixture.begin(), middle}, false),
                                          join({middle, mixture.end()}, false)};

  std::vector<std::string> kernel;
  std::vector<std::string> keys;
  for (const std::string& option : mixture) {
    if (option == "ro" || option == "noexec") kernel.push_back(option);
    if (option == "uid=7") keys.emplace_back("mount.uid=7");
    if (option == "cache.size=1GiB") keys.push_back(option);
  }

  const auto parsed = parse_mount_options(lists, {});
  RC_ASSERT(parsed.has_value());
  std::vector<std::string> found;
  for (const Override& entry : parsed->overrides) {
    found.push_back(entry.key->full_name() + "=" + entry.text);
  }
  RC_ASSERT(parsed->kernel_options == kernel);
  RC_ASSERT(found == keys);
}

}  // namespace
}  // namespace s3rdmafs::config
