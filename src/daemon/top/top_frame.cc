// SPDX-License-Identifier: Apache-2.0
// From top to bottom: the mount, throughput as numbers and as a graph, one line for each subject,
// files and processes in the rows that are left, the keys. A person finds each at the same place
// whatever happens; a subject of which nothing is to be told says so.
#include "daemon/top/top_frame.h"

#include <algorithm>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::size_t kTitleCells = 10;  // of a subject's line
// A quarter of a tall terminal, and enough for a shape on one of 24 rows.
constexpr std::size_t kGraphRowsMin = 4, kGraphRowsMax = 14;
constexpr std::size_t kProcessesMin = 2;  // and their heading, also on 24 rows

class Frame {
 public:
  Frame(const TopModel& model, const FrameOptions& options) : model_(model), options_(options) {}

  void draw_head(const std::string& mount_point);
  void draw_throughput(std::span<const Throughput> history);
  void draw_subjects();
  void draw_tables();
  [[nodiscard]] std::vector<std::string> finish();

 private:
  TextLine& line() { return lines_.emplace_back(options_.columns, options_.is_plain); }
  TextLine& subject(std::string_view title) {
    return line().add_left(title, kTitleCells, Style::kDim);
  }
  [[nodiscard]] std::size_t rows_left() const {
    const std::size_t taken = lines_.size() + 1;  // the keys
    return options_.rows > taken ? options_.rows - taken : 0;
  }
  void draw_cache();
  void draw_requests();
  void draw_endpoint(const TopModel::Endpoint& endpoint);
  void draw_rdma();
  void draw_kernel();
  void draw_files(std::size_t rows);
  void draw_processes(std::size_t rows);

  const TopModel& model_;
  const FrameOptions& options_;
  std::vector<TextLine> lines_;
};

std::string format_age(std::chrono::seconds age) {
  const auto count = age.count();
  if (count < 60) return fmt::format("{} s", count);
  if (count < 3600) return fmt::format("{} min", count / 60);
  if (count < 86400) return fmt::format("{} h {} min", count / 3600, count / 60 % 60);
  return fmt::format("{} d {} h", count / 86400, count / 3600 % 24);
}

/// "get 12/s  head 3/s"; empty where there is none.
std::string format_rates(const std::map<std::string, double>& rates) {
  std::vector<std::pair<std::string, double>> sorted(rates.begin(), rates.end());
  std::ranges::sort(sorted, {},
                    [](const auto& each) { return std::pair(-each.second, each.first); });
  std::string text;
  for (const auto& [name, rate] : sorted) {
    text += fmt::format("{}{} {}", text.empty() ? "" : "  ", name, format_frequency(rate));
  }
  return text;
}

std::string format_share(double part, double rest) {
  const double all = part + rest;
  return all == 0 ? "-" : fmt::format("{:.1f} %", 100 * part / all);
}

void Frame::draw_head(const std::string& mount_point) {
  TextLine& head = line();
  head.add("s3rdmafs ", Style::kBold).add(mount_point, Style::kBold);
  head.add(fmt::format("  bucket {} of {}, mounted for {}", model_.mount.bucket,
                       model_.mount.endpoint, format_age(model_.mount.age)));
  if (options_.is_paused) head.add("  paused", Style::kAlert);
}

void Frame::draw_throughput(std::span<const Throughput> history) {
  const double from_server = model_.rdma.read + model_.http.read;
  const double to_server = model_.rdma.written + model_.http.written;
  TextLine& read = subject("read");
  read.add_right(format_rate(model_.programs().read), 9, Style::kGood)
      .add(fmt::format("   from servers {:>9}, by RDMA {}", format_rate(from_server),
                       format_share(model_.rdma.read, model_.http.read)));
  if (model_.past_fuse > 0) {
    read.add(fmt::format("  past FUSE {}", format_share(model_.past_fuse, model_.kernel.read)),
             Style::kGood);
  }
  subject("written")
      .add_right(format_rate(model_.programs().written), 9, Style::kWritten)
      .add(fmt::format("   to servers   {:>9}, by RDMA {}", format_rate(to_server),
                       format_share(model_.rdma.written, model_.http.written)));
  const std::size_t rows = std::clamp(options_.rows / 4, kGraphRowsMin, kGraphRowsMax);
  for (TextLine& drawn : draw_graph(history, {.columns = options_.columns,
                                              .rows = rows,
                                              .is_ascii = options_.is_ascii,
                                              .is_plain = options_.is_plain})) {
    lines_.push_back(std::move(drawn));
  }
}

void Frame::draw_cache() {
  const Counters& now = model_.now;
  subject("cache").add(fmt::format("hits {}, {} wait, {} fills under way, {} of whole objects",
                                   format_share(model_.hits, model_.waits),
                                   now.sum("cache_reads_waiting"), now.sum("cache_fills_in_flight"),
                                   format_bytes(now.sum("cache_object_bytes"))));
}

void Frame::draw_requests() {
  const std::string rates = format_rates(model_.requests);
  TextLine& drawn = subject("requests").add(rates.empty() ? "none" : rates);
  if (!model_.failures.empty()) {
    drawn.add("  failed: " + format_rates(model_.failures), Style::kAlert);
  }
}

void Frame::draw_endpoint(const TopModel::Endpoint& endpoint) {
  TextLine& drawn = subject("server").add(endpoint.url);
  if (!endpoint.is_alive) drawn.add("  does not answer", Style::kAlert);
  drawn.add(fmt::format("  {}  {} under way", format_frequency(endpoint.requests),
                        format_bytes(endpoint.outstanding_bytes)));
  if (endpoint.failures_total > 0) drawn.add(fmt::format("  {} failures", endpoint.failures_total));
}

void Frame::draw_rdma() {
  TextLine& drawn = subject("by HTTP");
  if (model_.fallbacks_total.empty()) {
    drawn.add("no transfer that was to go by RDMA");
    return;
  }
  if (!model_.fallbacks.empty()) drawn.add(format_rates(model_.fallbacks) + "  ", Style::kAlert);
  drawn.add("since the mount:", Style::kDim);
  for (const auto& [reason, count] : model_.fallbacks_total) {
    drawn.add(fmt::format("  {} {}", reason, count));
  }
}

void Frame::draw_kernel() {
  const std::string opens = format_rates(model_.opens);
  TextLine& drawn = subject("opens").add(opens.empty() ? "none" : opens);
  if (!model_.declined.empty()) {
    drawn.add("  not passed through: ", Style::kDim).add(format_rates(model_.declined));
  }
}

void Frame::draw_subjects() {
  draw_cache();
  draw_kernel();
  draw_requests();
  draw_rdma();
  // More servers than these would leave no room for files.
  const std::size_t servers_max = std::max<std::size_t>(1, options_.rows / 12);
  for (std::size_t i = 0; i < std::min(servers_max, model_.endpoints.size()); ++i) {
    draw_endpoint(model_.endpoints[i]);
  }
  if (model_.endpoints.size() > servers_max) {
    subject("server").add(fmt::format("and {} more", model_.endpoints.size() - servers_max));
  }
}

void Frame::draw_files(std::size_t rows) {
  TextLine& head = line();
  head.add_right("READ", 9, Style::kBold).add_right("WRITTEN", 11, Style::kBold);
  head.add("  WAY     ", Style::kBold).add_left("PROCESS", 22, Style::kBold);
  head.add(fmt::format("FILE ({} open)", model_.files_open), Style::kBold);
  for (std::size_t i = 0; i + 1 < rows && i < model_.files.size(); ++i) {
    const TopModel::File& file = model_.files[i];
    TextLine& drawn = line();
    // Reads that the kernel serves by itself are not seen.
    const bool is_seen = file.way != "kernel";
    drawn.add_right(is_seen ? format_rate(file.read) : "-", 9);
    drawn.add_right(is_seen ? format_rate(file.written) : "-", 11);
    drawn.add("  ").add_left(file.way, 8, is_seen ? Style::kPlain : Style::kGood);
    drawn.add_left(file.process, 21).add(" ").add(file.path);
  }
}

void Frame::draw_processes(std::size_t rows) {
  line()
      .add_right("READ", 9, Style::kBold)
      .add_right("WRITTEN", 11, Style::kBold)
      .add_right("OPENS", 10, Style::kBold)
      .add("  PROCESS", Style::kBold);
  for (std::size_t i = 0; i + 1 < rows && i < model_.processes.size(); ++i) {
    const TopModel::Process& process = model_.processes[i];
    line()
        .add_right(format_rate(process.read), 9)
        .add_right(format_rate(process.written), 11)
        .add_right(format_frequency(process.opens), 10)
        .add(fmt::format("  {} {}", process.name, process.id));
  }
}

// Processes take a third, and what files leave.
void Frame::draw_tables() {
  const std::size_t rows = rows_left();
  const std::size_t wanted = model_.processes.size() + 1;
  const std::size_t least = std::min({wanted, rows, kProcessesMin + 1});
  const std::size_t for_files = std::min(model_.files.size() + 1, rows - least);
  const std::size_t for_processes = std::min(wanted, std::max({least, rows / 3, rows - for_files}));
  if (rows > for_processes) draw_files(rows - for_processes);
  if (rows_left() > 1) draw_processes(rows_left());
}

std::vector<std::string> Frame::finish() {
  while (lines_.size() + 1 < options_.rows) line();
  lines_.resize(std::min(lines_.size(), options_.rows - 1), TextLine(0, true));
  line().add(fmt::format("q quit   p pause   every {} ms", options_.interval.count()), Style::kDim);
  std::vector<std::string> texts;
  texts.reserve(lines_.size());
  for (const TextLine& drawn : lines_) texts.push_back(drawn.text());
  return texts;
}

}  // namespace

std::vector<std::string> draw_frame(const TopModel& model, std::span<const Throughput> history,
                                    const std::string& mount_point, const FrameOptions& options) {
  Frame frame(model, options);
  frame.draw_head(mount_point);
  frame.draw_throughput(history);
  frame.draw_subjects();
  frame.draw_tables();
  return frame.finish();
}

}  // namespace s3rdmafs::daemon
