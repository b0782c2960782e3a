// SPDX-License-Identifier: Apache-2.0
#include "target/s3/dates.h"
#include "target/s3/operations.h"
#include "target/s3/uploads/upload.h"
#include "target/s3/xml.h"

namespace s3rdmafs::target {
namespace {

// S3's name of the region that needs no name.
constexpr const char* kDefaultRegion = "us-east-1";

}  // namespace

S3Result<Response> list_buckets(const Services& services, const Call&) {
  auto buckets = services.store.list_buckets();
  if (!buckets) return pass_on(buckets);
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "ListAllMyBucketsResult");
  add_owner(root, "Owner");
  pugi::xml_node list = root.append_child("Buckets");
  for (const BucketEntry& entry : *buckets) {
    pugi::xml_node bucket = list.append_child("Bucket");
    add_text(bucket, "Name", entry.name);
    add_text(bucket, "CreationDate", iso_date(entry.created));
  }
  return xml_response(document);
}

S3Result<Response> create_bucket(const Services& services, const Call& call) {
  if (auto good = check_upload_headers(services, call.request); !good) return pass_on(good);
  // Its only content is the region; there is one place here, whatever it is called.
  pugi::xml_document document;
  if (!call.document.empty()) {
    if (auto parsed = parse_xml(document, call.document, "CreateBucketConfiguration"); !parsed) {
      return pass_on(parsed);
    }
  }
  if (auto created = services.store.create_bucket(call.bucket); !created) return pass_on(created);
  Response response;
  response.set("Location", "/" + call.bucket);
  return response;
}

S3Result<Response> head_bucket(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  Response response;
  response.set("x-amz-bucket-region", services.region.empty() ? kDefaultRegion : services.region);
  return response;
}

S3Result<Response> delete_bucket(const Services& services, const Call& call) {
  if (auto deleted = services.store.delete_bucket(call.bucket); !deleted) return pass_on(deleted);
  return Response{.status = 204, .headers = {}, .body = {}};
}

S3Result<Response> get_bucket_location(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "LocationConstraint");
  // S3 leaves it empty for its first region.
  if (services.region != kDefaultRegion) root.text().set(services.region.c_str());
  return xml_response(document);
}

S3Result<Response> get_bucket_versioning(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  pugi::xml_document document;
  start_xml(document, "VersioningConfiguration");  // empty: never switched on
  return xml_response(document);
}

S3Result<Response> get_acl(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  if (!call.key.empty()) {
    auto object = bucket->open_object(call.key);
    if (!object) return pass_on(object);
  }
  pugi::xml_document document;
  pugi::xml_node root = start_xml(document, "AccessControlPolicy");
  add_owner(root, "Owner");
  pugi::xml_node grant = root.append_child("AccessControlList").append_child("Grant");
  add_owner(grant, "Grantee");
  pugi::xml_node grantee = grant.child("Grantee");
  grantee.append_attribute("xmlns:xsi") = "http://www.w3.org/2001/XMLSchema-instance";
  grantee.append_attribute("xsi:type") = "CanonicalUser";
  add_text(grant, "Permission", "FULL_CONTROL");
  return xml_response(document);
}

S3Result<Response> get_object_tagging(const Services& services, const Call& call) {
  auto bucket = services.store.open_bucket(call.bucket);
  if (!bucket) return pass_on(bucket);
  auto object = bucket->open_object(call.key);
  if (!object) return pass_on(object);
  pugi::xml_document document;
  start_xml(document, "Tagging").append_child("TagSet");
  return xml_response(document);
}

}  // namespace s3rdmafs::target
