#include "network.h"

#include <gmock/gmock.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace mqsteer {
namespace {

using testing::Contains;
using testing::HasSubstr;

int bpf(int command, bpf_attr& attributes) {
  return static_cast<int>(syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

/// An XDP program of somebody else on an interface, which passes every frame.
class ForeignProgram {
 public:
  explicit ForeignProgram(int interface_index) {
    const std::array<bpf_insn, 2> code{bpf_insn{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                                       bpf_insn{BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
    bpf_attr attributes{};
    attributes.prog_type = BPF_PROG_TYPE_XDP;
    attributes.insns = reinterpret_cast<std::uint64_t>(code.data());
    attributes.insn_cnt = code.size();
    attributes.license = reinterpret_cast<std::uint64_t>("GPL");
    strcpy(attributes.prog_name, "somebodys");
    program_ = Descriptor{bpf(BPF_PROG_LOAD, attributes)};
    attributes = {};
    attributes.link_create.prog_fd = static_cast<std::uint32_t>(program_.get());
    attributes.link_create.target_ifindex = static_cast<std::uint32_t>(interface_index);
    attributes.link_create.attach_type = BPF_XDP;
    link_ = Descriptor{bpf(BPF_LINK_CREATE, attributes)};
  }
  [[nodiscard]] bool attached() const { return link_.valid(); }

 private:
  Descriptor program_;
  Descriptor link_;
};

class Xdp : public Veth {};

TEST_F(Xdp, ProgramOfSomebodyElseIsNamedAndLeftAlone) {
  const ForeignProgram foreign{near().index};
  ASSERT_TRUE(foreign.attached());
  const std::uint32_t id = near().xdp_program;
  ASSERT_NE(id, 0U);
  EXPECT_EQ(refusal(config()), "port left: XDP program somebodys (id " + std::to_string(id) +
                                   ") of somebody else is on near0; if it is not needed, remove "
                                   "it: ip link set dev near0 xdp off");
  EXPECT_EQ(near().xdp_program, id);
}

TEST_F(Xdp, ProgramIsGoneAfterAProperStop) {
  const OpenedPort opened = open(config());
  EXPECT_NE(near().xdp_program, 0U);
  opened.port->stop();
  EXPECT_EQ(near().xdp_program, 0U);
}

TEST_F(Xdp, ProgramOfAKilledRunIsTakenOverAndRemoved) {
  HoldingProcess other{"near0"};
  other.kill();
  ASSERT_NE(near().xdp_program, 0U) << "the test wants a left-over";
  const OpenedPort opened = open(config());
  EXPECT_THAT(opened.port->notes(), Contains("port left: the AF_XDP program of an earlier run was "
                                             "still on near0 and is taken over"));
  const Host host{place_, "far0"};
  host.send(test_frame(60, 3));
  EXPECT_EQ(opened.receive(), test_frame(60, 3));
  opened.port->stop();
  EXPECT_EQ(near().xdp_program, 0U);
}

TEST_F(Xdp, ProgramInUseByAnotherProcessIsRefusedAndStays) {
  const HoldingProcess other{"near0"};
  const std::uint32_t id = near().xdp_program;
  EXPECT_EQ(refusal(config(OffloadPolicy::kIgnore)),
            "port left: near0 is in use by net_port (process " + std::to_string(other.id()) +
                "), whose AF_XDP program is on it; stop it first");
  EXPECT_EQ(near().xdp_program, id);
}

TEST_F(Xdp, KilledTwentyTimesLeavesNothingInTheWay) {
  for (int round = 0; round < 20; ++round) {
    HoldingProcess other{"near0"};
    other.kill();
  }
  EXPECT_EQ(refusal(config()), "");
  EXPECT_EQ(near().xdp_program, 0U);
}

}  // namespace
}  // namespace mqsteer
