// Goal: the RAM tier's policy keeps its budget to the byte and evicts as S3-FIFO does. Method:
// random use against a plain restatement of the algorithm with deques and an exact ghost list;
// victims still in use.
#include "source/store/core/s3fifo.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

#include "source/base/random.h"

namespace store {
namespace {

struct Node : RamNode {
  uint64_t key = 0;
};

std::unique_ptr<Node> makeNode(uint64_t key, uint64_t bytes) {
  auto node = std::make_unique<Node>();
  node->key = key;
  node->fingerprint = key * 0x9e3779b97f4a7c15ULL + 1;
  node->bytes = bytes;
  return node;
}

// The algorithm of the paper, with sizes; the ghost remembers as many bytes as main may hold.
class Model {
 public:
  explicit Model(uint64_t budget) : budget_(budget) {}

  bool has(uint64_t key) const { return objects_.contains(key); }
  void hit(uint64_t key) {
    Object& o = objects_.at(key);
    o.frequency = std::min(3, o.frequency + 1);
  }
  // Returns the victims in order.
  std::vector<uint64_t> insert(uint64_t key, uint64_t bytes) {
    std::vector<uint64_t> victims;
    while (used_ + bytes > budget_) {
      victims.push_back(evict());
    }
    const auto ghost =
        std::find_if(ghost_.begin(), ghost_.end(), [&](const auto& g) { return g.first == key; });
    const bool known =
        ghost != ghost_.end() && ghost_clock_ - ghost->second <= budget_ - budget_ / 10;
    if (ghost != ghost_.end()) {
      ghost_.erase(ghost);
    }
    objects_[key] = Object{bytes, 0, !known};
    (known ? main_ : small_).push_back(key);
    used_ += bytes;
    small_used_ += known ? 0 : bytes;
    return victims;
  }
  uint64_t used() const { return used_; }

 private:
  struct Object {
    uint64_t bytes = 0;
    int frequency = 0;
    bool small = false;
  };
  uint64_t evict() {
    for (;;) {
      if (!small_.empty() && (small_used_ > budget_ / 10 || main_.empty())) {
        const uint64_t key = small_.front();
        small_.pop_front();
        Object& o = objects_.at(key);
        small_used_ -= o.bytes;
        if (o.frequency > 1) {
          o.frequency = 0;
          o.small = false;
          main_.push_back(key);
          continue;
        }
        ghost_clock_ += o.bytes;
        ghost_.emplace_back(key, ghost_clock_);
        return drop(key);
      }
      const uint64_t key = main_.front();
      main_.pop_front();
      Object& o = objects_.at(key);
      if (o.frequency > 0) {
        o.frequency--;
        main_.push_back(key);
        continue;
      }
      return drop(key);
    }
  }
  uint64_t drop(uint64_t key) {
    used_ -= objects_.at(key).bytes;
    objects_.erase(key);
    return key;
  }

  uint64_t budget_;
  uint64_t used_ = 0;
  uint64_t small_used_ = 0;
  uint64_t ghost_clock_ = 0;
  std::map<uint64_t, Object> objects_;
  std::deque<uint64_t> small_;
  std::deque<uint64_t> main_;
  std::list<std::pair<uint64_t, uint64_t>> ghost_;
};

TEST(S3Fifo, EvictsLikeThePaper) {
  constexpr uint64_t kBudget = 20000;
  // So many ghost slots that none is displaced before its time.
  S3Fifo policy(S3FifoOptions{kBudget, 1 << 16});
  Model model(kBudget);
  std::map<uint64_t, std::unique_ptr<Node>> nodes;
  base::Random random(1);
  uint64_t hits = 0;
  for (int i = 0; i < 100000; i++) {
    // Skewed towards small keys.
    const uint64_t key = random.below(random.below(random.below(2000) + 1) + 1);
    const uint64_t bytes = 10 + key * 37 % 190;
    ASSERT_EQ(nodes.contains(key), model.has(key)) << i;
    if (nodes.contains(key)) {
      policy.hit(nodes.at(key).get());
      model.hit(key);
      hits++;
      continue;
    }
    std::vector<uint64_t> victims;
    while (!policy.hasRoom(bytes)) {
      auto* victim = static_cast<Node*>(policy.evict());
      ASSERT_NE(victim, nullptr);
      victims.push_back(victim->key);
      policy.freed(victim->bytes);
      nodes.erase(victim->key);
    }
    auto node = makeNode(key, bytes);
    policy.insert(node.get());
    nodes[key] = std::move(node);
    ASSERT_EQ(victims, model.insert(key, bytes)) << i;
    ASSERT_EQ(policy.usedBytes(), model.used());
    ASSERT_LE(policy.usedBytes(), kBudget);
    ASSERT_EQ(policy.count(), nodes.size());
  }
  EXPECT_GT(hits, 30000u);
  while (policy.evict() != nullptr) {
  }
}

TEST(S3Fifo, TheBudgetIsExactToTheByte) {
  S3Fifo policy(S3FifoOptions{1000, 64});
  auto a = makeNode(1, 250);
  EXPECT_TRUE(policy.accepts(250));
  EXPECT_FALSE(policy.accepts(251));
  policy.insert(a.get());
  EXPECT_TRUE(policy.hasRoom(750));
  EXPECT_FALSE(policy.hasRoom(751));
  policy.remove(a.get());
  policy.freed(250);
  EXPECT_TRUE(policy.hasRoom(1000));
  EXPECT_FALSE(policy.hasRoom(1001));
}

TEST(S3Fifo, AVictimInUseCountsUntilItIsFreed) {
  S3Fifo policy(S3FifoOptions{1000, 64});
  std::vector<std::unique_ptr<Node>> nodes;
  for (uint64_t key = 0; key < 4; key++) {
    nodes.push_back(makeNode(key, 250));
    policy.insert(nodes.back().get());
  }
  RamNode* pinned = policy.evict();
  ASSERT_NE(pinned, nullptr);
  EXPECT_EQ(pinned->queue, RamNode::Queue::none);
  EXPECT_EQ(policy.usedBytes(), 750u);
  EXPECT_EQ(policy.leavingBytes(), 250u);
  EXPECT_FALSE(policy.hasRoom(1));
  policy.freed(250);
  EXPECT_TRUE(policy.hasRoom(250));
  // Everything is in use: there is nothing to evict and no room; the caller does not insert.
  while (policy.evict() != nullptr) {
  }
  EXPECT_FALSE(policy.hasRoom(251));
  EXPECT_EQ(policy.count(), 0u);
  policy.freed(750);
}

TEST(S3Fifo, LessBudgetIsMadeByEvicting) {
  S3Fifo policy(S3FifoOptions{10000, 64});
  std::vector<std::unique_ptr<Node>> nodes;
  for (uint64_t key = 0; key < 100; key++) {
    nodes.push_back(makeNode(key, 100));
    policy.insert(nodes.back().get());
  }
  policy.setBudget(2500);
  while (!policy.hasRoom(0)) {
    policy.freed(policy.evict()->bytes);
  }
  EXPECT_EQ(policy.usedBytes(), 2500u);
  while (policy.evict() != nullptr) {
  }
}

TEST(S3Fifo, OneHitWondersDoNotDisplaceTheMainQueue) {
  S3Fifo policy(S3FifoOptions{10000, 1024});
  std::map<uint64_t, std::unique_ptr<Node>> nodes;
  const auto request = [&](uint64_t key) {
    if (nodes.contains(key)) {
      policy.hit(nodes.at(key).get());
      return true;
    }
    while (!policy.hasRoom(100)) {
      auto* victim = static_cast<Node*>(policy.evict());
      policy.freed(victim->bytes);
      nodes.erase(victim->key);
    }
    nodes[key] = makeNode(key, 100);
    policy.insert(nodes[key].get());
    return false;
  };
  for (int round = 0; round < 4; round++) {
    for (uint64_t key = 0; key < 50; key++) {
      request(key);
    }
  }
  for (uint64_t scan = 1000; scan < 3000; scan++) {
    request(scan);
  }
  for (uint64_t key = 0; key < 50; key++) {
    EXPECT_TRUE(request(key)) << key;
  }
  while (policy.evict() != nullptr) {
  }
}

}  // namespace
}  // namespace store
