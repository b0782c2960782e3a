// SPDX-License-Identifier: Apache-2.0
// s3rdma-target(1) against what the program takes.
#include <gtest/gtest.h>

#include "../docs/man_page.h"
#include "target/options.h"

namespace s3rdmafs::target {
namespace {

ParsedOptions parse(std::vector<std::string> arguments) {
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

std::string page() { return docs::read_source("man/s3rdma-target.1.scd"); }

TEST(TargetPage, HasTheOptionsOfHelpAndNoOthers) {
  testing::internal::CaptureStdout();
  EXPECT_FALSE(parse({"s3rdma-target", "--help"}).serve);
  const std::string help = testing::internal::GetCapturedStdout();

  EXPECT_EQ(docs::documented_options(page())["OPTIONS"], docs::options_of_help(help));
}

TEST(TargetPage, HasEachBehaviourAndEachFault) {
  for (const Behaviour& behaviour : behaviours()) {
    EXPECT_NE(page().find("\n*" + std::string(behaviour.name) + "*\n"), std::string::npos)
        << behaviour.name;
  }
  for (const FaultDescription& kind : fault_descriptions()) {
    EXPECT_NE(page().find("*" + std::string(kind.name) + "*"), std::string::npos) << kind.name;
  }
}

TEST(TargetOptions, SayWhatIsWrongWithAFaultOrABehaviour) {
  const std::vector<std::string> good = {"s3rdma-target", "--root", "/", "--anonymous-read"};
  const auto parse_with = [&](const std::string& option) {
    auto arguments = good;
    arguments.push_back(option);
    testing::internal::CaptureStderr();
    const bool serves = parse(arguments).serve;
    return (serves ? "" : "refused: ") + testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(parse_with("--fault=late-write:10ms@get"), "");
  EXPECT_EQ(parse_with("--behave-as=noobaa"), "");
  EXPECT_NE(parse_with("--fault=late").find("late-write"), std::string::npos);
  EXPECT_NE(parse_with("--behave-as=minio").find("aistor"), std::string::npos);
}

}  // namespace
}  // namespace s3rdmafs::target
