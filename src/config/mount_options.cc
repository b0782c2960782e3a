// SPDX-License-Identifier: Apache-2.0
#include "config/mount_options.h"

#include <algorithm>

#include "config/nearest_name.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::config {
namespace {

// Flags that the kernel keeps for any file system, as far as libfuse takes them (mount(2)).
constexpr std::string_view kKernelFlags[] = {
    "ro",   "suid",  "nosuid",  "dev",     "nodev",      "exec",      "noexec",
    "sync", "async", "dirsync", "noatime", "nodiratime", "symfollow", "nosymfollow"};

// Meant for mount(8), systemd and fstab itself; they mean nothing to a mount that is being made.
constexpr std::string_view kForOthers[] = {"defaults", "auto",   "noauto", "nofail",  "_netdev",
                                           "user",     "nouser", "users",  "nousers", "owner",
                                           "noowner",  "group",  "nogroup"};
// How access times are kept: objects have none, so every choice comes to the same.
constexpr std::string_view kAccessTimes[] = {"atime",       "relatime",      "norelatime",
                                             "strictatime", "nostrictatime", "lazytime",
                                             "nolazytime",  "diratime"};
constexpr std::string_view kForOthersPrefixes[] = {"x-", "X-", "comment=", "user="};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool means_nothing_here(std::string_view option) {
  return contains(kForOthers, option) || contains(kAccessTimes, option) ||
         std::ranges::any_of(kForOthersPrefixes,
                             [&](std::string_view prefix) { return option.starts_with(prefix); });
}

std::unexpected<Error> refuse_option(std::string_view option, std::string_view why) {
  return fail(ErrorCode::kInvalidArgument, fmt::format("option -o {}: {}", option, why));
}

// The key an option sets: "section.key", or one of the short names that other file systems have.
const Key* key_of(std::string_view name) {
  if (name == "uid" || name == "gid" || name == "allow_other") return find_key("mount", name);
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return find_key("", name);
  return find_key(name.substr(0, dot), name.substr(dot + 1));
}

std::string nearest_option(std::string_view name) {
  std::vector<std::string> known = all_full_names();
  for (const std::string_view flag : kKernelFlags) known.emplace_back(flag);
  known.insert(known.end(), {"uid", "gid", "allow_other"});
  return did_you_mean(name, known);
}

Result<void> add_option(const std::string& option, const OptionRules& rules, MountOptions& result) {
  if (option == "rw") {
    if (rules.ignore_rw) return {};
    return refuse_option(option, "this mount is read-only for now; leave it out or write ro");
  }
  if (option == "remount") {
    return refuse_option(option, "a mount cannot be changed; unmount it and mount it again");
  }
  if (contains(kKernelFlags, option)) {
    result.kernel_options.push_back(option);
    return {};
  }
  if (means_nothing_here(option)) return {};

  const std::size_t equals = option.find('=');
  const std::string name = option.substr(0, equals);
  const Key* const key = key_of(name);
  if (key == nullptr) {
    if (rules.ignore_unknown) return {};
    return refuse_option(name, "no such option" + nearest_option(name));
  }
  // Every user of the machine can read every command line.
  if (key->is_secret) {
    return refuse_option(
        name,
        "a secret cannot be given on a command line, which every user can read; use "
        "credentials.file");
  }
  const bool is_boolean = std::holds_alternative<Boolean>(key->rule);
  if (equals == std::string::npos && !is_boolean) {
    return refuse_option(name, "has no value; write it like " + name + "=VALUE");
  }
  result.overrides.push_back(
      {.key = key,
       .text = equals == std::string::npos ? "true" : option.substr(equals + 1),
       .source = "option -o " + name});
  return {};
}

}  // namespace

Result<std::vector<std::string>> split_options(std::string_view list) {
  std::vector<std::string> options(1);
  bool quoted = false;
  for (const char c : list) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      options.emplace_back();
    } else {
      options.back() += c;
    }
  }
  // Without the list: the text after the quote may be a secret.
  if (quoted) return refuse_option("LIST", "a double quote is not closed");
  std::erase(options, "");
  return options;
}

Result<MountOptions> parse_mount_options(std::span<const std::string> lists,
                                         const OptionRules& rules) {
  MountOptions result;
  for (const std::string& list : lists) {
    const Result<std::vector<std::string>> options = split_options(list);
    if (!options) return std::unexpected(options.error());
    for (const std::string& option : *options) {
      if (Result<void> added = add_option(option, rules, result); !added) {
        return std::unexpected(added.error());
      }
    }
  }
  return result;
}

}  // namespace s3rdmafs::config
