// The contract's clauses about sockets.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "test/contract/io_engine_contract.h"

namespace contract {
namespace {

// Bytes that are known by their place, so that a lost, doubled or moved byte shows.
std::string pattern(size_t length) {
  std::string text(length, '\0');
  for (size_t i = 0; i < length; i++) {
    text[i] = static_cast<char>((i * 2654435761U) >> 24);
  }
  return text;
}

TEST_P(IoEngineContract, AcceptGivesAWorkingConnection) {
  const Pair pair = connect();
  EXPECT_EQ(send(pair.client, "question"), 8);
  EXPECT_EQ(receive(pair.server, 8), "question");
  EXPECT_EQ(send(pair.server, "answer"), 6);
  EXPECT_EQ(receive(pair.client, 6), "answer");
  rig_->close(pair.client);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, AcceptsWaitInLine) {
  sockaddr_in address{};
  const int listener = rig_->listen(address);
  rt::Op accepts[4];
  rt::Op connects[4];
  int clients[4];
  std::set<int> servers;
  for (rt::Op& op : accepts) {
    setAccept(op, listener);
    engine().prepare(op);
  }
  for (int i = 0; i < 4; i++) {
    clients[i] = rig_->socket();
    setConnect(connects[i], clients[i], address);
    engine().prepare(connects[i]);
  }
  for (int i = 0; i < 4; i++) {
    EXPECT_EQ(await(connects[i]), 0);
    EXPECT_GE(await(accepts[i]), 0);
    servers.insert(accepts[i].result);
  }
  EXPECT_EQ(servers.size(), 4U);
  for (const int fd : clients) {
    rig_->close(fd);
  }
  for (const int fd : servers) {
    rig_->close(fd);
  }
  rig_->close(listener);
}

TEST_P(IoEngineContract, ConnectingToNobodyIsRefused) {
  const sockaddr_in address = rig_->nobody();
  const int fd = rig_->socket();
  rt::Op op;
  setConnect(op, fd, address);
  EXPECT_EQ(run(op), -ECONNREFUSED);
  rig_->close(fd);
}

TEST_P(IoEngineContract, AClosedPeerIsTheEndOfTheStream) {
  const Pair pair = connect();
  EXPECT_EQ(send(pair.client, "last words"), 10);
  rig_->close(pair.client);
  EXPECT_EQ(receive(pair.server, 100), "last words");
  char byte = 0;
  rt::Op op;
  setRecv(op, pair.server, &byte, 1);
  EXPECT_EQ(run(op), 0);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, AClosedPeerEndsAWaitingReceive) {
  const Pair pair = connect();
  char byte = 0;
  rt::Op op;
  setRecv(op, pair.server, &byte, 1);
  engine().prepare(op);
  EXPECT_EQ(poke(), 0U);
  rig_->close(pair.client);
  EXPECT_EQ(await(op), 0);
  rig_->close(pair.server);
}

// Receives of which the caller has said that nothing is there yet: right or wrong, they bring what
// others bring.
TEST_P(IoEngineContract, ReceivesWhenTheBytesComeLater) {
  const Pair pair = connect();
  char byte = 0;
  rt::Op op;
  setRecv(op, pair.server, &byte, 1);
  op.later = true;
  engine().prepare(op);
  EXPECT_EQ(poke(), 0U);
  EXPECT_EQ(send(pair.client, "ab"), 2);
  EXPECT_EQ(await(op), 1);
  EXPECT_EQ(byte, 'a');
  EXPECT_EQ(run(op), 1);  // it is there already
  EXPECT_EQ(byte, 'b');
  engine().prepare(op);
  EXPECT_EQ(poke(), 0U);
  engine().cancel(op);
  EXPECT_EQ(await(op), -ECANCELED);
  engine().prepare(op);
  EXPECT_EQ(poke(), 0U);
  rig_->close(pair.client);
  EXPECT_EQ(await(op), 0);
  EXPECT_EQ(run(op), 0);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, AResetIsReported) {
  const Pair pair = connect();
  char byte = 0;
  rt::Op op;
  setRecv(op, pair.server, &byte, 1);
  engine().prepare(op);
  poke();
  rig_->closeWithReset(pair.client);
  EXPECT_EQ(await(op), -ECONNRESET);
  const int32_t sent = send(pair.server, "x");
  EXPECT_TRUE(sent == -EPIPE || sent == -ECONNRESET) << sent;
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, SendingToAClosedPeerFailsWithoutASignal) {
  const Pair pair = connect();
  rig_->close(pair.client);
  const std::string text(10'000, 'x');
  int32_t result = 0;
  for (int i = 0; i < 100 && result >= 0; i++) {
    result = send(pair.server, text);
    rt::OpList list;
    engine().enter(engine().monotonic() + base::kMillisecond_ns, list);
  }
  EXPECT_TRUE(result == -EPIPE || result == -ECONNRESET) << result;
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, ShutdownEndsOneDirectionOnly) {
  const Pair pair = connect();
  EXPECT_EQ(send(pair.client, "request"), 7);
  rt::Op end;
  setPlain(end, rt::OpKind::shutdown, pair.client);
  EXPECT_EQ(run(end), 0);
  EXPECT_EQ(receive(pair.server, 100), "request");
  EXPECT_EQ(send(pair.server, "response"), 8);
  EXPECT_EQ(receive(pair.client, 8), "response");
  EXPECT_EQ(send(pair.client, "more"), -EPIPE);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, CloseFreesTheDescriptor) {
  const Pair pair = connect();
  rt::Op close;
  setPlain(close, rt::OpKind::close, pair.client);
  EXPECT_EQ(run(close), 0);
  char byte = 0;
  rt::Op recv;
  setRecv(recv, pair.client, &byte, 1);
  EXPECT_EQ(run(recv), -EBADF);
  EXPECT_EQ(receive(pair.server, 1), "");
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, AnUnknownDescriptorIsAnError) {
  char byte = 0;
  rt::Op op;
  for (const rt::OpKind kind : {rt::OpKind::recv, rt::OpKind::send, rt::OpKind::read,
                                rt::OpKind::write, rt::OpKind::accept, rt::OpKind::close}) {
    setFile(op, kind, 999'999, &byte, 1, 0);
    EXPECT_EQ(run(op), -EBADF);
  }
}

// --- Sending more than a socket's buffers hold ---

TEST_P(IoEngineContract, SendSendsEverything) {
  const Pair pair = connect();
  const std::string text = pattern(8 << 20);
  rt::Op op;
  setSend(op, pair.client, text.data(), text.size());
  engine().prepare(op);
  poke();
  EXPECT_NE(op.state, rt::Op::State::done);  // nobody has read, and no buffer holds so much
  const std::string got = receive(pair.server, text.size());
  EXPECT_EQ(await(op), static_cast<int32_t>(text.size()));
  EXPECT_TRUE(got == text);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, SendmsgSendsEverything) {
  const Pair pair = connect();
  const std::string text = pattern(6 << 20);
  std::vector<iovec> pieces;
  size_t at = 0;
  for (size_t i = 0; i < 500; i++) {
    const size_t length = i == 499 ? text.size() - at : (i * 7919) % 20'000;
    pieces.push_back(iovec{const_cast<char*>(text.data()) + at, length});
    at += length;
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  rt::Op op;
  setPlain(op, rt::OpKind::sendmsg, pair.client);
  op.addr = &message;
  engine().prepare(op);
  poke();
  EXPECT_NE(op.state, rt::Op::State::done);
  const std::string got = receive(pair.server, text.size());
  EXPECT_EQ(await(op), static_cast<int32_t>(text.size()));
  EXPECT_TRUE(got == text);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

TEST_P(IoEngineContract, ABlockedSendCanBeCancelled) {
  const Pair pair = connect();
  const std::string text = pattern(8 << 20);
  rt::Op op;
  setSend(op, pair.client, text.data(), text.size());
  engine().prepare(op);
  poke();
  poke();
  engine().cancel(op);
  const int32_t result = await(op);
  EXPECT_EQ(result, -ECANCELED);  // never a part: who does not ask must not take it for success
  EXPECT_LT(op.offset, text.size());
  EXPECT_GT(op.offset, 0U);
  const std::string got = receive(pair.server, op.offset);
  EXPECT_TRUE(got == text.substr(0, op.offset));  // and no more than that
  rt::Op more;
  char byte = 0;
  setRecv(more, pair.server, &byte, 1);
  engine().prepare(more);
  EXPECT_EQ(poke(), 0U);
  engine().cancel(more);
  EXPECT_EQ(await(more), -ECANCELED);
  rig_->close(pair.client);
  rig_->close(pair.server);
}

// More than an engine may hand over at once: what waits for its turn is sent too, or ends early.
TEST_P(IoEngineContract, ManyLargeSendsAreAllMadeOrCancelled) {
  constexpr size_t kSends = 4;
  const std::string text = pattern(8 << 20);  // more than the buffers of a socket hold
  for (const bool cancelled : {false, true}) {
    std::vector<Pair> pairs;
    std::vector<rt::Op> ops(kSends);
    for (rt::Op& op : ops) {
      pairs.push_back(connect());
      setSend(op, pairs.back().client, text.data(), text.size());
    }
    for (rt::Op& op : ops) {
      engine().prepare(op);
    }
    poke();
    for (size_t i = 0; i < kSends; i++) {
      if (cancelled) {
        engine().cancel(ops[i]);
      } else {
        EXPECT_EQ(receive(pairs[i].server, text.size()), text);
      }
      EXPECT_EQ(await(ops[i]), cancelled ? -ECANCELED : static_cast<int32_t>(text.size()));
    }
    for (const Pair& pair : pairs) {
      rig_->close(pair.client);
      rig_->close(pair.server);
    }
  }
}

TEST_P(IoEngineContract, ABlockedSendEndsWhenItsPeerResets) {
  const Pair pair = connect();
  const std::string text = pattern(8 << 20);
  rt::Op op;
  setSend(op, pair.client, text.data(), text.size());
  engine().prepare(op);
  poke();
  rig_->closeWithReset(pair.server);
  const int32_t result = await(op);
  EXPECT_TRUE(result == -ECONNRESET || result == -EPIPE) << result;
  rig_->close(pair.client);
}

// --- Receive buffers ---

constexpr uint32_t kBuffers = 4;
constexpr uint32_t kBuffer_bytes = 4096;

TEST_P(IoEngineContract, RecvSelectFillsOneOfItsBuffers) {
  std::vector<std::byte> memory(kBuffers * kBuffer_bytes);
  engine().provideReceiveBuffers(memory.data(), kBuffer_bytes, kBuffers);
  const Pair pair = connect();
  EXPECT_EQ(send(pair.client, "hello"), 5);
  std::string got;
  while (got.size() < 5) {
    rt::Op op;
    setRecvSelect(op, pair.server);
    ASSERT_GT(run(op), 0);
    ASSERT_LT(op.buffer_id, kBuffers);
    got.append(reinterpret_cast<char*>(memory.data()) + size_t{op.buffer_id} * kBuffer_bytes,
               static_cast<size_t>(op.result));
    engine().recycle(op.buffer_id);
  }
  EXPECT_EQ(got, "hello");
  rig_->close(pair.client);
  rt::Op op;
  setRecvSelect(op, pair.server);
  EXPECT_EQ(run(op), 0);
  rig_->close(pair.server);
  rig_.reset();
}

TEST_P(IoEngineContract, RecvSelectWithoutABufferSaysSo) {
  std::vector<std::byte> memory(kBuffers * kBuffer_bytes);
  engine().provideReceiveBuffers(memory.data(), kBuffer_bytes, kBuffers);
  const Pair pair = connect();
  std::set<uint16_t> used;
  for (uint32_t i = 0; i < kBuffers; i++) {
    EXPECT_EQ(send(pair.client, "x"), 1);
    rt::Op op;
    setRecvSelect(op, pair.server);
    ASSERT_EQ(run(op), 1);
    used.insert(op.buffer_id);
  }
  EXPECT_EQ(used.size(), kBuffers);
  EXPECT_EQ(send(pair.client, "x"), 1);
  rt::Op op;
  setRecvSelect(op, pair.server);
  EXPECT_EQ(run(op), -ENOBUFS);
  engine().recycle(2);
  EXPECT_EQ(run(op), 1);
  EXPECT_EQ(op.buffer_id, 2U);
  rig_->close(pair.client);
  rig_->close(pair.server);
  rig_.reset();
}

TEST_P(IoEngineContract, RecvSelectWhenTheBytesComeLater) {
  std::vector<std::byte> memory(kBuffers * kBuffer_bytes);
  engine().provideReceiveBuffers(memory.data(), kBuffer_bytes, kBuffers);
  const Pair pair = connect();
  for (uint32_t i = 0; i < 3 * kBuffers; i++) {
    rt::Op op;
    setRecvSelect(op, pair.server);
    op.later = true;
    engine().prepare(op);
    EXPECT_EQ(poke(), 0U);
    EXPECT_EQ(send(pair.client, "x"), 1);
    ASSERT_EQ(await(op), 1);
    ASSERT_LT(op.buffer_id, kBuffers);
    EXPECT_EQ(memory[size_t{op.buffer_id} * kBuffer_bytes], std::byte{'x'});
    engine().recycle(op.buffer_id);
  }
  rig_->close(pair.client);
  rt::Op op;
  setRecvSelect(op, pair.server);
  op.later = true;
  EXPECT_EQ(run(op), 0);
  rig_->close(pair.server);
  rig_.reset();
}

TEST_P(IoEngineContract, EndsOfStreamsUseUpNoBuffer) {
  std::vector<std::byte> memory(kBuffers * kBuffer_bytes);
  engine().provideReceiveBuffers(memory.data(), kBuffer_bytes, kBuffers);
  const Pair pair = connect();
  rig_->close(pair.client);
  for (uint32_t i = 0; i < 3 * kBuffers; i++) {
    rt::Op op;
    setRecvSelect(op, pair.server);
    EXPECT_EQ(run(op), 0);
  }
  rig_->close(pair.server);
  rig_.reset();
}

TEST_P(IoEngineContract, CancelledReceivesUseUpNoBuffer) {
  std::vector<std::byte> memory(kBuffers * kBuffer_bytes);
  engine().provideReceiveBuffers(memory.data(), kBuffer_bytes, kBuffers);
  const Pair pair = connect();
  for (uint32_t i = 0; i < 3 * kBuffers; i++) {
    rt::Op op;
    setRecvSelect(op, pair.server);
    engine().prepare(op);
    poke();
    engine().cancel(op);
    EXPECT_EQ(await(op), -ECANCELED);
  }
  EXPECT_EQ(send(pair.client, "x"), 1);
  rt::Op op;
  setRecvSelect(op, pair.server);
  EXPECT_EQ(run(op), 1);
  engine().recycle(op.buffer_id);
  rig_->close(pair.client);
  rig_->close(pair.server);
  rig_.reset();
}

}  // namespace
}  // namespace contract
