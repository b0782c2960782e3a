// SPDX-License-Identifier: Apache-2.0
#include "s3/endpoints/checksum_support.h"

#include <utility>

#include <gtest/gtest.h>

namespace s3rdmafs::s3 {
namespace {

TEST(ChecksumSupport, RemembersARefusalByWhateverCode) {
  for (const auto& [status, error] :
       {std::pair{501, S3Error{"NotImplemented", "A header: X-Amz-Checksum-Crc64nvme"}},
        {400, S3Error{"InvalidRequest", "The checksum algorithm is not supported"}}}) {
    ChecksumSupport support;
    EXPECT_TRUE(support.is_refusal(status, error));
    EXPECT_FALSE(support.takes_crc64nvme());
    EXPECT_FALSE(support.is_refusal(status, error)) << "it was sent without";
  }
}

TEST(ChecksumSupport, TakesNothingElseForARefusal) {
  ChecksumSupport support;
  EXPECT_FALSE(support.is_refusal(400, {"BadDigest", "The checksum did not match"}));
  EXPECT_FALSE(support.is_refusal(501, {"NotImplemented", "UploadPart"}));
  EXPECT_FALSE(support.is_refusal(403, {"AccessDenied", "checksum"}));
  EXPECT_TRUE(support.takes_crc64nvme());
}

}  // namespace
}  // namespace s3rdmafs::s3
