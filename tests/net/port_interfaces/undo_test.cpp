#include "port/undo.h"

#include "network.h"

#include <gmock/gmock.h>
#include <linux/if.h>

namespace mqsteer {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class UndoTest : public Veth {
 protected:
  static Undo::Step mtu_of_near(const std::string& mtu) {
    return {Undo::Step::Kind::kMtu, {}, "near0", mtu};
  }
};

TEST_F(UndoTest, PutsBackTheStateBeforeTheFirstChange) {
  {
    Undo undo{near()};
    undo.remember(mtu_of_near("1500"));
    run("ip link set near0 mtu 2000");
    undo.remember(mtu_of_near("2000"));
    run("ip link set near0 mtu 3000");
  }
  EXPECT_EQ(near().mtu, 1500U);
}

TEST_F(UndoTest, IsReadBackByTheNextOneOfTheInterface) {
  Undo killed{near()};
  killed.remember(mtu_of_near("1400"));
  {
    const Undo next{near()};
    EXPECT_THAT(next.steps(), SizeIs(1));
  }
  EXPECT_EQ(near().mtu, 1400U);
  const Undo another{near()};
  EXPECT_THAT(another.steps(), IsEmpty()) << "done once, forgotten";
}

TEST_F(UndoTest, IsNotTakenForAnotherInterfaceOfTheSameNumber) {
  Undo killed{near()};
  killed.remember(mtu_of_near("1400"));
  run("ip link set near0 down && ip link set near0 address 02:00:00:00:00:01");
  const Undo other{near()};
  EXPECT_THAT(other.steps(), IsEmpty());
}

}  // namespace
}  // namespace mqsteer
