// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "s3/object_writer.h"
#include "s3/store_metrics.h"
#include "s3rdmafs/base/clock.h"
#include "s3rdmafs/base/mutex.h"

namespace s3rdmafs::fakes {

/// A bucket in memory, and a server whose answers the test controls: at once (the default), held
/// back until released one by one, or failed. Every call is recorded. Thread-safe; a `done` runs on
/// the thread that made the call or, for a held one, on the thread that released it.
class FakeObjectStore final : public s3::ObjectStore, public s3::ObjectWriter {
 public:
  using Operation = s3::StoreMetrics::Operation;

  struct Call {
    Operation operation;
    std::string key;    ///< of a list: the prefix; of a copy: what is copied to
    std::string token;  ///< of a list: its continuation token
    std::uint64_t offset_bytes = 0;
    rdma::Window window;  ///< of a get: for tests that play a late write; of a put or a part
    std::string upload_id = {};
    unsigned part_number = 0;
    std::string source = {};  ///< of a copy or a rename: the key that is copied or renamed
  };

  /// The failure that a server answers with; nothing if it answers properly. For a put or a part
  /// late_write_possible means late_read_possible.
  using Verdict = std::function<std::optional<s3::GetFailure>(const Call&)>;

  explicit FakeObjectStore(const Clock& clock) : clock_(clock) {}
  ~FakeObjectStore() override { shut_down(); }

  // The bucket as other clients see it.

  /// Stores a new version and returns its ETag, which no version had before (see repeat_etags).
  std::string put(std::string key, std::string bytes, s3::UserMetadata metadata = {});
  void remove(const std::string& key);
  /// From now on an ETag names only an object's size and the second in which it was stored.
  void repeat_etags();
  /// From now on a copy has its source's ETag, as at servers that make ETags of the bytes.
  void keep_etags_of_copies();

  /// An object's bytes as a reader would get them now; nothing if there is no such key.
  [[nodiscard]] std::optional<std::string> object(const std::string& key) const;
  /// An object's user metadata; empty if there is no such key.
  [[nodiscard]] s3::UserMetadata metadata(const std::string& key) const;
  /// The headers that are kept with an object.
  void set_headers(const std::string& key, s3::StoredHeaders headers);
  [[nodiscard]] s3::StoredHeaders headers(const std::string& key) const;
  /// Uploads begun and neither completed nor aborted.
  [[nodiscard]] std::size_t open_uploads() const;
  /// The server's clock is so far ahead of the test's.
  void set_clock_ahead(std::chrono::seconds ahead);

  // How the server behaves.

  /// From now on it has RenameObject, which keeps ETags. Without it no rename is a call.
  void know_renames();
  /// Called when a rename has taken effect, before its answer.
  void run_before_answers_of_renames(std::function<void()> run);

  /// The most keys a page of a listing has, whatever the client asks for.
  void set_page_keys_max(std::uint32_t keys_max);
  /// Listings have every key below their prefix, whatever delimiter was asked for.
  void ignore_delimiters();
  /// Each page of a listing but the first says that the next one comes by the same token again.
  void repeat_tokens();
  /// By which path the bytes of a get or put are said to have gone; kRdma to begin with.
  void set_path(s3::Path path);
  /// The next `count` calls of this operation fail, with nothing done.
  void fail_next(Operation operation, std::size_t count, ErrorCode code,
                 bool late_write_possible = false);
  /// Decides about every call that fail_next did not fail; an empty function ends that.
  void fail_if(Verdict verdict);

  /// From now on calls are held. The server acts on a call when it is released, not before.
  void hold();
  /// The held calls in order of arrival: what the indices below mean.
  [[nodiscard]] std::vector<Call> held() const;
  /// Answers the held call at `index` on this thread. False if there is none.
  bool release(std::size_t index = 0);
  /// Fails the held call at `index` on this thread. False if there is none.
  bool fail_held(std::size_t index, s3::GetFailure failure);
  /// Ends the hold and answers what is held, in order.
  void release_all();

  /// Whether the answers to puts, completed uploads and renames are lost: the server acts, and the
  /// client hears kTimedOut.
  void lose_answers_of_stores(bool are_lost);
  /// From now on a put or a completed upload replaces whatever is there.
  void ignore_conditions();

  // The recorded calls.

  [[nodiscard]] std::vector<Call> calls() const;
  [[nodiscard]] std::size_t count(Operation operation) const;
  void forget_calls();

  // ObjectStore

  void head(std::string key, Deadline deadline, Done<s3::ObjectInfo> done) override;
  void list(s3::ListRequest request, Deadline deadline, Done<s3::ListPage> done) override;
  void get(s3::GetRequest request, Deadline deadline, s3::GetDone done) override;
  void shut_down() override;

  // ObjectWriter. The window is read when the call is released, and its checksum compared, as a
  // server would.

  void put(std::string key, s3::PutBody body, s3::PutOptions options, Deadline deadline,
           s3::PutDone done) override;
  void create_upload(std::string key, s3::UserMetadata metadata, Deadline deadline,
                     Done<std::string> done) override;
  void upload_part_copy(s3::CopySource source, std::uint64_t offset_bytes,
                        std::uint64_t length_bytes, std::string key, std::string upload_id,
                        unsigned number, Deadline deadline, Done<std::string> done) override;
  void copy(s3::CopySource source, std::string key, s3::CopyOptions options, Deadline deadline,
            Done<std::string> done) override;
  void rename(s3::CopySource source, std::string key, s3::Precondition when, Deadline deadline,
              Done<std::string> done) override;
  void upload_part(std::string key, std::string upload_id, unsigned number, s3::PutBody body,
                   Deadline deadline, s3::PutDone done) override;
  void complete_upload(std::string key, std::string upload_id, std::vector<s3::UploadedPart> parts,
                       s3::Precondition when, Deadline deadline, Done<std::string> done) override;
  void abort_upload(std::string key, std::string upload_id, Deadline deadline,
                    Done<void> done) override;
  void list_uploads(std::string key, Deadline deadline, Done<s3::OpenUploads> done) override;
  void has_parts(std::string key, std::string upload_id, Deadline deadline,
                 Done<bool> done) override;
  void remove(std::string key, Deadline deadline, Done<void> done) override;
  void remove_version(std::string key, std::string etag, Deadline deadline,
                      Done<void> done) override;

 private:
  struct Upload {
    std::string key;
    s3::UserMetadata metadata;
    std::chrono::system_clock::time_point initiated;
    std::map<unsigned, std::pair<std::string, std::string>> parts;  // number -> bytes, ETag
  };
  struct Object {
    std::string bytes;
    std::string etag;
    std::chrono::system_clock::time_point modified;
    s3::UserMetadata metadata = {};
    s3::StoredHeaders headers = {};
  };
  /// Ends one call: with the server's answer, or with the failure given.
  using Finish = std::move_only_function<void(std::optional<s3::GetFailure>)>;
  struct Held {
    Call call;
    Finish finish;
  };

  void arrive(Call call, Finish finish);
  std::optional<s3::GetFailure> verdict_on(const Call& call);
  std::optional<Held> take_held(std::size_t index);

  Result<s3::ObjectInfo> answer_head(const std::string& key) const;
  Result<s3::ListPage> answer_list(const s3::ListRequest& request) const;
  std::expected<s3::Path, s3::GetFailure> answer_get(const s3::GetRequest& request) const;
  [[nodiscard]] std::chrono::system_clock::time_point server_time() const REQUIRES(mutex_);
  s3::OpenUploads answer_list_uploads(const std::string& key) const;
  /// The answer of a store as the client hears it.
  [[nodiscard]] Result<std::string> as_heard(Result<std::string> stored) const;
  Result<std::string> answer_put(const std::string& key, const s3::PutBody& body,
                                 s3::PutOptions options);
  Result<std::string> answer_copy(const s3::CopySource& source, const std::string& key,
                                  s3::CopyOptions options);
  Result<std::string> answer_rename(const s3::CopySource& source, const std::string& key,
                                    const s3::Precondition& when);
  Result<std::string> answer_part_copy(const Call& call, const s3::CopySource& source,
                                       std::uint64_t length_bytes);
  [[nodiscard]] Result<void> check(const s3::Precondition& when, const std::string& key) const
      REQUIRES(mutex_);
  /// Errors: kStale.
  [[nodiscard]] Result<Object> find_version(const s3::CopySource& source) const REQUIRES(mutex_);
  Result<std::string> answer_part(const Call& call, const s3::PutBody& body);
  Result<std::string> answer_complete(const Call& call, const std::vector<s3::UploadedPart>& parts,
                                      const s3::Precondition& when);
  std::string store_locked(std::string key, std::string bytes, s3::UserMetadata metadata,
                           s3::StoredHeaders headers = {}) REQUIRES(mutex_);
  [[nodiscard]] s3::PutOutcome put_outcome(Result<std::string> etag) const;

  const Clock& clock_;
  mutable Mutex mutex_;  // leaf
  std::map<std::string, Object> objects_ GUARDED_BY(mutex_);
  std::map<std::string, Upload> uploads_ GUARDED_BY(mutex_);  // by id
  std::uint64_t versions_ GUARDED_BY(mutex_) = 0;
  std::chrono::seconds ahead_ GUARDED_BY(mutex_){};
  bool loses_answers_ GUARDED_BY(mutex_) = false;
  bool ignores_conditions_ GUARDED_BY(mutex_) = false;
  bool repeats_etags_ GUARDED_BY(mutex_) = false;
  bool knows_renames_ GUARDED_BY(mutex_) = false;
  std::function<void()> on_renamed_ GUARDED_BY(mutex_);
  bool keeps_etags_ GUARDED_BY(mutex_) = false;  ///< of what is copied
  std::uint32_t page_keys_max_ GUARDED_BY(mutex_) = 1000;
  bool ignores_delimiters_ GUARDED_BY(mutex_) = false;
  bool repeats_tokens_ GUARDED_BY(mutex_) = false;
  s3::Path path_ GUARDED_BY(mutex_) = s3::Path::kRdma;
  std::map<Operation, std::deque<s3::GetFailure>> failures_ GUARDED_BY(mutex_);
  Verdict verdict_ GUARDED_BY(mutex_);
  bool holding_ GUARDED_BY(mutex_) = false;
  bool shut_down_ GUARDED_BY(mutex_) = false;
  std::deque<Held> held_ GUARDED_BY(mutex_);
  std::vector<Call> calls_ GUARDED_BY(mutex_);
};

}  // namespace s3rdmafs::fakes
