#include "control/instance_lock.h"

#include "temporary_directory.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mqsteer::test {
namespace {

using ::testing::HasSubstr;

TEST(InstanceLock, SecondHolderIsToldTheFirstsPid) {
  const TemporaryDirectory directory;
  const auto first = InstanceLock::take("box", directory.path());
  ASSERT_TRUE(first) << first.error().text();
  const auto second = InstanceLock::take("box", directory.path());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().text(),
            "instance box is running already, as process " + std::to_string(getpid()) +
                "; stop it first, or give this one another name by the key instance");
}

TEST(InstanceLock, InstancesDoNotDisturbEachOther) {
  const TemporaryDirectory directory;
  const auto first = InstanceLock::take("one", directory.path());
  EXPECT_TRUE(InstanceLock::take("two", directory.path()));
}

TEST(InstanceLock, EndsWithItsHolderAndLeavesNothing) {
  const TemporaryDirectory directory;
  { const auto lock = InstanceLock::take("box", directory.path()); }
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/box"));
  EXPECT_TRUE(InstanceLock::take("box", directory.path()));
}

TEST(InstanceLock, MovedFromHoldsNothing) {
  const TemporaryDirectory directory;
  auto first = InstanceLock::take("box", directory.path());
  ASSERT_TRUE(first);
  {
    const InstanceLock moved{std::move(*first)};
    EXPECT_FALSE(InstanceLock::take("box", directory.path()));
  }
  EXPECT_TRUE(InstanceLock::take("box", directory.path()));
}

TEST(InstanceLock, ACrashGivesItBack) {
  const TemporaryDirectory directory;
  const pid_t child = fork();
  if (child == 0) {
    const auto lock = InstanceLock::take("box", directory.path());
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(std::filesystem::exists(directory.path() + "/box/lock"));
  EXPECT_TRUE(InstanceLock::take("box", directory.path()));
}

TEST(InstanceLock, TextInALeftoverFileDoesNoHarm) {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/box");
  std::ofstream{directory.path() + "/box/lock"} << "\x1b[31m not a pid, and a long one at that";
  const auto lock = InstanceLock::take("box", directory.path());
  ASSERT_TRUE(lock) << lock.error().text();
  std::string text;
  std::getline(std::ifstream{directory.path() + "/box/lock"}, text);
  EXPECT_EQ(text, std::to_string(getpid()));
}

TEST(InstanceLock, MakesTheDirectoriesForAllToLookInto) {
  const TemporaryDirectory directory;
  const std::string deep = directory.path() + "/run/mqsteer";
  const auto lock = InstanceLock::take("box", deep);
  ASSERT_TRUE(lock) << lock.error().text();
  const auto mode = std::filesystem::status(deep + "/box").permissions();
  EXPECT_EQ(mode, std::filesystem::perms{0755});
}

TEST(InstanceLock, NamesTheDirectoryThatCannotBeMade) {
  const TemporaryDirectory directory;
  std::ofstream{directory.path() + "/file"} << "x";
  const auto lock = InstanceLock::take("box", directory.path() + "/file");
  ASSERT_FALSE(lock);
  EXPECT_THAT(lock.error().text(), HasSubstr(directory.path() + "/file/box: Not a directory"));
}

}  // namespace
}  // namespace mqsteer::test
