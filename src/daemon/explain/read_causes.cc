// SPDX-License-Identifier: Apache-2.0
// Causes between programs and the mount, where they read.
#include <algorithm>

#include "daemon/explain/causes.h"
#include "fuse/kernel/kernel_settings.h"
#include "s3rdmafs/base/log.h"
#include "s3rdmafs/base/transfer_sizes.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::daemon {
namespace {

// Below this size the cost of a request is more than that of its bytes
// (tools/bench/MEASUREMENTS.md: 18 us a request, 0.13 s a GB).
constexpr double kSmallRead = 64.0 * kKiB;
// Fewer in a second are not a load.
constexpr double kManyReads = 100, kManyOpens = 500, kManyLookups = 200;
// A stream on a fast server waits for 10 of 256 reads (tools/bench/MEASUREMENTS.md); far more is a
// server that does not keep up.
constexpr double kWaitShare = 0.2;
constexpr unsigned kReadAheadBestKib = 2048;

bool is_cold(const Look& look) { return look.from_servers() > 0.3 * look.rates.programs().read; }

std::optional<Finding> small_reads(const Look& look) {
  const double reads = look.reads();
  if (reads < kManyReads || look.rates.kernel.read / reads >= kSmallRead) return std::nullopt;
  return Finding{.cause = "programs read a little at a time",
                 .evidence = fmt::format("{} reads of {} each", format_frequency(reads),
                                         format_bytes(look.rates.kernel.read / reads)),
                 .advice =
                     "read 1 MiB and more at once, or make the files resident with "
                     "`s3rdmafs warm`: the kernel then serves them by itself"};
}

std::optional<Finding> single_stream(const Look& look) {
  if (look.rates.kernel.read < 1e6 || look.rates.files.empty() || !is_cold(look)) {
    return std::nullopt;
  }
  const TopModel::File& first = look.rates.files.front();
  const bool is_alone = first.read > 0.8 * look.rates.programs().read;
  const bool waits = look.rates.waits > kWaitShare * look.reads();
  if (!is_alone || !waits) return std::nullopt;
  return Finding{.cause = "one reader of one file waits for the server",
                 .evidence = fmt::format("{} reads {} at {}", first.process, first.path,
                                         format_rate(first.read)),
                 .advice =
                     "read several files side by side, or fetch ahead with `s3rdmafs warm`; "
                     "read_ahead.window_max bounds how far one reader is served ahead"};
}

std::optional<Finding> random_reads(const Look& look) {
  const double fetched = look.from_servers(), read = look.rates.programs().read;
  if (fetched < 1e6 || fetched < 2 * read) return std::nullopt;
  return Finding{.cause = "more is fetched than programs read",
                 .evidence = fmt::format("{} from servers for {} read", format_rate(fetched),
                                         format_rate(read)),
                 .advice =
                     "reads are scattered: make the files resident with `s3rdmafs warm`, or "
                     "read larger pieces"};
}

std::optional<Finding> waits_for_memory(const Look& look) {
  const double waiting = look.now("cache_reads_waiting");
  const double free = look.rates.now.sum("cache_slabs", "state", "free");
  const double evicted = look.rates.evictions;
  const bool is_full = free == 0 && waiting > 0 && evicted > 0;
  const bool churns = evicted * kSlabBytes > 0.5 * look.from_servers() && evicted > 1 &&
                      look.from_servers() > 1.5 * look.rates.programs().read;
  if (!is_full && !churns) return std::nullopt;
  return Finding{.cause = "the cache is too small for what is read at one time",
                 .evidence = fmt::format("{} reads wait, {} slabs evicted, cache of {}", waiting,
                                         format_frequency(evicted),
                                         format_bytes(look.now("cache_size_bytes"))),
                 .advice = "raise cache.size; each stream wants up to read_ahead.window_max of it"};
}

std::string_view advice_for_declined(std::string_view reason) {
  if (reason == "no_room") return "raise cache.size, of which whole objects get half";
  if (reason == "kernel_refused") {
    return "passthrough wants Linux 6.9 and CAP_SYS_ADMIN: run the mount as root";
  }
  if (reason == "other_mode")
    return "the file was open in another way; it changes at its next open";
  if (reason == "being_fetched") return "others already fetch it: nothing to do";
  return "the log says why files could not be fetched whole";
}

std::optional<Finding> not_passed_through(const Look& look) {
  double opens = 0, declined = 0;
  for (const auto& [mode, rate] : look.rates.opens) opens += rate;
  for (const auto& [reason, rate] : look.rates.declined) declined += rate;
  if (declined == 0 || declined < opens / 10) return std::nullopt;
  const auto most = std::ranges::max_element(look.rates.declined, {},
                                             [](const auto& each) { return each.second; });
  return Finding{
      .cause = "files are not passed through to the kernel",
      .evidence = fmt::format("{} of {} opens, mostly \"{}\"", format_frequency(declined),
                              format_frequency(opens), most->first),
      .advice = std::string(advice_for_declined(most->first))};
}

std::optional<Finding> many_opens(const Look& look) {
  double opens = 0;
  for (const auto& [mode, rate] : look.rates.opens) opens += rate;
  const bool by_device = look.setting("mount.transport") == "/dev/fuse";
  if (opens < kManyOpens || !by_device) return std::nullopt;
  return Finding{.cause = "many small files come through /dev/fuse",
                 .evidence = format_frequency(opens) + " opens",
                 .advice =
                     "mount.transport = \"uring\" halves the cost of a request (Linux 6.14); "
                     "packing samples into shards saves most"};
}

std::optional<Finding> many_lookups(const Look& look) {
  if (look.rates.lookups_at_store < kManyLookups) return std::nullopt;
  return Finding{
      .cause = "names are looked up at the server one by one",
      .evidence = format_frequency(look.rates.lookups_at_store) + " lookups",
      .advice = "raise metadata.ttl, or mount with metadata.manifest where no client writes"};
}

std::optional<Finding> small_requests(const Look& look) {
  const double granted = look.now("fuse_request_bytes_max");
  if (granted == 0 || granted >= fuse::kRequestBytesMax || look.rates.kernel.read < 100e6) {
    return std::nullopt;
  }
  return Finding{.cause = "the kernel cuts reads into small requests",
                 .evidence = "at most " + format_bytes(granted) + " each",
                 .advice = "sysctl fs.fuse.max_pages_limit=1024 (Linux 6.13), then mount again"};
}

std::optional<Finding> short_kernel_read_ahead(const Look& look) {
  const std::uint64_t kib = look.kernel_read_ahead_kib;
  if (kib == 0 || kib >= kReadAheadBestKib) return std::nullopt;
  return Finding{.cause = "the kernel reads ahead too little",
                 .evidence = fmt::format("{} KiB", kib),
                 .advice =
                     "mount as root, or write 2048 to read_ahead_kb of the mount in "
                     "/sys/class/bdi"};
}

std::optional<Finding> disk_is_down(const Look& look) {
  if (look.now("disk_size_bytes") == 0 || look.now("disk_up") != 0) return std::nullopt;
  return Finding{.cause = "the disk cache is not in use",
                 .evidence = fmt::format("{} failures of the disk", look.now("disk_errors_total")),
                 .advice = "the log names the failure; free the disk, or name another disk.path"};
}

}  // namespace

std::vector<Cause> read_causes() {
  return {{"waits_for_memory", waits_for_memory},
          {"random_reads", random_reads},
          {"small_reads", small_reads},
          {"single_stream", single_stream},
          {"not_passed_through", not_passed_through},
          {"many_lookups", many_lookups},
          {"many_opens", many_opens},
          {"small_requests", small_requests},
          {"short_kernel_read_ahead", short_kernel_read_ahead},
          {"disk_is_down", disk_is_down}};
}

}  // namespace s3rdmafs::daemon
