// SPDX-License-Identifier: Apache-2.0
//
// The one load that every contestant of the benchmark gets: reads files in a given way and prints
// what it did as JSON. `read_load make` writes a file whose pages `--verify` can check.
#include <cstdio>
#include <fstream>

#include <CLI/CLI.hpp>

#include "load/content.h"
#include "load/patterns.h"
#include "s3rdmafs/base/units.h"

namespace s3rdmafs::bench {
namespace {

int make_file(const std::string& path, std::uint64_t size) {
  std::ofstream file(path, std::ios::binary);
  std::vector<char> page(kPageBytes, 'x');
  for (std::uint64_t at = 0; at < size && file; at += kPageBytes) {
    const std::uint64_t stamp = stamp_of_page(at / kPageBytes);
    std::memcpy(page.data(), &stamp, sizeof(stamp));
    file.write(page.data(), static_cast<std::streamsize>(std::min(kPageBytes, size - at)));
  }
  file.close();
  if (!file) give_up_errno(path.c_str());
  return 0;
}

void print(const Outcome& outcome) {
  std::printf(
      "{\"bytes\": %llu, \"ops\": %llu, \"seconds\": %.6f, \"cpu_seconds\": %.6f, "
      "\"p50_us\": %.2f, \"p99_us\": %.2f}\n",
      static_cast<unsigned long long>(outcome.total.bytes),
      static_cast<unsigned long long>(outcome.total.ops), outcome.seconds, outcome.cpu_seconds,
      outcome.total.p50_us, outcome.total.p99_us);
}

}  // namespace
}  // namespace s3rdmafs::bench

int main(int argc, char** argv) {
  using namespace s3rdmafs;
  CLI::App app("Reads files the way a benchmark wants it and prints the result as JSON.");
  app.require_subcommand(1);
  bench::Load load;
  load.block_bytes = kMiB;
  std::vector<std::string> paths;
  std::uint64_t count = 0;
  std::uint64_t share_bytes = 0;
  const auto subcommand = [&](const char* name, const char* description) {
    CLI::App* sub = app.add_subcommand(name, description);
    sub->add_option("--how", load.how, "read, mmap or library")
        ->transform(CLI::CheckedTransformer(
            std::map<std::string, bench::How>{{"read", bench::How::kRead},
                                              {"mmap", bench::How::kMmap},
                                              {"library", bench::How::kLibrary}}));
    sub->add_option("--block", load.block_bytes, "Bytes of one read")->check(CLI::PositiveNumber);
    sub->add_option("--readers", load.readers, "Processes");
    sub->add_flag("--verify", load.verify, "Check the stamp of every page");
    sub->add_option("--seed", load.seed, "Of the random order");
    sub->add_option("paths", paths)->required();
    return sub;
  };
  auto* make = app.add_subcommand("make", "Write a file with stamped pages");
  make->add_option("--size", count, "Bytes")->required();
  make->add_option("paths", paths)->required();
  auto* sequential = subcommand("sequential", "Files, front to back");
  sequential->add_option("--share", share_bytes, "Readers take turns with pieces of so many bytes");
  auto* random = subcommand("random", "Random blocks of one file");
  random->add_option("--reads", count, "How many in all")->required();
  auto* files = subcommand(
      "files", "The files of a folder, each whole, in random order unless told otherwise");
  files->add_option("--files", count, "At most so many; 0: all");
  files->add_flag("--in-order", load.in_order, "In the order of the names");
  auto* drop = app.add_subcommand("drop", "Take the files below a folder out of the page cache");
  drop->add_option("paths", paths)->required();
  auto* again = subcommand("again", "One block again and again, for the latency of a hit");
  again->add_option("--reads", count, "How many")->required()->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);

  if (make->parsed()) return bench::make_file(paths[0], count);
  if (drop->parsed()) bench::drop_from_page_cache(paths[0]);
  if (sequential->parsed()) bench::print(bench::read_sequentially(load, paths, share_bytes));
  if (random->parsed()) bench::print(bench::read_randomly(load, paths[0], count));
  if (files->parsed()) bench::print(bench::read_files(load, paths[0], count));
  if (again->parsed()) bench::print(bench::read_again(load, paths[0], count));
  return 0;
}
