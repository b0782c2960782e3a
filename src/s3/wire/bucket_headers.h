// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "s3/store_options.h"
#include "s3rdmafs/s3/sigv4.h"

namespace s3rdmafs::s3 {

struct RequestSpec;

/// The headers that a bucket's terms add to requests: who pays, how objects are encrypted and
/// stored. Which request needs which is a rule of S3, so it stands here and not with each
/// operation. Immutable.
class BucketHeaders {
 public:
  BucketHeaders() = default;
  explicit BucketHeaders(const BucketTerms& terms);

  /// Adds those that the request needs. One that it has already stays as it is: an object whose
  /// attributes change keeps its storage class.
  void add_to(RequestSpec& spec) const;

 private:
  NameValues every_;          ///< each request
  NameValues new_object_;     ///< PutObject, CopyObject, CreateMultipartUpload
  NameValues customer_key_;   ///< whatever reads or writes bytes of an object, or describes one
  NameValues copied_object_;  ///< the customer's key of a copy's source
};

}  // namespace s3rdmafs::s3
