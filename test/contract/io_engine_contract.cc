// The fixture of the contract, and its clauses about time, counting and cancelling. Clauses about
// sockets are in sockets_contract.cc, about files and events in files_contract.cc, about doorbells
// in doorbells_contract.cc.
#include "test/contract/io_engine_contract.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "source/base/random.h"

namespace contract {

void setAccept(rt::Op& op, int fd) {
  setPlain(op, rt::OpKind::accept, fd);
}

void setConnect(rt::Op& op, int fd, const sockaddr_in& address) {
  setPlain(op, rt::OpKind::connect, fd);
  op.addr = const_cast<sockaddr_in*>(&address);
  op.len = sizeof address;
}

void setRecv(rt::Op& op, int fd, void* to, size_t length) {
  setPlain(op, rt::OpKind::recv, fd);
  op.addr = to;
  op.len = static_cast<uint32_t>(length);
}

void setRecvSelect(rt::Op& op, int fd) {
  setPlain(op, rt::OpKind::recv_select, fd);
}

void setSend(rt::Op& op, int fd, const void* from, size_t length) {
  setPlain(op, rt::OpKind::send, fd);
  op.addr = const_cast<void*>(from);
  op.len = static_cast<uint32_t>(length);
}

void setFile(rt::Op& op, rt::OpKind kind, int fd, void* bytes, size_t length, uint64_t offset) {
  setPlain(op, kind, fd);
  op.addr = bytes;
  op.len = static_cast<uint32_t>(length);
  op.offset = offset;
}

void setPoll(rt::Op& op, int fd, uint32_t events) {
  setPlain(op, rt::OpKind::poll, fd);
  op.len = events;
}

void setPlain(rt::Op& op, rt::OpKind kind, int fd) {
  op.kind = kind;
  op.fd = fd;
}

int32_t IoEngineContract::await(rt::Op& op) {
  const base::MonoTime deadline = engine().monotonic() + 10 * base::kSecond_ns;
  while (op.state != rt::Op::State::done && engine().monotonic() < deadline) {
    rt::OpList list;
    engine().enter(deadline, list);
    while (rt::Op* done = list.pop()) {
      completed_.push_back(done);
    }
  }
  CHECK(op.state == rt::Op::State::done);  // it never completed
  return op.result;
}

int32_t IoEngineContract::run(rt::Op& op) {
  engine().prepare(op);
  return await(op);
}

size_t IoEngineContract::poke() {
  rt::OpList list;
  const size_t count = engine().enter(base::MonoTime{0}, list);
  size_t listed = 0;
  while (rt::Op* done = list.pop()) {
    completed_.push_back(done);
    listed++;
  }
  EXPECT_EQ(count, listed);
  return count;
}

IoEngineContract::Pair IoEngineContract::connect() {
  sockaddr_in address{};
  const int listener = rig_->listen(address);
  Pair pair{rig_->socket(), -1};
  rt::Op accept;
  rt::Op connect;
  setAccept(accept, listener);
  setConnect(connect, pair.client, address);
  engine().prepare(accept);
  engine().prepare(connect);
  EXPECT_EQ(await(connect), 0);
  pair.server = await(accept);
  EXPECT_GE(pair.server, 0);
  rig_->close(listener);
  return pair;
}

std::string IoEngineContract::receive(int fd, size_t count) {
  std::string text(count, '\0');
  size_t got = 0;
  while (got < count) {
    rt::Op op;
    setRecv(op, fd, text.data() + got, count - got);
    const int32_t result = run(op);
    if (result <= 0) {
      break;
    }
    got += static_cast<size_t>(result);
  }
  text.resize(got);
  return text;
}

int32_t IoEngineContract::send(int fd, std::string_view text) {
  rt::Op op;
  setSend(op, fd, text.data(), text.size());
  return run(op);
}

namespace {

TEST_P(IoEngineContract, EnterReturnsAtItsDeadline) {
  const base::MonoTime begun = engine().monotonic();
  const base::MonoTime deadline = begun + 5 * base::kMillisecond_ns;
  rt::OpList list;
  while (engine().monotonic() < deadline) {
    EXPECT_EQ(engine().enter(deadline, list), 0U);
  }
  EXPECT_TRUE(list.empty());
  EXPECT_LT(engine().monotonic().ns, begun.ns + 5 * base::kSecond_ns);
}

TEST_P(IoEngineContract, EnterWithAPastDeadlineDoesNotWait) {
  const base::MonoTime begun = engine().monotonic();
  rt::OpList list;
  EXPECT_EQ(engine().enter(base::MonoTime{0}, list), 0U);
  EXPECT_EQ(engine().enter(base::MonoTime{1}, list), 0U);
  EXPECT_LT(engine().monotonic().ns, begun.ns + base::kSecond_ns);
  EXPECT_EQ(engine().stats().sleeps, 0U);
}

TEST_P(IoEngineContract, ClocksGoForward) {
  const base::MonoTime first = engine().monotonic();
  EXPECT_GE(engine().monotonic(), first);
  EXPECT_GT(engine().wall().s, 1'000'000'000);
}

TEST_P(IoEngineContract, EachOperationCompletesOnce) {
  const int fd = rig_->file();
  constexpr size_t kOps = 3000;  // more than a submission queue holds
  std::deque<rt::Op> ops(kOps);
  std::vector<char> bytes(kOps, 'a');
  for (size_t i = 0; i < kOps; i++) {
    setFile(ops[i], rt::OpKind::write, fd, &bytes[i], 1, i);
    engine().prepare(ops[i]);
    EXPECT_EQ(ops[i].state, rt::Op::State::queued);
  }
  for (rt::Op& op : ops) {
    EXPECT_EQ(await(op), 1);
  }
  EXPECT_EQ(poke(), 0U);
  ASSERT_EQ(completed_.size(), kOps);
  std::sort(completed_.begin(), completed_.end());
  EXPECT_EQ(std::unique(completed_.begin(), completed_.end()), completed_.end());
  rig_->close(fd);
}

TEST_P(IoEngineContract, CountsWhatItDoes) {
  const int fd = rig_->event();
  const rt::IoStats before = engine().stats();
  rt::Op op;
  setPoll(op, fd, POLLIN);
  engine().prepare(op);
  EXPECT_EQ(engine().stats().in_flight, before.in_flight + 1);
  poke();
  EXPECT_EQ(engine().stats().submissions, before.submissions + 1);
  rig_->signal(fd, 1);
  EXPECT_EQ(await(op), POLLIN);
  const rt::IoStats& after = engine().stats();
  EXPECT_EQ(after.completions, before.completions + 1);
  EXPECT_EQ(after.in_flight, before.in_flight);
  EXPECT_GE(after.in_flight_max, 1U);
  EXPECT_GT(after.enters, before.enters);
  EXPECT_GE(after.submission_batch_max, 1U);
  EXPECT_GE(after.completion_batch_max, 1U);
  rig_->close(fd);
}

TEST_P(IoEngineContract, AnOperationMayBeUsedAgain) {
  const int fd = rig_->event();
  rt::Op op;
  for (int i = 0; i < 3; i++) {
    rig_->signal(fd, 1);
    setPoll(op, fd, POLLIN);
    EXPECT_EQ(run(op), POLLIN);
  }
  rig_->close(fd);
}

// --- Cancelling ---

TEST_P(IoEngineContract, CancellingBeforeEnterStillCompletes) {
  const int fd = rig_->event();
  rt::Op op;
  setPoll(op, fd, POLLIN);
  engine().prepare(op);
  engine().cancel(op);
  EXPECT_EQ(await(op), -ECANCELED);
  EXPECT_EQ(completed_.size(), 1U);
  rig_->close(fd);
}

TEST_P(IoEngineContract, CancellingAWaitingOperationEndsIt) {
  const Pair pair = connect();
  sockaddr_in address{};
  const int listener = rig_->listen(address);
  const int event = rig_->event();
  char byte = 0;
  rt::Op recv;
  rt::Op accept;
  rt::Op poll;
  setRecv(recv, pair.client, &byte, 1);
  setAccept(accept, listener);
  setPoll(poll, event, POLLIN);
  for (rt::Op* op : {&recv, &accept, &poll}) {
    engine().prepare(*op);
  }
  EXPECT_EQ(poke(), 0U);
  for (rt::Op* op : {&recv, &accept, &poll}) {
    engine().cancel(*op);
  }
  EXPECT_EQ(await(recv), -ECANCELED);
  EXPECT_EQ(await(accept), -ECANCELED);
  EXPECT_EQ(await(poll), -ECANCELED);
  for (const int fd : {pair.client, pair.server, listener, event}) {
    rig_->close(fd);
  }
}

TEST_P(IoEngineContract, CancellingWhatIsDoneChangesNothing) {
  const int fd = rig_->event();
  rig_->signal(fd, 1);
  rt::Op op;
  setPoll(op, fd, POLLIN);
  EXPECT_EQ(run(op), POLLIN);
  engine().cancel(op);
  poke();
  poke();
  EXPECT_EQ(op.result, POLLIN);
  EXPECT_EQ(completed_.size(), 2U - 1U);
  rig_->close(fd);
}

TEST_P(IoEngineContract, CancellingTwiceCompletesOnce) {
  const int fd = rig_->event();
  rt::Op op;
  setPoll(op, fd, POLLIN);
  engine().prepare(op);
  poke();
  engine().cancel(op);
  engine().cancel(op);
  EXPECT_EQ(await(op), -ECANCELED);
  poke();
  EXPECT_EQ(completed_.size(), 1U);
  rig_->close(fd);
}

// An operation that races with its cancellation ends with either result, once; its bytes are lost
// in neither case: what it did not take, the next one finds.
TEST_P(IoEngineContract, CancellingRacesWithCompletion) {
  const Pair pair = connect();
  base::Random random(1);
  size_t sent = 0;
  size_t received = 0;
  for (int i = 0; i < 200; i++) {
    char byte = 'x';
    char to = 0;
    rt::Op recv;
    rt::Op send;
    setRecv(recv, pair.server, &to, 1);
    setSend(send, pair.client, &byte, 1);
    engine().prepare(recv);
    if (random.chance(1, 2)) {
      poke();
    }
    engine().prepare(send);
    if (random.chance(1, 2)) {
      poke();
    }
    engine().cancel(recv);
    const int32_t result = await(recv);
    EXPECT_TRUE(result == 1 || result == -ECANCELED) << result;
    received += result == 1 ? 1 : 0;
    EXPECT_EQ(await(send), 1);
    sent++;
  }
  rt::Op end;
  setPlain(end, rt::OpKind::shutdown, pair.client);
  EXPECT_EQ(run(end), 0);
  received += receive(pair.server, sent + 1).size();
  EXPECT_EQ(received, sent);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

}  // namespace
}  // namespace contract
