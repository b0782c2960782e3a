// SPDX-License-Identifier: Apache-2.0
// Conditional writes against servers that compare, ignore or refuse conditions, and whose answers
// get lost. No other client stores anything while a request is under way, so that its result can be
// known. Each object has a length or user metadata of its own, by which a client knows its own.
#include <rapidcheck.h>

#include <algorithm>
#include <future>
#include <optional>
#include <ostream>
#include <span>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <spdlog/spdlog.h>

#include "fakes/rdma/fake_region.h"
#include "model_server.h"
#include "s3/http_object_store.h"
#include "s3rdmafs/base/checksum.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::s3 {

/// One request of the client, or a change by another one.
struct ConditionStep {
  enum class Kind { kPut, kComplete, kCopy, kRemoveVersion, kOtherStores, kOtherRemoves };
  enum class When { kNone, kAbsent, kCurrent, kOld };
  Kind kind = Kind::kPut;
  When when = When::kNone;
};

std::ostream& operator<<(std::ostream& out, const ConditionStep& step) {
  constexpr const char* kKinds[] = {"put",          "complete",     "copy", "remove version",
                                    "other stores", "other removes"};
  constexpr const char* kWhens[] = {"", " if absent", " if current", " if old"};
  return out << kKinds[static_cast<int>(step.kind)] << kWhens[static_cast<int>(step.when)];
}

namespace {

constexpr const char* kKey = "k";

/// Runs steps, and tells the first that broke a rule.
class CheckedClient {
 public:
  CheckedClient(Dialect dialect, const std::vector<Fate>& fates) : server_(dialect, fates) {
    spdlog::set_level(spdlog::level::off);  // endpoints that do not answer, some thousand times
    source_etag_ = server_.store("source", "the source");
    HttpObjectStore::Options options;
    options.bucket = "train";
    options.endpoint.urls = {server_.url()};
    options.endpoint.region = "us-east-1";
    options.rdma.mode = RdmaMode::kOff;
    options.http = {.event_threads = 1,
                    .connections_max = 2,
                    .connect_timeout = std::chrono::seconds(20),
                    .request_timeout = std::chrono::seconds(20)};
    options.retry = {.attempts_max = 4,
                     .backoff_first = std::chrono::milliseconds(1),
                     .backoff_max = std::chrono::milliseconds(2)};
    store_.emplace(options, credentials_, clock_, metrics_);
  }

  /// The planted fault: requests go without their conditions.
  void drop_conditions() { drops_conditions_ = true; }

  /// The rule that was broken, or empty.
  std::string run(const std::vector<ConditionStep>& steps) {
    for (const ConditionStep& step : steps) {
      if (std::string problem = take(step); !problem.empty()) return problem;
    }
    return "";
  }

 private:
  using Kind = ConditionStep::Kind;
  using When = ConditionStep::When;

  std::string take(const ConditionStep& step) {
    ++number_;
    if (step.kind == Kind::kOtherStores) {
      server_.store(kKey, new_bytes());
      return "";
    }
    if (step.kind == Kind::kOtherRemoves) {
      server_.remove(kKey);
      return "";
    }
    const auto before = server_.object(kKey);
    const std::string etag = before && step.when != When::kOld ? before->etag : "\"old\"";
    if (step.kind == Kind::kRemoveVersion) {
      const bool holds = !before || before->etag == etag;
      const Result<void> removed = remove(etag);
      return problem(before, holds, removed ? std::nullopt : std::optional(removed.error()),
                     std::nullopt);
    }
    Precondition when;
    if (step.when == When::kAbsent) when = Precondition::absent();
    if (step.when == When::kCurrent || step.when == When::kOld) when = Precondition::matches(etag);
    const bool holds = step.when == When::kNone || (step.when == When::kAbsent && !before) ||
                       (step.when == When::kCurrent && before.has_value());
    if (drops_conditions_) when = {};
    const std::string bytes = step.kind == Kind::kCopy ? "the source" : new_bytes();
    const Result<std::string> stored = store(step.kind, bytes, when);
    return problem(before, holds, stored ? std::nullopt : std::optional(stored.error()), bytes);
  }

  /// @param wanted  the key's bytes after success
  std::string problem(const std::optional<ModelServer::Object>& before, bool holds,
                      const std::optional<Error>& error,
                      const std::optional<std::string>& wanted) const {
    const auto now = server_.object(kKey);
    const bool is_done = wanted ? now && now->bytes == *wanted : !now;
    if (!holds) {
      if (!error) return "a request succeeded though the key was in another state";
      return now == before ? "" : "the key changed though it was in another state";
    }
    if (!error) return is_done ? "" : "a success without its effect";
    if (error->code == ErrorCode::kStale || error->code == ErrorCode::kExists) {
      return "a conflict with no other client: " + error->detail;
    }
    return is_done || now == before ? "" : "the key is neither as before nor as wanted";
  }

  template <class T, class Start>
  static T wait_for(Start start) {
    std::promise<T> promise;
    start([&promise](T value) { promise.set_value(std::move(value)); });
    return promise.get_future().get();  // bounded by the operation's own deadline
  }

  Result<std::string> store(Kind kind, const std::string& bytes, const Precondition& when) {
    if (kind == Kind::kCopy) {
      return wait_for<Result<std::string>>([&](Done<std::string> done) {
        store_->copy({"source", source_etag_, bytes.size()}, kKey,
                     {.when = when, .metadata = metadata()}, deadline(), std::move(done));
      });
    }
    if (kind == Kind::kComplete) return upload(bytes, when);
    return wait_for<PutOutcome>([&](PutDone done) {
             store_->put(kKey, body(bytes), {.when = when, .metadata = metadata()}, deadline(),
                         std::move(done));
           })
        .etag;
  }

  Result<std::string> upload(const std::string& bytes, const Precondition& when) {
    const auto id = wait_for<Result<std::string>>([&](Done<std::string> done) {
      store_->create_upload(kKey, {}, deadline(), std::move(done));
    });
    if (!id) return id;
    const PutBody part = body(bytes);
    const auto sent = wait_for<PutOutcome>([&](PutDone done) {
      store_->upload_part(kKey, *id, 1, part, deadline(), std::move(done));
    });
    if (!sent.etag) return sent.etag;
    return wait_for<Result<std::string>>([&](Done<std::string> done) {
      store_->complete_upload(kKey, *id,
                              {{.number = 1,
                                .etag = *sent.etag,
                                .crc64nvme = part.crc64nvme,
                                .size_bytes = bytes.size()}},
                              when, deadline(), std::move(done));
    });
  }

  Result<void> remove(const std::string& etag) {
    return wait_for<Result<void>>([&](Done<void> done) {
      if (drops_conditions_) return store_->remove(kKey, deadline(), std::move(done));
      store_->remove_version(kKey, etag, deadline(), std::move(done));
    });
  }

  [[nodiscard]] Deadline deadline() const { return clock_.now() + std::chrono::seconds(20); }
  [[nodiscard]] std::string new_bytes() const { return std::string(20 + number_, 'x'); }
  [[nodiscard]] UserMetadata metadata() const { return {{"number", std::to_string(number_)}}; }
  PutBody body(const std::string& bytes) {
    const auto window = region_.bytes().first(bytes.size());
    std::ranges::copy(std::as_bytes(std::span(bytes)), window.begin());
    return {.window = {.region = &region_, .offset = 0, .length = bytes.size()},
            .crc64nvme = crc64nvme(0, window)};
  }

  ModelServer server_;
  fakes::FakeRegion region_{4096};
  const SystemClock clock_;
  metrics::Registry metrics_;
  StaticCredentials credentials_{
      {.access_key_id = "key", .secret_access_key = "secret", .session_token = ""}};
  std::string source_etag_;
  std::size_t number_ = 0;
  bool drops_conditions_ = false;
  std::optional<HttpObjectStore> store_;  // last: it uses all of the above
};

rc::Gen<std::vector<ConditionStep>> condition_steps() {
  using Kind = ConditionStep::Kind;
  using When = ConditionStep::When;
  const auto step = rc::gen::build<ConditionStep>(
      rc::gen::set(&ConditionStep::kind,
                   rc::gen::element(Kind::kPut, Kind::kPut, Kind::kComplete, Kind::kCopy,
                                    Kind::kRemoveVersion, Kind::kOtherStores, Kind::kOtherRemoves)),
      rc::gen::set(&ConditionStep::when,
                   rc::gen::element(When::kNone, When::kAbsent, When::kCurrent, When::kOld)));
  return rc::gen::container<std::vector<ConditionStep>>(step);
}

rc::Gen<Conditions> treatments() {
  return rc::gen::element(Conditions::kCompared, Conditions::kIgnored, Conditions::kRefused);
}

RC_GTEST_PROP(ConditionsProperty, AKeyChangesOnlyInTheStateRequiredAndTheResultTellsIt, ()) {
  const Dialect dialect{.put = *treatments(),
                        .complete = *treatments(),
                        .copy = *treatments(),
                        .remove = *treatments()};
  const auto fates = *rc::gen::container<std::vector<Fate>>(rc::gen::weightedElement<Fate>(
      {{4, Fate::kAnswered}, {1, Fate::kCutBefore}, {1, Fate::kCutAfter}}));
  const auto steps = *condition_steps();
  RC_ASSERT(CheckedClient(dialect, fates).run(steps) == "");
}

TEST(ConditionsProperty, NoticesRequestsWithoutTheirConditions) {
  CheckedClient client({}, {});
  client.drop_conditions();
  EXPECT_NE(client.run({{ConditionStep::Kind::kOtherStores, ConditionStep::When::kNone},
                        {ConditionStep::Kind::kPut, ConditionStep::When::kOld}}),
            "");
}

}  // namespace
}  // namespace s3rdmafs::s3
