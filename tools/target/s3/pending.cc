// SPDX-License-Identifier: Apache-2.0
// Replaced by copy_object.cc and multipart.cc in the next commit.
#include "target/s3/operations.h"
#include "target/s3/upload.h"

namespace s3rdmafs::target {
S3Result<Response> copy_object(const Services&, const Call&) { return refuse(kNotImplemented); }
S3Result<Response> upload_part_copy(const Services&, const Call&) {
  return refuse(kNotImplemented);
}
S3Result<Response> create_multipart_upload(const Services&, const Call&) {
  return refuse(kNotImplemented);
}
S3Result<Response> list_multipart_uploads(const Services&, const Call&) {
  return refuse(kNotImplemented);
}
S3Result<Response> list_parts(const Services&, const Call&) { return refuse(kNotImplemented); }
S3Result<Response> complete_multipart_upload(const Services&, const Call&, const std::string&) {
  return refuse(kNotImplemented);
}
S3Result<Response> abort_multipart_upload(const Services&, const Call&) {
  return refuse(kNotImplemented);
}
S3Result<std::unique_ptr<Upload>> start_upload_part(const Services&, const Call&) {
  return refuse(kNotImplemented);
}
}  // namespace s3rdmafs::target
