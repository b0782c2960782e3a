// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "target/behaviour/behaviour.h"
#include "unit/target/rdma/rdma_requests.h"

namespace s3rdmafs::target {

/// Well-formed tokens of a ConnectX: nothing in a test can serve them.
inline const std::string kNicToken =
    "0102030405060708:01020304:01020304:0102:010203:1:0102030405060708090a0b0c0d0e0f10";
inline const std::string kOldAistorToken = kNicToken + ":0102030405060708:0000000001020304";

/// A server that behaves as the test says, whose client's memory holds ten bytes.
class BehaviourTest : public RdmaTargetTest {
 protected:
  BehaviourTest() { service_.windows[kToken] = "0123456789"; }

  /// The answer to a GET of a range by RDMA.
  Told get_range() {
    const Response response = get(kToken, {{"range", "bytes=2-5"}});
    EXPECT_EQ(response.body_bytes(), 0U);
    EXPECT_EQ(service_.windows[kToken].substr(0, 4), "2345");
    return told(response);
  }
};

}  // namespace s3rdmafs::target
