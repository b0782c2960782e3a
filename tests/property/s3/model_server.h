// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fakes/s3/scripted_http_server.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::s3 {

/// How a server treats the conditions of requests that change a key.
enum class Conditions { kCompared, kIgnored, kRefused };

/// The conditions of each kind of request.
struct Dialect {
  Conditions put = Conditions::kCompared;
  Conditions complete = Conditions::kCompared;
  Conditions copy = Conditions::kCompared;
  Conditions remove = Conditions::kCompared;
};

/// How one request ends.
enum class Fate { kAnswered, kCutBefore, kCutAfter };

/// A bucket in memory that is served by HTTP, whose answers get lost as the test says. Thread-safe.
class ModelServer {
 public:
  struct Object {
    std::string bytes;
    std::string etag;
    std::vector<std::pair<std::string, std::string>> metadata = {};  ///< headers

    bool operator==(const Object&) const = default;
  };

  ModelServer(Dialect dialect, const std::vector<Fate>& fates);

  [[nodiscard]] std::string url() const { return http_.url(); }
  /// As another client stores it. @return its ETag
  std::string store(const std::string& key, std::string bytes);
  void remove(const std::string& key);
  [[nodiscard]] std::optional<Object> object(const std::string& key) const;

 private:
  fakes::ScriptedAnswer answer(const fakes::SeenRequest& request);
  fakes::ScriptedAnswer act(const fakes::SeenRequest& request) REQUIRES(mutex_);
  fakes::ScriptedAnswer head(const std::string& key) const REQUIRES(mutex_);
  fakes::ScriptedAnswer put(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  fakes::ScriptedAnswer copy(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  fakes::ScriptedAnswer post(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  fakes::ScriptedAnswer erase(const fakes::SeenRequest& request, const std::string& key)
      REQUIRES(mutex_);
  /// The refusal by a request's condition.
  std::optional<fakes::ScriptedAnswer> refusal(const fakes::SeenRequest& request,
                                               const std::string& key, Conditions treated) const
      REQUIRES(mutex_);
  std::string put_locked(const std::string& key, Object object) REQUIRES(mutex_);

  const Dialect dialect_;
  mutable Mutex mutex_;  // leaf
  std::deque<Fate> fates_ GUARDED_BY(mutex_);
  std::map<std::string, Object> objects_ GUARDED_BY(mutex_);
  std::map<std::string, std::string> uploads_ GUARDED_BY(mutex_);  // id -> bytes of its part
  unsigned versions_ GUARDED_BY(mutex_) = 0;
  fakes::ScriptedHttpServer http_;  // last: its threads use all of the above
};

}  // namespace s3rdmafs::s3
