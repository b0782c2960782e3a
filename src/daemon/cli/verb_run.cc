// SPDX-License-Identifier: Apache-2.0
// A program gets the library by LD_PRELOAD, which its children inherit. The library is looked for
// relative to this program, so a tarball works wherever it was unpacked.
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "client/preload/report.h"
#include "daemon/cli/verbs.h"

namespace s3rdmafs::daemon {
namespace {

// As env(1) has them.
constexpr int kExitCannotRun = 126;
constexpr int kExitNotFound = 127;

constexpr const char* kLibrary = "libs3rdmafs_preload.so";

Result<std::string> preload_library() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail(ErrorCode::kSystem, "/proc/self/exe: " + error.message());
  // As installed; as built.
  for (const char* const folder : {S3RDMAFS_PRELOAD_FROM_BIN, "../client/preload"}) {
    const auto library = (program.parent_path() / folder / kLibrary).lexically_normal();
    if (std::filesystem::exists(library, error)) return library.string();
  }
  return fail_with_advice(
      ErrorCode::kNotFound, std::string(kLibrary) + " is not installed",
      "install all of s3rdmafs, or its library by hand in " +
          (program.parent_path() / S3RDMAFS_PRELOAD_FROM_BIN).lexically_normal().string());
}

// Called before any thread is started.
// NOLINTBEGIN(concurrency-mt-unsafe)
void put_first(const char* variable, const std::string& value) {
  const char* const others = std::getenv(variable);
  const bool has_others = others != nullptr && *others != '\0';
  ::setenv(variable, has_others ? (value + ":" + others).c_str() : value.c_str(), 1);
}

int run_command(const PastFuseCommand& command, const std::string& library) {
  put_first("LD_PRELOAD", library);
  if (!command.report.empty()) {
    // Programs change their working directories.
    ::setenv(client::kReportVariable, std::filesystem::absolute(command.report).c_str(), 1);
  }
  std::vector<char*> arguments;
  arguments.reserve(command.words.size() + 1);
  for (const std::string& word : command.words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  const int failed = errno;
  std::ignore = report({ErrorCode::kSystem, command.words.front() + ": " + std::strerror(failed)});
  return failed == ENOENT ? kExitNotFound : kExitCannotRun;
}
// NOLINTEND(concurrency-mt-unsafe)

}  // namespace

int run_past_fuse(const PastFuseCommand& command) {
  const auto library = preload_library();
  if (!library) {
    std::ignore = report(library.error());
    return kExitNotFound;
  }
  return run_command(command, *library);
}

}  // namespace s3rdmafs::daemon
