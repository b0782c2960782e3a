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

/// How a ScriptedHttpServer treats one request.
struct ScriptedAnswer {
  unsigned status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
  /// The Content-Length that is announced if it is not the body's. The connection is cut after the
  /// body.
  std::optional<std::uint64_t> announced_bytes = {};
  /// The connection is cut without an answer.
  bool cut = false;
  /// The answer is sent after release(), or never.
  bool hold = false;
};

/// An S3 error as the answer.
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

/// An HTTP server on a free port of 127.0.0.1 that gives a test's answers in order. Thread-safe.
/// Its destruction releases the answers that are held.
class ScriptedHttpServer {
 public:
  ScriptedHttpServer();
  ~ScriptedHttpServer();
  ScriptedHttpServer(const ScriptedHttpServer&) = delete;
  ScriptedHttpServer& operator=(const ScriptedHttpServer&) = delete;

  [[nodiscard]] std::string url() const;

  /// Adds an answer to the end of the script. Requests after the script get its last answer.
  void then(ScriptedAnswer answer);
  /// From here on `answer` answers every request, on several threads; requests are not recorded.
  void answer_by(std::function<ScriptedAnswer(const SeenRequest&)> answer);
  /// Sends every held answer; later ones are not held.
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
