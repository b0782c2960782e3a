// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <tuple>

#include "config/credentials/credentials.h"
#include "config/load.h"
#include "daemon/cli/verbs.h"
#include "daemon/mount/buckets/buckets.h"
#include "daemon/mount/mount_point.h"
#include "daemon/mount/mounted_bucket.h"
#include "daemon/mount/process/background.h"
#include "daemon/mount/process/descriptors.h"
#include "daemon/mount/process/last_words.h"
#include "daemon/mount/process/private_memory.h"
#include "daemon/mount/process/readiness.h"
#include "daemon/mount/store_options.h"
#include "daemon/reload/hangup_listener.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/log_setup.h"
#include "s3rdmafs/base/unique_fd.h"

namespace s3rdmafs::daemon {
namespace {

Result<void> enter_namespace(const std::string& path) {
  if (path.empty()) return {};
  const UniqueFd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space || ::setns(space.get(), CLONE_NEWNS) != 0) {
    return fail_errno("entering mount namespace " + path, errno);
  }
  return {};
}

Result<void> set_up_mount_log(const MountPlan& plan, bool foreground, bool under_systemd) {
  const config::MountConfig::Log& log = plan.config.log;
  LogSetup setup{.level = log.level,
                 .sink = LogSink::kSyslog,
                 .file = log.file,
                 .format = log.format,
                 .mount_point = plan.mount_point};
  if (foreground) {
    setup.sink = under_systemd ? LogSink::kJournal : LogSink::kStandardError;
    setup.file.clear();
  }
  return set_up_log(setup);
}

Result<MountPlan> plan_mount(const MountCommand& command, config::LoadedConfig& loaded,
                             const config::Environment& environment) {
  MountPlan plan;
  plan.config = loaded.config;
  plan.kernel_options = command.kernel_options;
  const std::string& point =
      command.mountpoint.empty() ? loaded.config.mount.point : command.mountpoint;
  if (point.empty()) {
    return fail(ErrorCode::kInvalidArgument,
                "no mount point: pass it after the mount file, or set mount.point in it");
  }
  auto checked = check_mount_point(point);
  if (!checked) return std::unexpected(checked.error());
  plan.mount_point = *checked;

  const auto warnings = choose_keys(environment, plan);
  if (!warnings) return std::unexpected(warnings.error());
  for (const std::string& warning : *warnings) loaded.warnings.push_back(warning);
  std::error_code ignored;
  plan.source = std::filesystem::absolute(command.file, ignored).string();
  plan.load_again = [file = plan.source, environment, overrides = command.overrides] {
    return config::load_mount_config(file, environment, overrides);
  };
  return plan;
}

Result<void> serve_mount(const MountPlan& plan, const std::function<void()>& ready) {
  const config::MountConfig& config = plan.config;
  raise_descriptor_limit();
  auto mounted = MountedBucket::create(plan);
  if (!mounted) return std::unexpected(mounted.error());
  auto result = (*mounted)->serve([&] {
    std::vector<std::string> names;
    for (const auto& [directory, settings] : settings_of_buckets(config)) {
      const std::vector<std::string> urls = settings.endpoint.all_urls();
      names.push_back(settings.bucket.name);
      log::info("mounted bucket {} of {}{} on {}", settings.bucket.name, urls.front(),
                urls.size() > 1 ? fmt::format(" and {} more", urls.size() - 1) : "",
                directory.empty() ? plan.mount_point : plan.mount_point + "/" + directory);
    }
    notify_ready(names.size() == 1
                     ? fmt::format("bucket {} on {}", names.front(), plan.mount_point)
                     : fmt::format("{} buckets on {}", names.size(), plan.mount_point));
    ready();
  });
  notify_stopping();
  mounted->reset();
  log::info("{} is no longer mounted", plan.mount_point);
  return result;
}

}  // namespace

int run_mount(const MountCommand& command) {
  keep_memory_private();
  if (auto entered = enter_namespace(command.mount_namespace); !entered) {
    return report(entered.error());
  }
  const auto environment = config::Environment::of_this_process();
  auto loaded = config::load_mount_config(command.file, environment, command.overrides);
  if (!loaded) {
    std::ignore = report_mistakes(loaded.error());
    return kExitUsage;  // systemd's unit does not try again: the file does not mend itself
  }
  auto plan = plan_mount(command, *loaded, environment);
  if (!plan) return report(plan.error());
  if (command.fake) return kExitSuccess;

  // A terminal that is closed ends what runs in its foreground; nothing else has a use for that.
  plan->reloads_on_hangup = !command.foreground || ::isatty(STDIN_FILENO) == 0;
  if (plan->reloads_on_hangup) hold_hangups();
  const bool under_systemd = environment.variable("JOURNAL_STREAM").has_value();
  const auto serve = [&](const std::function<void()>& ready) -> Result<void> {
    if (auto set = set_up_mount_log(*plan, command.foreground, under_systemd); !set) return set;
    for (const std::string& warning : loaded->warnings) log::warn("{}", warning);
    return serve_mount(*plan, ready);
  };
  if (command.foreground) leave_last_words(-1);
  const auto result = command.foreground ? serve([] {}) : run_in_background(serve);
  return result ? kExitSuccess : report(result.error());
}

}  // namespace s3rdmafs::daemon
