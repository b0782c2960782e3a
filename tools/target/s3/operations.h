// SPDX-License-Identifier: Apache-2.0
// The operations without a body of bytes; one file per family implements them. Each is called once
// the sender is known and allowed, on the connection's own thread.
#pragma once

#include "target/s3/services.h"

namespace s3rdmafs::target {

/// Answers one request.
using Serve = S3Result<Response>(const Services& services, const Call& call);

// buckets.cc
Serve list_buckets, create_bucket, head_bucket, delete_bucket;
Serve get_bucket_location, get_bucket_versioning;
/// Of a bucket or an object: clients ask to learn whether it is public, which nothing here is.
Serve get_acl;
/// Always none: awscli asks before it copies a large object.
Serve get_object_tagging;

Serve list_objects, list_objects_v2;                    // list_objects.cc
Serve get_object, head_object;                          // get_object.cc
Serve delete_object, delete_objects;                    // delete_objects.cc
Serve copy_object, upload_part_copy;                    // copy_object.cc
Serve rename_object;                                    // rename_object.cc
Serve create_multipart_upload, abort_multipart_upload;  // uploads/multipart.cc
Serve complete_multipart_upload;                        // uploads/complete_upload.cc
Serve list_multipart_uploads, list_parts;               // uploads/list_uploads.cc

}  // namespace s3rdmafs::target
