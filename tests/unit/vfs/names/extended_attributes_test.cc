// SPDX-License-Identifier: Apache-2.0
#include "vfs/metadata/extended_attributes.h"

#include <string>

#include <gtest/gtest.h>

#include "../answer.h"

namespace s3rdmafs::vfs {
namespace {

using When = ExtendedAttributeChange::When;

TEST(ExtendedAttributesOf, S3fsAreRead) {
  // As s3fs 1.90 sends it for `setfattr -n user.one -v 1` and `-n user.two`.
  const s3::UserMetadata metadata = {
      {"mode", "33188"},
      {"xattr", "%7B%22user.one%22%3A%22MQ%3D%3D%22%2C%22user.two%22%3A%22%22%7D"}};
  EXPECT_EQ(extended_attributes(metadata),
            (ExtendedAttributes{{"user.one", "1"}, {"user.two", ""}}));
}

TEST(ExtendedAttributesOf, ThatCannotBeAreIgnored) {
  for (const std::string text : {"", "%", "no", "[]", "3", "{\"user.a\":3}", "{\"user.a\":\"?\"}",
                                 "{\"security.capability\":\"MQ==\"}"}) {
    EXPECT_TRUE(extended_attributes({{"xattr", text}}).empty()) << text;
  }
}

TEST(ExtendedAttributesOf, AChangeKeepsAllElse) {
  const std::string bytes("\0\xff\n", 3);
  s3::UserMetadata metadata = {{"xattr", "{\"system.x\":\"MQ==\"}"}, {"other", "y"}};
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.a", .value = bytes})), "");
  EXPECT_EQ(extended_attributes(metadata), (ExtendedAttributes{{"user.a", bytes}}));
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.a"})), "");
  EXPECT_EQ(metadata,
            (s3::UserMetadata{{"xattr", "%7B%22system.x%22%3A%22MQ%3D%3D%22%7D"}, {"other", "y"}}));
}

TEST(ExtendedAttributesOf, AFileWithoutAnyHaveNoEntry) {
  s3::UserMetadata metadata;
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.a", .value = "x"})), "");
  EXPECT_EQ(metadata.size(), 1U) << "the control";
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.a"})), "");
  EXPECT_TRUE(metadata.empty());
}

TEST(ExtendedAttributesOf, AChangeThatMayNotBeChangesNothing) {
  s3::UserMetadata metadata;
  ExtendedAttributeChange change{.name = "user.a", .value = "x", .when = When::kIsThere};
  EXPECT_EQ(error_of(change_extended_attribute(metadata, change)), "NoAttribute");
  change.when = When::kIsNew;
  EXPECT_EQ(error_of(change_extended_attribute(metadata, change)), "");
  EXPECT_EQ(error_of(change_extended_attribute(metadata, change)), "Exists");
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.b"})), "NoAttribute");
  EXPECT_EQ(error_of(change_extended_attribute(metadata, {.name = "user.\xff", .value = ""})),
            "InvalidArgument");
  EXPECT_EQ(extended_attributes(metadata), (ExtendedAttributes{{"user.a", "x"}}));
}

}  // namespace
}  // namespace s3rdmafs::vfs
