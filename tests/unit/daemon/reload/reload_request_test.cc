// SPDX-License-Identifier: Apache-2.0
#include "daemon/reload/reload_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fakes/temporary_folder.h"
#include "mount_file_text.h"

namespace s3rdmafs::daemon {
namespace {

class ReloadRequestTest : public testing::Test {
 protected:
  ReloadRequestTest() {
    auto listening = ControlSocket::listen(path_, [this](ControlRequest& request) {
      if (is_reload_request(request)) answer_reload_request(reloader_, request);
    });
    EXPECT_TRUE(listening);
    control_ = std::move(*listening);
  }

  const fakes::TemporaryFolder folder_;
  const std::string path_ = folder_.path() / "control.sock";
  std::string file_;
  int applied_ = 0;
  Reloader reloader_{load_with("").value().config,
                     [this] { return load_with(file_); },
                     {{"read.buffered", [this](const config::MountConfig&) { ++applied_; }}}};
  std::unique_ptr<ControlSocket> control_;
};

TEST_F(ReloadRequestTest, BringsTheDifferencesAsTheyAre) {
  file_ = "[cache]\nsize = \"2GiB\"\n[read]\nbuffered = \"a b, c%\"\n";
  const auto told = ask_for_reload(path_, Reloader::Extent::kTell);
  ASSERT_TRUE(told) << told.error().detail;
  ASSERT_EQ(told->size(), 2U);
  EXPECT_EQ(told->front().key, "cache.size");
  EXPECT_EQ(told->front().before, "\"1GiB\"");
  EXPECT_FALSE(told->front().is_live);
  EXPECT_EQ(told->back().after, "\"a b,c%\"");
  EXPECT_TRUE(told->back().is_live);
  EXPECT_EQ(applied_, 0);
  ASSERT_TRUE(ask_for_reload(path_, Reloader::Extent::kApply));
  EXPECT_EQ(applied_, 1);
}

TEST_F(ReloadRequestTest, BringsEveryMistakeOfTheMountFile) {
  file_ = "[cache]\nsize = \"lots\"\nlock = \"maybe\"\n";
  const auto told = ask_for_reload(path_, Reloader::Extent::kApply);
  ASSERT_FALSE(told);
  EXPECT_EQ(told.error().code, ErrorCode::kConfig);
  EXPECT_EQ(told.error().detail, load_with(file_).error().detail);
}

TEST_F(ReloadRequestTest, FailsWhereNoDaemonListensOrAnswers) {
  EXPECT_EQ(ask_for_reload(path_ + "-", Reloader::Extent::kTell).error().code,
            ErrorCode::kNotFound);
  control_.reset();
  auto silent = ControlSocket::listen(path_, [](ControlRequest&) {});
  ASSERT_TRUE(silent);
  EXPECT_EQ(ask_for_reload(path_, Reloader::Extent::kTell).error().code, ErrorCode::kCancelled);
}

}  // namespace
}  // namespace s3rdmafs::daemon
