// SPDX-License-Identifier: Apache-2.0
#include "rdma/rdma_requests.h"

namespace s3rdmafs::target {
namespace {

class ControlTest : public RdmaTargetTest {
 protected:
  Response set_faults(const std::string& lines, bool from_loopback = true,
                      const NameValues& headers = {}) {
    Request asked = make_request(
        {.method = "POST", .target = "/.s3rdma-target/faults", .headers = headers, .sign = false});
    asked.from_loopback = from_loopback;
    return send(std::move(asked), lines);
  }
};

TEST_F(ControlTest, ChangesTheFaultsOfARunningServer) {
  services_->has_fault_control = true;
  service_.windows[kToken] = "..........";
  EXPECT_EQ(set_faults("no-reply\n").status, 204);
  EXPECT_EQ(reply(get(kToken)), "");
  EXPECT_EQ(set_faults("").status, 204);
  EXPECT_EQ(reply(get(kToken)), "200");
}

TEST_F(ControlTest, SaysWhatIsWrong) {
  services_->has_fault_control = true;
  const Response refused = set_faults("nonsense");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(body(refused).find("nonsense"), std::string::npos);
  EXPECT_EQ(set_faults(std::string(100'000, '\n')).status, 400);
}

TEST_F(ControlTest, IsThereOnlyIfAllowedAndOnlyForThisHost) {
  EXPECT_EQ(set_faults("no-reply").status, 405) << "not allowed: no request of S3";
  services_->has_fault_control = true;
  EXPECT_EQ(set_faults("no-reply", /*from_loopback=*/false).status, 405);
  EXPECT_EQ(set_faults("no-reply").status, 204) << "control";
}

TEST_F(ControlTest, IsNotThereForPagesInABrowser) {
  services_->has_fault_control = true;
  service_.windows[kToken] = "..........";
  for (const std::string origin : {"http://example.org", "http://127.0.0.1:9000", "null"}) {
    EXPECT_EQ(set_faults("no-reply", /*from_loopback=*/true, {{"origin", origin}}).status, 403);
  }
  EXPECT_EQ(reply(get(kToken)), "200") << "no fault was switched on";
}

}  // namespace
}  // namespace s3rdmafs::target
