// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "s3rdmafs/base/mutex.h"

struct MHD_Connection;
struct MHD_Daemon;

namespace s3rdmafs::fakes {

/// What a ScriptedHttpServer does with one request.
struct ScriptedAnswer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// The Content-Length that is announced where it is not the body's: the connection is cut once
  /// the body is out.
  std::optional<std::uint64_t> announced_bytes = {};
  /// Cut the connection instead of answering.
  bool cut = false;
  /// Answer only after release(), or never.
  bool hold = false;
};

/// S3's answer to a request that it refuses.
inline ScriptedAnswer error_answer(unsigned status, const std::string& code,
                                   const std::string& message = "") {
  return {.status = status,
          .body = "<Error><Code>" + code + "</Code><Message>" + message + "</Message></Error>"};
}

struct SeenRequest {
  std::string method;
  std::string url;                             ///< path only, as it was sent
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string query = {};                      ///< "a=1&b", as it was sent
  std::string body = {};
  std::string client_address = {};  ///< "127.0.0.1"
  std::uint16_t client_port = 0;    ///< with the address: which connection it came by
};

/// An HTTP server on a free port of 127.0.0.1 that answers what a test tells it to, in order.
/// Thread-safe. Destroying it lets go of whatever is held.
class ScriptedHttpServer {
 public:
  ScriptedHttpServer();
  ~ScriptedHttpServer();
  ScriptedHttpServer(const ScriptedHttpServer&) = delete;
  ScriptedHttpServer& operator=(const ScriptedHttpServer&) = delete;

  [[nodiscard]] std::string url() const;

  /// One more answer at the end of the script. What comes after the script gets the last one again.
  void then(ScriptedAnswer answer);
  /// From here on every request is answered by `answer` instead, on any of several threads; none is
  /// recorded.
  void answer_by(std::function<ScriptedAnswer(const SeenRequest&)> answer);
  /// Lets every held answer go, and those to come.
  void release();

  [[nodiscard]] std::vector<SeenRequest> seen() const;
  /// Waits until this many requests have come, at most 10 s.
  [[nodiscard]] bool wait_for_requests(std::size_t count) const;

 private:
  struct DaemonStop {
    void operator()(MHD_Daemon* daemon) const noexcept;
  };

  static int on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                        const char* version, const char* upload, std::size_t* upload_bytes,
                        void** context) noexcept;
  [[nodiscard]] std::function<ScriptedAnswer(const SeenRequest&)> current_answer() const;
  [[nodiscard]] std::optional<ScriptedAnswer> take_answer(SeenRequest request);

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::deque<ScriptedAnswer> script_ GUARDED_BY(mutex_);
  std::vector<SeenRequest> seen_ GUARDED_BY(mutex_);
  std::function<ScriptedAnswer(const SeenRequest&)> answer_ GUARDED_BY(mutex_);
  bool is_released_ GUARDED_BY(mutex_) = false;

  std::unique_ptr<MHD_Daemon, DaemonStop> daemon_;  // last: its threads use all of the above
};

}  // namespace s3rdmafs::fakes
