// SPDX-License-Identifier: Apache-2.0
#include "credentials/process_keys.h"

#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace s3rdmafs::credentials {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string fetch(const std::string& command, const std::stop_token& stop = {}) {
  const auto fetched = ProcessKeys(command).fetch(stop);
  return fetched ? fetched->keys.access_key_id + " " + fetched->keys.session_token
                 : fetched.error().detail;
}

TEST(ProcessKeysTest, AreThoseThatTheProgramPrints) {
  EXPECT_EQ(fetch(R"(echo '{"Version":1,"AccessKeyId":"A","SecretAccessKey":"s",'
                  echo '"SessionToken":"t"}')"),
            "A t");
  EXPECT_EQ(fetch(R"(cat; printf '{"Version":1,"AccessKeyId":"B","SecretAccessKey":"s"}' | cat)"),
            "B ")
      << "standard input is empty, and the shell's grammar holds";
}

TEST(ProcessKeysTest, AreNotThoseOfAProgramThatFails) {
  EXPECT_THAT(fetch("exit 3"), HasSubstr("it ended with status 3"));
  EXPECT_THAT(fetch("kill -9 $$"), HasSubstr("signal 9 ended it"));
  EXPECT_THAT(fetch("/nowhere/at/all 2>/dev/null"), HasSubstr("it ended with status 127"));
  EXPECT_THAT(fetch(R"(echo '{"AccessKeyId":"A","SecretAccessKey":"s"}')"),
              HasSubstr("no \"Version\": 1"));
  EXPECT_THAT(fetch("echo hunter2"),
              AllOf(HasSubstr("expected a JSON object"), Not(HasSubstr("hunter2"))));
  EXPECT_THAT(fetch("yes"), HasSubstr("too long"));
}

TEST(ProcessKeysTest, EndWithTheMountWhateverTheProgramDoes) {
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  std::jthread later([&stop] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop.request_stop();
  });
  EXPECT_THAT(fetch("sleep 1000 & sleep 1000", stop.get_token()), HasSubstr("ended"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace s3rdmafs::credentials
