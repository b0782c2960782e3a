// SPDX-License-Identifier: Apache-2.0
// A key goes to its bucket, and the keys in the answer come back. Nothing is kept in between, so
// there is no lock.
//
// Listings. A prefix with "/" in it is of one bucket. Any other one is of those whose directories
// begin with it, page by page: the token says which bucket is next and has that one's own after it.
#include "s3/joined/joined_store.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace s3rdmafs::s3 {
namespace {

std::unexpected<Error> no_bucket_of(std::string_view key) {
  return fail(ErrorCode::kNotFound, "no directory of a bucket has '" + std::string(key) + "'");
}

std::unexpected<Error> other_bucket() {
  return fail(ErrorCode::kUnsupported, "the two keys are of different buckets");
}

PutOutcome failed_put(std::string_view key) {
  return {.etag = Result<std::string>(no_bucket_of(key))};
}

/// Where a listing of several buckets goes on.
struct Place {
  std::size_t bucket = 0;
  std::string token;
};

Place place_of(std::string_view token) {
  Place place;
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos) return place;
  const std::string number(token.substr(0, colon));
  std::from_chars(number.data(), number.data() + number.size(), place.bucket);
  place.token = token.substr(colon + 1);
  return place;
}

std::string text_of(const Place& place) { return std::to_string(place.bucket) + ":" + place.token; }

}  // namespace

std::string JoinedBucket::own_key(std::string_view joined) const {
  return prefix + std::string(joined.substr(directory.size()));
}

std::string JoinedBucket::joined_key(std::string_view own) const {
  return directory + std::string(own.substr(std::min(prefix.size(), own.size())));
}

JoinedStore::JoinedStore(std::vector<JoinedBucket> buckets)
    : buckets_([&buckets] {
        std::ranges::sort(buckets, {}, &JoinedBucket::directory);
        return std::move(buckets);
      }()) {}

const JoinedBucket* JoinedStore::find(std::string_view key) const {
  const std::size_t slash = key.find('/');
  if (slash == std::string_view::npos) return nullptr;
  const auto found = std::ranges::lower_bound(buckets_, key.substr(0, slash + 1), std::less<>(),
                                              &JoinedBucket::directory);
  return found != buckets_.end() && key.starts_with(found->directory) ? &*found : nullptr;
}

const JoinedBucket* JoinedStore::find_both(CopySource& source, std::string_view key) const {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr || find(source.key) != bucket) return nullptr;
  source.key = bucket->own_key(source.key);
  return bucket;
}

void JoinedStore::head(std::string key, Deadline deadline, Done<ObjectInfo> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->store->head(bucket->own_key(key), deadline,
                      [key, done = std::move(done)](Result<ObjectInfo> info) mutable {
                        if (info) info->key = std::move(key);
                        done(std::move(info));
                      });
}

void JoinedStore::describe(std::string key, Deadline deadline, Done<ObjectDescription> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->store->describe(bucket->own_key(key), deadline,
                          [key, done = std::move(done)](Result<ObjectDescription> found) mutable {
                            if (found) found->object.key = std::move(key);
                            done(std::move(found));
                          });
}

void JoinedStore::list(ListRequest request, Deadline deadline, Done<ListPage> done) {
  if (request.prefix.contains('/')) {
    const JoinedBucket* const bucket = find(request.prefix);
    if (bucket == nullptr) return done(ListPage{});
    return list_in(*bucket, std::move(request), deadline, std::move(done));
  }
  if (request.delimiter == "/") return list_directories(request, std::move(done));
  list_one_by_one(std::move(request), deadline, std::move(done));
}

// They are few: one page has them all.
void JoinedStore::list_directories(const ListRequest& request, Done<ListPage> done) const {
  ListPage page;
  for (const JoinedBucket& bucket : buckets_) {
    const bool is_wanted =
        bucket.directory.starts_with(request.prefix) && bucket.directory > request.start_after;
    if (is_wanted) page.common_prefixes.push_back(bucket.directory);
  }
  done(std::move(page));
}

void JoinedStore::list_one_by_one(ListRequest request, Deadline deadline, Done<ListPage> done) {
  Place place = place_of(request.continuation_token);
  const auto is_passed = [&request](const JoinedBucket& bucket) {
    const bool is_after =
        bucket.directory > request.start_after || request.start_after.starts_with(bucket.directory);
    return !bucket.directory.starts_with(request.prefix) || !is_after;
  };
  while (place.bucket < buckets_.size() && is_passed(buckets_[place.bucket])) ++place.bucket;
  if (place.bucket >= buckets_.size()) return done(ListPage{});
  const JoinedBucket& bucket = buckets_[place.bucket];
  request.prefix = bucket.directory;
  request.continuation_token = std::move(place.token);
  const std::size_t number = place.bucket;
  list_in(bucket, std::move(request), deadline,
          [number, count = buckets_.size(), done = std::move(done)](Result<ListPage> page) mutable {
            if (page && !page->next_token.empty()) {
              page->next_token = text_of({.bucket = number, .token = page->next_token});
            } else if (page && number + 1 < count) {
              page->next_token = text_of({.bucket = number + 1, .token = {}});
            }
            done(std::move(page));
          });
}

void JoinedStore::list_in(const JoinedBucket& bucket, ListRequest request, Deadline deadline,
                          Done<ListPage> done) {
  request.prefix = bucket.own_key(request.prefix);
  if (request.start_after.starts_with(bucket.directory)) {
    request.start_after = bucket.own_key(request.start_after);
  } else if (request.start_after > bucket.directory) {
    return done(ListPage{});
  } else {
    request.start_after.clear();
  }
  bucket.store->list(std::move(request), deadline,
                     [&bucket, done = std::move(done)](Result<ListPage> page) mutable {
                       if (!page) return done(std::move(page));
                       for (ObjectInfo& object : page->objects) {
                         object.key = bucket.joined_key(object.key);
                       }
                       for (std::string& prefix : page->common_prefixes) {
                         prefix = bucket.joined_key(prefix);
                       }
                       done(std::move(page));
                     });
}

void JoinedStore::get(GetRequest request, Deadline deadline, GetDone done) {
  const JoinedBucket* const bucket = find(request.key);
  if (bucket == nullptr) {
    return done(std::unexpected(GetFailure{.error = no_bucket_of(request.key).error()}));
  }
  request.key = bucket->own_key(request.key);
  bucket->store->get(std::move(request), deadline, std::move(done));
}

void JoinedStore::shut_down() {
  for (const JoinedBucket& bucket : buckets_) bucket.store->shut_down();
}

void JoinedStore::put(std::string key, PutBody body, PutOptions options, Deadline deadline,
                      PutDone done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(failed_put(key));
  bucket->writer->put(bucket->own_key(key), body, std::move(options), deadline, std::move(done));
}

void JoinedStore::create_upload(std::string key, UserMetadata metadata, Deadline deadline,
                                Done<std::string> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->create_upload(bucket->own_key(key), std::move(metadata), deadline,
                                std::move(done));
}

void JoinedStore::upload_part(std::string key, std::string upload_id, unsigned number, PutBody body,
                              Deadline deadline, PutDone done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(failed_put(key));
  bucket->writer->upload_part(bucket->own_key(key), std::move(upload_id), number, body, deadline,
                              std::move(done));
}

void JoinedStore::upload_part_copy(CopySource source, std::uint64_t offset_bytes,
                                   std::uint64_t length_bytes, std::string key,
                                   std::string upload_id, unsigned number, Deadline deadline,
                                   Done<std::string> done) {
  const JoinedBucket* const bucket = find_both(source, key);
  if (bucket == nullptr) return done(other_bucket());
  bucket->writer->upload_part_copy(std::move(source), offset_bytes, length_bytes,
                                   bucket->own_key(key), std::move(upload_id), number, deadline,
                                   std::move(done));
}

void JoinedStore::complete_upload(std::string key, std::string upload_id,
                                  std::vector<UploadedPart> parts, Precondition when,
                                  Deadline deadline, Done<std::string> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->complete_upload(bucket->own_key(key), std::move(upload_id), std::move(parts),
                                  std::move(when), deadline, std::move(done));
}

void JoinedStore::copy(CopySource source, std::string key, CopyOptions options, Deadline deadline,
                       Done<std::string> done) {
  const JoinedBucket* const bucket = find_both(source, key);
  if (bucket == nullptr) return done(other_bucket());
  bucket->writer->copy(std::move(source), bucket->own_key(key), std::move(options), deadline,
                       std::move(done));
}

void JoinedStore::rename(CopySource source, std::string key, Precondition when, Deadline deadline,
                         Done<std::string> done) {
  const JoinedBucket* const bucket = find_both(source, key);
  if (bucket == nullptr) return done(other_bucket());
  bucket->writer->rename(std::move(source), bucket->own_key(key), std::move(when), deadline,
                         std::move(done));
}

void JoinedStore::abort_upload(std::string key, std::string upload_id, Deadline deadline,
                               Done<void> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->abort_upload(bucket->own_key(key), std::move(upload_id), deadline,
                               std::move(done));
}

void JoinedStore::list_uploads(std::string key, Deadline deadline, Done<OpenUploads> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->list_uploads(bucket->own_key(key), deadline, std::move(done));
}

void JoinedStore::has_parts(std::string key, std::string upload_id, Deadline deadline,
                            Done<bool> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->has_parts(bucket->own_key(key), std::move(upload_id), deadline, std::move(done));
}

void JoinedStore::remove(std::string key, Deadline deadline, Done<void> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->remove(bucket->own_key(key), deadline, std::move(done));
}

void JoinedStore::remove_version(std::string key, std::string etag, Deadline deadline,
                                 Done<void> done) {
  const JoinedBucket* const bucket = find(key);
  if (bucket == nullptr) return done(no_bucket_of(key));
  bucket->writer->remove_version(bucket->own_key(key), std::move(etag), deadline, std::move(done));
}

}  // namespace s3rdmafs::s3
