// SPDX-License-Identifier: Apache-2.0
#include "target/s3/conditions.h"
#include "target/s3/operations.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

constexpr std::size_t kKeysMax = 1000;  // S3's

S3Result<void> remove_object(const Services& services, const Call& call, const Bucket& bucket,
                             const std::string& key) {
  const MutexLock lock(services.store.key_locks().of(call.bucket, key));
  return bucket.remove(key);
}

}  // namespace

S3Result<Response> delete_object(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto conditions = write_conditions(services.behaviour, call.request, KeyChange::kDelete);
  if (!conditions) return pass_on(conditions);
  {
    const MutexLock lock(services.store.key_locks().of(call.bucket, call.key));
    // Without an object the condition holds, as Amazon S3 has it.
    const auto current = bucket->open_object(call.key);
    if (conditions->if_match && current &&
        !etag_list_matches(*conditions->if_match, current->metadata.etag)) {
      return refuse(kPreconditionFailed);
    }
    if (auto removed = bucket->remove(call.key); !removed) return pass_on(removed);
  }
  return Response{.status = 204, .headers = {}, .body = {}};
}

S3Result<Response> delete_objects(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  pugi::xml_document request;
  if (auto parsed = parse_xml(request, call.document, "Delete"); !parsed) return pass_on(parsed);
  const pugi::xml_node wanted = request.document_element();
  const bool is_quiet = wanted.child("Quiet").text().as_bool();
  std::size_t count = 0;
  for (const pugi::xml_node object : wanted.children("Object")) {
    if (++count > kKeysMax || !object.child("Key")) return refuse(kMalformedXml);
  }
  if (count == 0) return refuse(kMalformedXml, "No <Object> to delete.");

  pugi::xml_document answer;
  pugi::xml_node root = start_xml(answer, "DeleteResult");
  for (const pugi::xml_node object : wanted.children("Object")) {
    const std::string key = object.child("Key").text().get();
    const auto removed = remove_object(services, call, *bucket, key);
    if (removed && is_quiet) continue;
    pugi::xml_node result = root.append_child(removed ? "Deleted" : "Error");
    add_text(result, "Key", key);
    if (removed) continue;
    add_text(result, "Code", removed.error().code.name);
    add_text(result, "Message", removed.error().message);
  }
  return xml_response(answer);
}

}  // namespace s3rdmafs::target
