// SPDX-License-Identifier: Apache-2.0
#include "target_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>

#include <curl/curl.h>
#include <gtest/gtest.h>

namespace s3rdmafs::fault {
namespace {

// More than a loaded machine needs to start or to end a process.
constexpr std::chrono::seconds kProcessDeadline{20};
constexpr std::chrono::milliseconds kPoll{5};

/// Asks until `condition` is true or the deadline has passed.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + kProcessDeadline;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

std::size_t append(char* data, std::size_t size, std::size_t count, void* text) noexcept {
  static_cast<std::string*>(text)->append(data, size * count);
  return size * count;
}

std::string fetch(const std::string& url) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> easy(curl_easy_init(),
                                                                 &curl_easy_cleanup);
  std::string text;
  curl_easy_setopt(easy.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_NOPROXY, "*");
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT, static_cast<long>(kProcessDeadline.count()));
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &text);
  EXPECT_EQ(curl_easy_perform(easy.get()), CURLE_OK) << url;
  return text;
}

}  // namespace

TargetProcess::TargetProcess(const std::vector<std::string>& options) {
  std::string pattern = (std::filesystem::temp_directory_path() / "s3rdma-fault-XXXXXX").string();
  folder_ = ::mkdtemp(pattern.data());
  std::filesystem::create_directories(folder_ / "root" / kBucket);
  const std::filesystem::path port_file = folder_ / "port";

  std::vector<std::string> arguments = {
      TARGET_PROGRAM,   "--root",
      folder_ / "root", "--listen",
      "127.0.0.1:0",    "--port-file",
      port_file,        std::string("--key=") + kAccessKey + ":" + kSecretKey,
      "--log-level",    "error"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  // Where it listens is in the port file; its errors are worth seeing.
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  EXPECT_EQ(::posix_spawn(&pid_, TARGET_PROGRAM, &actions, nullptr, argv.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_TRUE(eventually([&] { return std::filesystem::exists(port_file); }))
      << "s3rdma-target does not start";
  std::ifstream(port_file) >> port_;
}

TargetProcess::~TargetProcess() {
  stop();
  std::filesystem::remove_all(folder_);
}

std::string TargetProcess::endpoint() const { return "http://127.0.0.1:" + port_; }

std::string TargetProcess::shm_socket() const { return "@s3rdma-target-" + port_; }

std::filesystem::path TargetProcess::object(const std::string& key) const {
  return folder_ / "root" / kBucket / key;
}

void TargetProcess::put_object(const std::string& key, const std::string& bytes) const {
  std::ofstream(object(key), std::ios::binary) << bytes;
}

std::uint64_t TargetProcess::counter(const std::string& name) const {
  std::istringstream lines(fetch(endpoint() + "/.s3rdma-target/metrics"));
  std::uint64_t sum = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("#") || line.find(name) == std::string::npos) continue;
    sum += std::stoull(line.substr(line.rfind(' ') + 1));
  }
  return sum;
}

void TargetProcess::stop() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  if (!eventually([&] { return ::waitpid(pid_, nullptr, WNOHANG) == pid_; })) {
    ADD_FAILURE() << "s3rdma-target does not end";
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = -1;
}

}  // namespace s3rdmafs::fault
