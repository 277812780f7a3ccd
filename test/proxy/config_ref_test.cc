// Goal: a configuration lives exactly as long as it is current or somebody uses it. Method: uses
// taken, moved and dropped in every order, seen through weak pointers.
#include "source/proxy/config_ref.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace proxy {
namespace {

std::shared_ptr<const config::Snapshot> snapshotOf(uint64_t version) {
  auto snapshot = std::make_shared<config::Snapshot>();
  snapshot->version = version;
  return snapshot;
}

TEST(ConfigHolder, KeepsTheCurrentOneWithoutUsers) {
  ConfigHolder holder;
  EXPECT_FALSE(holder.has());
  holder.set(snapshotOf(1));
  EXPECT_TRUE(holder.has());
  EXPECT_EQ(holder.current().version, 1U);
  holder.use().reset();
  EXPECT_EQ(holder.current().version, 1U);
  EXPECT_EQ(holder.retained(), 0U);
}

TEST(ConfigHolder, AnOldOneGoesWithItsLastUser) {
  ConfigHolder holder;
  std::shared_ptr<const config::Snapshot> first = snapshotOf(1);
  const std::weak_ptr<const config::Snapshot> seen = first;
  holder.set(std::move(first));
  ConfigUse a = holder.use();
  ConfigUse b = holder.use();
  holder.set(snapshotOf(2));
  EXPECT_EQ(holder.current().version, 2U);
  EXPECT_EQ(a->version, 1U);
  EXPECT_EQ(holder.retained(), 1U);
  a.reset();
  EXPECT_FALSE(seen.expired());
  EXPECT_EQ(b->version, 1U);
  b.reset();
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(holder.retained(), 0U);
}

TEST(ConfigHolder, AnUnusedOneGoesAtOnce) {
  ConfigHolder holder;
  std::shared_ptr<const config::Snapshot> first = snapshotOf(1);
  const std::weak_ptr<const config::Snapshot> seen = first;
  holder.set(std::move(first));
  holder.set(snapshotOf(2));
  EXPECT_TRUE(seen.expired());
}

TEST(ConfigHolder, UsersOfSeveralOldOnesEndInAnyOrder) {
  ConfigHolder holder;
  std::vector<ConfigUse> uses;
  for (uint64_t version = 1; version <= 4; version++) {
    holder.set(snapshotOf(version));
    uses.push_back(holder.use());
  }
  EXPECT_EQ(holder.retained(), 3U);
  uses[1].reset();
  EXPECT_EQ(holder.retained(), 2U);
  EXPECT_EQ(uses[0]->version, 1U);
  EXPECT_EQ(uses[2]->version, 3U);
  uses[3].reset();  // the current one stays
  EXPECT_EQ(holder.current().version, 4U);
  uses[0].reset();
  uses[2].reset();
  EXPECT_EQ(holder.retained(), 0U);
}

TEST(ConfigUse, MovesItsCount) {
  ConfigHolder holder;
  holder.set(snapshotOf(1));
  ConfigUse a = holder.use();
  ConfigUse b(std::move(a));
  EXPECT_FALSE(static_cast<bool>(a));
  holder.set(snapshotOf(2));
  ConfigUse c = holder.use();
  c = std::move(b);  // lets go of the second, keeps the first
  EXPECT_EQ(c->version, 1U);
  EXPECT_EQ(holder.retained(), 1U);
  c.reset();
  c.reset();
  EXPECT_EQ(holder.retained(), 0U);
}

}  // namespace
}  // namespace proxy
