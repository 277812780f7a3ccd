// Goal: names are resolved off the reactor's thread, answers and errors come back to who asked, and
// the resolver stops cleanly whatever is under way.
// Method: a real reactor on io_uring; only names that need no name server: addresses, names that
// cannot exist.
#include "source/server/dns_resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "source/io/uring/uring_engine.h"
#include "source/rt/reactor.h"

namespace server {
namespace {

class DnsResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    auto engine = io::UringEngine::create({}, base::ShardId{0}, doorbells_);
    if (!engine.ok()) {
      GTEST_SKIP() << "io_uring is not available";
    }
    engine_ = std::move(engine.value());
    reactor_ = std::make_unique<rt::Reactor>(*engine_);
    group_ = std::make_unique<rt::TaskGroup>(*reactor_, 100);
    resolver_ = std::make_unique<DnsResolver>(*reactor_);
    ASSERT_TRUE(resolver_->start().ok());
  }
  void TearDown() override {
    if (resolver_ != nullptr) {
      group_->spawn(stop());
      runToEnd();
      resolver_.reset();
      group_.reset();
      reactor_.reset();
    }
  }

  rt::Task<void> stop() { co_await resolver_->stop(); }
  rt::Task<void> ask(std::string host, base::Result<std::vector<net::Address>>* answer,
                     base::MonoTime deadline = base::kNever) {
    *answer = co_await resolver_->resolve(std::move(host), group_->scope(), deadline);
  }
  void runToEnd() {
    while (group_->size() > 0) {
      reactor_->runTurn(false);  // a turn that sleeps would not see that the last task has ended
    }
  }

  io::Doorbells doorbells_{1};
  std::unique_ptr<io::UringEngine> engine_;
  std::unique_ptr<rt::Reactor> reactor_;
  std::unique_ptr<rt::TaskGroup> group_;
  std::unique_ptr<DnsResolver> resolver_;
};

using Answer = base::Result<std::vector<net::Address>>;
const Answer kNone = base::Error{base::Code::stale_location};

TEST_F(DnsResolverTest, AddressesStandForThemselves) {
  Answer v4 = kNone;
  Answer v6 = kNone;
  group_->spawn(ask("192.0.2.7", &v4));
  group_->spawn(ask("2001:db8::7", &v6));
  runToEnd();
  ASSERT_TRUE(v4.ok());
  ASSERT_TRUE(v6.ok());
  EXPECT_EQ(v4.value(), std::vector<net::Address>{*net::Address::parse("192.0.2.7", 0)});
  EXPECT_EQ(v6.value(), std::vector<net::Address>{*net::Address::parse("2001:db8::7", 0)});
}

TEST_F(DnsResolverTest, ImpossibleNamesAreErrors) {
  Answer empty_label = kNone;
  Answer long_label = kNone;
  group_->spawn(ask("a..b", &empty_label));
  group_->spawn(ask(std::string(300, 'x'), &long_label));
  runToEnd();
  ASSERT_FALSE(empty_label.ok());
  ASSERT_FALSE(long_label.ok());
  EXPECT_EQ(empty_label.error().code, base::Code::unreachable);
  EXPECT_EQ(long_label.error().blame, base::Blame::upstream);
}

TEST_F(DnsResolverTest, ManyQuestionsAllGetTheirOwnAnswer) {
  std::vector<Answer> answers(50, kNone);
  for (size_t i = 0; i < answers.size(); i++) {
    group_->spawn(ask("192.0.2." + std::to_string(i), &answers[i]));
  }
  runToEnd();
  for (size_t i = 0; i < answers.size(); i++) {
    ASSERT_TRUE(answers[i].ok());
    EXPECT_EQ(answers[i].value()[0].text(), "192.0.2." + std::to_string(i) + ":0");
  }
}

TEST_F(DnsResolverTest, WhoAsksMayGiveUp) {
  Answer cancelled = kNone;
  group_->spawn(ask("192.0.2.1", &cancelled));
  group_->cancelAll();
  runToEnd();
  EXPECT_TRUE(!cancelled.ok() && cancelled.error().code == base::Code::cancelled);
}

TEST_F(DnsResolverTest, AnswersOnlyInTime) {
  Answer late = kNone;
  group_->spawn(ask("192.0.2.1", &late, reactor_->now()));
  runToEnd();
  // The thread may have been faster than the timer; nothing else is allowed.
  EXPECT_TRUE(late.ok() || late.error().code == base::Code::timeout);
}

}  // namespace
}  // namespace server
