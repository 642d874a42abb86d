#include "network.h"
#include "port/offloads.h"

#include <gmock/gmock.h>

namespace mqsteer {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Offloads : public Veth {
 protected:
  [[nodiscard]] static bool near_feature(std::string_view name) {
    return read_features("near0")->find(name)->second;
  }
};

constexpr const char* kOn = "tx-checksumming: on";
constexpr const char* kOff = "tx-checksumming: off";

TEST_F(Offloads, ThatLeaveChecksumsOutAreRefusedWithTheCommand) {
  EXPECT_EQ(refusal(config(OffloadPolicy::kCheck)),
            "port left: by tx of far0 frames come without their checksums, which a bridge would "
            "pass on broken; run: ip netns exec " +
                namespace_ + " ethtool -K far0 tx off (or say offloads: fix, or --offloads fix)");
  EXPECT_THAT(far_offloads(), HasSubstr(kOn)) << "a check changes nothing";
}

TEST_F(Offloads, AreAcceptedOnceTheCommandWasRun) {
  const std::string line = refusal(config(OffloadPolicy::kCheck));
  const std::string command =
      line.substr(line.find("ip netns"), line.find(" (or") - line.find("ip netns"));
  run(command + " >/dev/null");
  EXPECT_EQ(refusal(config(OffloadPolicy::kCheck)), "");
}

TEST_F(Offloads, AreTurnedOffByFixAndOnAgainAtStop) {
  const OpenedPort opened = open(config(OffloadPolicy::kFix));
  EXPECT_THAT(far_offloads(), HasSubstr(kOff));
  EXPECT_THAT(opened.port->notes(), Contains("port left: tx of far0 (/run/netns/" + namespace_ +
                                             ") is turned off until stop"));
  opened.port->stop();
  EXPECT_THAT(far_offloads(), HasSubstr(kOn));
}

TEST_F(Offloads, ThatAKilledRunTurnedOffAreOnAgainAfterTheNext) {
  HoldingProcess other{"near0"};
  other.kill();
  EXPECT_THAT(far_offloads(), HasSubstr(kOff));
  { const OpenedPort next = open(config(OffloadPolicy::kCheck)); }
  EXPECT_THAT(far_offloads(), HasSubstr(kOn));
}

TEST_F(Offloads, AreIgnoredWhenToldTo) {
  const OpenedPort opened = open(config(OffloadPolicy::kIgnore));
  EXPECT_THAT(far_offloads(), HasSubstr(kOn));
}

TEST_F(Offloads, OfAPeerInTheSameNamespaceNeedNoPrefix) {
  run("ip link add one0 type veth peer name two0 && ip link set one0 up && ip link set two0 up");
  EXPECT_THAT(refusal({.name = "left", .device = "one0"}),
              HasSubstr("; run: ethtool -K two0 tx off (or say offloads: fix, or --offloads fix)"));
  run("ip link del one0");
}

TEST_F(Offloads, OfAPeerInANamelessNamespaceAreLeftToTheOperator) {
  run("ip link add one0 type veth peer name two0 && ip link set one0 up");
  const std::string move = "unshare -n sh -c 'echo $$; exec sleep 30'";
  FILE* const other = popen(move.c_str(), "r");
  int id = 0;
  ASSERT_EQ(fscanf(other, "%d", &id), 1);
  const std::string pid = std::to_string(id);
  run("ip link set two0 netns " + pid);
  {
    const OpenedPort opened = open({.name = "left", .device = "one0"});
    EXPECT_THAT(opened.port->notes(),
                Contains(HasSubstr("the other end of one0 is in a network namespace without a "
                                   "name; turn off tx there")));
  }
  run("ip link del one0");
  run("kill " + pid);
  pclose(other);
}

TEST_F(Offloads, ThatMergeFramesAreRefusedWherePcapWouldSeeThemMerged) {
  set_mtus(9000, 9000);
  run(place_.command_prefix + "ethtool -K far0 tx off >/dev/null");
  run("ethtool -K near0 gro on");
  EXPECT_EQ(refusal(config(OffloadPolicy::kCheck)),
            "port left: by gro of near0 received frames are merged into longer ones, which a "
            "bridge would pass on broken; run: ethtool -K near0 gro off (or say offloads: fix, or "
            "--offloads fix)");
  {
    const OpenedPort opened = open(config(OffloadPolicy::kFix));
    EXPECT_FALSE(near_feature("rx-gro"));
  }
  EXPECT_TRUE(near_feature("rx-gro"));
}

}  // namespace
}  // namespace mqsteer
