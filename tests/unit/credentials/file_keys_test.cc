// SPDX-License-Identifier: Apache-2.0
#include "credentials/file_keys.h"

#include <fstream>

#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"

namespace s3rdmafs::credentials {
namespace {

class FileKeysTest : public testing::Test {
 protected:
  void write(const std::string& id) const {
    std::ofstream(file_) << "[p]\naws_access_key_id = " << id << "\naws_secret_access_key = s\n";
  }
  std::string fetch() {
    const auto fetched = keys_.fetch({});
    return fetched ? fetched->keys.access_key_id : fetched.error().detail;
  }

  fakes::TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_.path() / "keys";
  FileKeys keys_{[this] {
    write("ONE");
    return config::KeysInFile{
        .keys = {}, .credentials_file = file_, .config_file = {}, .profile = "p"};
  }()};
};

TEST_F(FileKeysTest, AreReadAgainWhenTheFileChangesAndOnlyThen) {
  EXPECT_FALSE(keys_.may_have_changed());
  write("LONGER");
  EXPECT_TRUE(keys_.may_have_changed());
  EXPECT_EQ(fetch(), "LONGER");
  EXPECT_FALSE(keys_.may_have_changed());
}

TEST_F(FileKeysTest, AreReadUntilTheFileIsRightAgain) {
  std::ofstream(file_) << "half of a line";
  EXPECT_TRUE(keys_.may_have_changed());
  EXPECT_NE(fetch().find("keys:1"), std::string::npos);
  EXPECT_TRUE(keys_.may_have_changed()) << "although the file is as it was read";
  std::filesystem::remove(file_);
  EXPECT_TRUE(keys_.may_have_changed());
  EXPECT_NE(fetch().find("No such file"), std::string::npos);
  write("TWO");
  EXPECT_EQ(fetch(), "TWO");
}

}  // namespace
}  // namespace s3rdmafs::credentials
