#include "packet/flow_tuple.h"

#include <gmock/gmock.h>

namespace mqsteer {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(FlowTuple, EveryFormReadsBackAsItIsWritten) {
  for (const char* protocol : {"tcp", "udp", "udplite", "sctp", "dccp"}) {
    const auto v4 = FlowTuple::parse(protocol, "10.0.0.1:0", "255.255.255.255:65535");
    ASSERT_TRUE(v4) << v4.error().text();
    EXPECT_EQ(v4->text(), std::string{protocol} + " 10.0.0.1:0 255.255.255.255:65535");
    const auto v6 = FlowTuple::parse(protocol, "[fd00::1]:53", "[::]:1");
    ASSERT_TRUE(v6) << v6.error().text();
    EXPECT_EQ(v6->text(), std::string{protocol} + " [fd00::1]:53 [::]:1");
  }
}

TEST(FlowTuple, WhatIsNoFlowIsRefusedWithWhatIsAllowed) {
  const auto fault = [](const char* protocol, const char* from, const char* to) {
    const auto flow = FlowTuple::parse(protocol, from, to);
    return flow ? std::string{"accepted"} : flow.error().text();
  };
  EXPECT_THAT(fault("icmp", "1.1.1.1:1", "1.1.1.2:1"), StartsWith("'icmp' is not a protocol"));
  EXPECT_THAT(fault("tcp", "1.1.1.1", "1.1.1.2:1"), StartsWith("'1.1.1.1' has no port"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:65536", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:-1", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.1:8x", "1.1.1.2:1"), HasSubstr("no port of 0..65535"));
  EXPECT_THAT(fault("tcp", "1.1.1.256:1", "1.1.1.2:1"), HasSubstr("no IPv4 address"));
  EXPECT_THAT(fault("tcp", "fd00::1:80", "1.1.1.2:1"), HasSubstr("IPv6 address in brackets"));
  EXPECT_THAT(fault("tcp", "[]:80", "1.1.1.2:1"), HasSubstr("no IPv4 address"));
  EXPECT_THAT(fault("tcp", "[fd00::1]:80", "1.1.1.2:1"), HasSubstr("one end is IPv4"));
  EXPECT_THAT(fault("tcp", ":", ":"), HasSubstr("allowed: A.B.C.D:PORT or [IPV6]:PORT"));
  EXPECT_THAT(fault("tcp", "", ""), HasSubstr("allowed: A.B.C.D:PORT or [IPV6]:PORT"));
}

TEST(FlowTuple, BothDirectionsAreOneFlowWhereSymmetricAndTwoWhereNot) {
  const auto there = FlowTuple::parse("tcp", "10.0.0.1:1234", "10.0.0.2:80");
  const auto back = FlowTuple::parse("tcp", "10.0.0.2:80", "10.0.0.1:1234");
  ASSERT_TRUE(there && back);
  for (const auto kind : {HasherConfig::kFast, HasherConfig::kToeplitz}) {
    const FlowHasher one{{.kind = kind, .symmetric = true}};
    EXPECT_EQ(there->explain(one).hash, back->explain(one).hash);
    const FlowHasher two{{.kind = kind, .symmetric = false}};
    EXPECT_NE(there->explain(two).hash, back->explain(two).hash);
  }
}

/// Microsoft's verification suite for RSS: 66.9.149.187:2794 -> 161.142.100.80:1766 is 0x51ccc178.
TEST(FlowTuple, HasTheHashThatIsPublishedForItsAddressesAndPorts) {
  const FlowHasher hasher{{.kind = HasherConfig::kToeplitz, .symmetric = false}};
  const auto v4 = FlowTuple::parse("tcp", "66.9.149.187:2794", "161.142.100.80:1766");
  ASSERT_TRUE(v4);
  EXPECT_EQ(v4->explain(hasher).hash, 0x51ccc178U);
  const auto v6 =
      FlowTuple::parse("tcp", "[3ffe:2501:200:1fff::7]:2794", "[3ffe:2501:200:3::1]:1766");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->explain(hasher).hash, 0x40207d3dU);
}

}  // namespace
}  // namespace mqsteer
