// SPDX-License-Identifier: Apache-2.0
#include "fuse/errno_map.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace s3rdmafs::fuse {
namespace {

struct Row {
  ErrorCode code;
  int expected;
};

// Every code stands here: what a program sees is part of the contract.
constexpr Row kRows[] = {
    {ErrorCode::kNotFound, ENOENT},
    {ErrorCode::kStale, ESTALE},
    {ErrorCode::kAccessDenied, EACCES},
    {ErrorCode::kThrottled, EIO},
    {ErrorCode::kServerError, EIO},
    {ErrorCode::kUnreachable, EIO},
    {ErrorCode::kTimedOut, EIO},
    {ErrorCode::kCancelled, EIO},
    {ErrorCode::kProtocol, EIO},
    {ErrorCode::kCorrupt, EIO},
    {ErrorCode::kInvalidArgument, EINVAL},
    {ErrorCode::kConfig, EIO},
    {ErrorCode::kUnsupported, EIO},
    {ErrorCode::kNoMemory, ENOMEM},
    {ErrorCode::kExists, EEXIST},
    {ErrorCode::kIsDirectory, EISDIR},
    {ErrorCode::kNotDirectory, ENOTDIR},
    {ErrorCode::kNotEmpty, ENOTEMPTY},
    {ErrorCode::kBusy, EBUSY},
    {ErrorCode::kSequentialOnly, EOPNOTSUPP},
    {ErrorCode::kTooLarge, EFBIG},
    {ErrorCode::kNoSpace, ENOSPC},
    {ErrorCode::kReadOnly, EROFS},
    {ErrorCode::kNoAttribute, ENODATA},
    {ErrorCode::kNameTooLong, ENAMETOOLONG},
    {ErrorCode::kTooManyKeys, EXDEV},
    {ErrorCode::kNoCredentials, EACCES},
    {ErrorCode::kSystem, EIO},
};

TEST(ErrnoMap, GivesEachErrorTheErrnoOfTheContract) {
  for (const Row& row : kRows) {
    EXPECT_EQ(errno_of(row.code), row.expected) << error_code_name(row.code);
  }
}

TEST(ErrnoMap, KnowsEveryCode) {
  EXPECT_EQ(std::size(kRows), static_cast<std::size_t>(ErrorCode::kSystem) + 1)
      << "a new code needs a row here and in s3rdmafs-semantics(7)";
}

}  // namespace
}  // namespace s3rdmafs::fuse
