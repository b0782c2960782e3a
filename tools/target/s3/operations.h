// SPDX-License-Identifier: Apache-2.0
// The operations without a body of bytes; one file per family implements them. Each is called once
// the sender is known and allowed, on the connection's own thread.
#pragma once

#include <string>

#include "target/s3/services.h"

namespace s3rdmafs::target {

// buckets.cc
S3Result<Response> list_buckets(const Services& services, const Call& call);
S3Result<Response> create_bucket(const Services& services, const Call& call,
                                 const std::string& body);
S3Result<Response> head_bucket(const Services& services, const Call& call);
S3Result<Response> delete_bucket(const Services& services, const Call& call);
S3Result<Response> get_bucket_location(const Services& services, const Call& call);
S3Result<Response> get_bucket_versioning(const Services& services, const Call& call);
/// Of a bucket or an object: clients ask to learn whether it is public, which nothing here is.
S3Result<Response> get_acl(const Services& services, const Call& call);

/// Always none: awscli asks before it copies a large object.
S3Result<Response> get_object_tagging(const Services& services, const Call& call);

// list_objects.cc
S3Result<Response> list_objects(const Services& services, const Call& call);
S3Result<Response> list_objects_v2(const Services& services, const Call& call);

// get_object.cc
S3Result<Response> get_object(const Services& services, const Call& call);
S3Result<Response> head_object(const Services& services, const Call& call);

// delete_objects.cc
S3Result<Response> delete_object(const Services& services, const Call& call);
S3Result<Response> delete_objects(const Services& services, const Call& call,
                                  const std::string& body);

// copy_object.cc
S3Result<Response> copy_object(const Services& services, const Call& call);
S3Result<Response> upload_part_copy(const Services& services, const Call& call);

// multipart.cc
S3Result<Response> create_multipart_upload(const Services& services, const Call& call);
S3Result<Response> abort_multipart_upload(const Services& services, const Call& call);

// complete_upload.cc
S3Result<Response> complete_multipart_upload(const Services& services, const Call& call,
                                             const std::string& body);

// list_uploads.cc
S3Result<Response> list_multipart_uploads(const Services& services, const Call& call);
S3Result<Response> list_parts(const Services& services, const Call& call);

}  // namespace s3rdmafs::target
