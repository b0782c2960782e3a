// SPDX-License-Identifier: Apache-2.0
// The object that later checks read, and how the server lists it and tells its versions apart.
#include <algorithm>
#include <utility>

#include "daemon/doctor/checks.h"
#include "daemon/doctor/context.h"
#include "daemon/doctor/probes/transfers.h"
#include "daemon/mount/await.h"
#include "s3rdmafs/base/log.h"

namespace s3rdmafs::daemon::doctor {
namespace {

Result<s3::ListPage> list(Context& context, const std::string& prefix,
                          const std::string& delimiter) {
  return await<Result<s3::ListPage>>([&](auto done) {
    context.http->list({.prefix = prefix, .delimiter = delimiter, .continuation_token = {}},
                       context.clock.now() + kQuestionTimeout, std::move(done));
  });
}

Finding use_existing_object(Context& context, const std::string& why) {
  const auto page = list(context, context.config().bucket.prefix, {});
  if (!page) return {Level::kFail, page.error().detail, "see the server's log"};
  const auto largest = std::ranges::max_element(page->objects, {}, &s3::ObjectInfo::size_bytes);
  if (largest == page->objects.end() || largest->size_bytes == 0) {
    return {Level::kNote, why + ", and no object has any bytes: transfers were not tested",
            "store an object in the bucket and run doctor again"};
  }
  context.object = *largest;
  std::vector<std::byte>& expected = context.memory->expected();
  expected.resize(std::min<std::uint64_t>(expected.size(), largest->size_bytes));
  if (const GetResult got = get(context, *context.http, context.memory->landing(expected.size()));
      !got) {
    return {Level::kFail, got.error().error.detail, "the keys need s3:GetObject"};
  }
  const auto bytes = context.memory->landing(expected.size()).bytes();
  std::ranges::copy(bytes, expected.begin());
  return {Level::kPass,
          fmt::format("{}: '{}' is read, {} bytes of it; writing was not tested", why, largest->key,
                      expected.size()),
          {}};
}

Finding check_test_object(Context& context) {
  auto memory = TestMemory::create(*context.fabric, context.test_bytes);
  if (!memory) {
    return {Level::kFail, memory.error().detail, "raise the locked-memory limit (ulimit -l)"};
  }
  context.memory = std::move(*memory);
  context.memory->expect_other_bytes();
  std::string why = "the mount is read-only";
  if (context.config().write.mode != config::WriteMode::kOff) {
    const std::string key = random_key(context);
    const s3::PutOutcome stored = put(context, *context.http, key);
    if (stored.etag) {
      context.object = s3::ObjectInfo{
          .key = key, .etag = *stored.etag, .size_bytes = context.test_bytes, .modified = {}};
      context.may_write = true;
      return {Level::kPass, "written by HTTP: " + key, {}};
    }
    if (stored.etag.error().code != ErrorCode::kAccessDenied) {
      return {Level::kFail, stored.etag.error().detail, "see the server's log"};
    }
    context.written.clear();  // refused, so there is nothing to remove
    why = "the keys may not write";
  }
  return use_existing_object(context, why);
}

// A server that ignores the delimiter sends the keys of every depth for each directory.
Finding check_listing(Context& context) {
  const std::string& prefix = context.config().bucket.prefix;
  // Our own object is found in any bucket.
  const auto page =
      list(context, context.may_write ? prefix + std::string(kTestFolder) : prefix, "/");
  if (!page) return {Level::kFail, page.error().detail, "see the server's log"};
  const auto deep = std::ranges::find_if(page->objects, [&prefix](const s3::ObjectInfo& object) {
    const std::size_t slash = object.key.find('/', prefix.size());
    return slash != std::string::npos && slash + 1 < object.key.size();
  });
  if (deep != page->objects.end()) {
    return {Level::kFail,
            fmt::format("the server ignores the delimiter of a listing: it lists '{}' as if '{}' "
                        "were not a directory",
                        deep->key, deep->key.substr(0, deep->key.find('/', prefix.size()))),
            "ask its vendor for ListObjectsV2 with a delimiter; directories need it"};
  }
  const std::string folder = prefix + std::string(kTestFolder) + "/";
  if (context.may_write &&
      std::ranges::find(page->common_prefixes, folder) == page->common_prefixes.end()) {
    return {Level::kFail,
            fmt::format("a listing lacks the common prefix '{}', although an object is below it",
                        folder),
            "ask its vendor for ListObjectsV2 with a delimiter; directories need it"};
  }
  return {Level::kPass,
          fmt::format("with a delimiter: {} objects, {} directories", page->objects.size(),
                      page->common_prefixes.size()),
          {}};
}

// Same size, same second: an ETag made from time and size does not change.
Finding check_etags(Context& context) {
  if (!context.may_write) return {Level::kSkipped, "because nothing may be written", {}};
  context.memory->expect_other_bytes();
  const s3::PutOutcome stored = put(context, *context.http, context.object->key);
  if (!stored.etag) {
    return {Level::kFail, "overwriting: " + stored.etag.error().detail,
            "the keys need s3:PutObject, and the server must let objects be replaced"};
  }
  const std::string before = std::exchange(context.object->etag, *stored.etag);
  if (before != *stored.etag) {
    return {Level::kPass, "the ETag changed when the test object was overwritten", {}};
  }
  Finding weak{Level::kDegraded,
               fmt::format("ETags look weak: the test object has the ETag {} before and after it "
                           "was overwritten",
                           before),
               "do not overwrite objects while they are read: readers may get old bytes"};
  weak.evidence = toml::table{{"etag", before}};
  return weak;
}

}  // namespace

void add_test_object_checks(Checks& checks) {
  checks.insert(checks.end(), {{"test object", "RDMA fabric", check_test_object},
                               {"listing", "test object", check_listing},
                               {"ETags", "test object", check_etags}});
}

}  // namespace s3rdmafs::daemon::doctor
