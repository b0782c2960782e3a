// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"
#include "config/mount_config.h"
#include "s3rdmafs/base/error.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::daemon {

/// A key of the mount file that can change while the bucket is mounted.
struct LiveSetting {
  std::string_view key;                                   ///< "read_ahead.window_max"; a literal
  std::function<void(const config::MountConfig&)> apply;  ///< takes the key's value from it
};

/// A key whose value in the mount file differs from the one in effect.
struct SettingChange {
  /// "cache.size"; "resident" for all tables of that name; "[[bucket]] DIRECTORY" for one of those
  std::string key;
  std::string before;  ///< in effect, as the mount file spells it; secrets as "********"
  std::string after;
  bool is_live = false;  ///< false: it takes a new mount
};

/// Reads the mount file of a mount again, and changes what can change without a new mount.
/// Thread-safe; one reload at a time.
class Reloader {
 public:
  using Load = std::function<Result<config::LoadedConfig>()>;
  enum class Extent {
    kTell,   ///< nothing changes
    kApply,  ///< live settings change
  };

  /// @param mounted  in effect
  /// @param load     the mount file as it is now, with the environment and the options of the mount
  Reloader(const config::MountConfig& mounted, Load load, std::vector<LiveSetting> live);

  /// The differences, in the order of the man page. A key that takes a new mount differs again next
  /// time. Logs what it applies. Errors: those of `load`, and then nothing changes.
  [[nodiscard]] Result<std::vector<SettingChange>> reload(Extent extent) EXCLUDES(mutex_);

  /// The settings in effect, spelled as in a mount file; secrets as "********".
  [[nodiscard]] std::string settings_text() EXCLUDES(mutex_);

 private:
  /// A value as it is, and as it may be told.
  struct Value {
    std::string text;
    std::string shown;
  };
  using Values = std::map<std::string, Value, std::less<>>;
  /// In the order of the man page.
  using Listed = std::vector<std::pair<std::string, Value>>;
  [[nodiscard]] static Listed values_of(config::MountConfig config);
  [[nodiscard]] const LiveSetting* live_setting(std::string_view key) const;

  const Load load_;
  const std::vector<LiveSetting> live_;
  Mutex mutex_;  // outermost: apply() takes the locks of the layers
  Values in_effect_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::daemon
