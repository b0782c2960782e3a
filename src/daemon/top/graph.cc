// SPDX-License-Identifier: Apache-2.0
#include "daemon/top/graph.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon {
namespace {

constexpr std::size_t kScaleCells = 11;  // "500 MB/s " and the axis
constexpr std::array<std::string_view, 9> kEighths = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct Unit {
  double size;
  std::string_view name;
};

/// Three digits, whatever the size.
std::string format_number(double value, std::span<const Unit> units) {
  auto unit =
      std::ranges::find_if(units, [value](const Unit& each) { return value < each.size * 999.5; });
  if (unit == units.end()) --unit;
  const double shown = value / unit->size;
  const int decimals = unit->size == 1 || shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", shown, decimals, unit->name);
}

/// The part of a row that a column fills up to `value`, in eighths.
std::size_t eighths_of(double value, double top, std::size_t rows, std::size_t row_from_bottom) {
  const double filled = value / top * static_cast<double>(rows) * 8;
  const double rest = filled - static_cast<double>(row_from_bottom) * 8;
  return static_cast<std::size_t>(std::lround(std::clamp(rest, 0.0, 8.0)));
}

/// @param read, all  filled eighths: of what was read, and with what was written on top of it
void draw_cell(TextLine& line, std::size_t read, std::size_t all, bool is_ascii) {
  const bool is_written = read < all && read < all - read;
  if (is_ascii) {
    line.add(all == 0 ? " " : all < 4 ? "." : is_written ? "=" : "#");
    return;
  }
  // Shaded, so that a terminal without colours tells them apart.
  const std::string_view block = is_written && all == 8 ? "▒" : kEighths[all];
  line.add(block, is_written ? Style::kWritten : Style::kGood);
}

}  // namespace

double top_of_scale(double value) {
  double top = 1e6;
  while (true) {
    for (const double step : {1.0, 2.0, 5.0}) {
      if (value <= top * step) return top * step;
    }
    top *= 10;
  }
}

std::string format_rate(double bytes_per_second) {
  static constexpr Unit kUnits[] = {
      {1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s"}};
  return format_number(bytes_per_second, kUnits);
}

std::string format_bytes(double bytes) {
  static constexpr Unit kUnits[] = {
      {1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}};
  return format_number(bytes, kUnits);
}

std::string format_frequency(double per_second) {
  if (per_second > 0 && per_second < 9.95) return fmt::format("{:.1f}/s", per_second);
  std::string digits = fmt::format("{:.0f}", per_second);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits + "/s";
}

std::vector<TextLine> draw_graph(std::span<const Throughput> points, const GraphOptions& options) {
  const std::size_t width = options.columns > kScaleCells ? options.columns - kScaleCells : 0;
  points = points.last(std::min(points.size(), width));
  double highest = 0;
  for (const Throughput& point : points) highest = std::max(highest, point.read + point.written);
  const double top = top_of_scale(highest);
  std::vector<TextLine> lines;
  for (std::size_t row = 0; row < options.rows; ++row) {
    const std::size_t from_bottom = options.rows - 1 - row;
    TextLine& line = lines.emplace_back(options.columns, options.is_plain);
    const std::string scale = row == 0           ? format_rate(top)
                              : from_bottom == 0 ? std::string("0")
                                                 : std::string();
    line.add_right(scale, kScaleCells - 2, Style::kDim);
    line.add(options.is_ascii ? " |" : " │", Style::kDim);
    line.move_to(options.columns - points.size());
    for (const Throughput& point : points) {
      draw_cell(line, eighths_of(point.read, top, options.rows, from_bottom),
                eighths_of(point.read + point.written, top, options.rows, from_bottom),
                options.is_ascii);
    }
  }
  return lines;
}

}  // namespace s3rdmafs::daemon
