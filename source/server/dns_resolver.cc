#include "source/server/dns_resolver.h"

#include <netdb.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "source/base/check.h"
#include "source/rt/io.h"

namespace server {
namespace {

using Addresses = base::Result<std::vector<net::Address>>;

Addresses ask(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(host.c_str(), nullptr, &hints, &list);
  if (failed != 0) {
    const base::Code code =
        failed == EAI_MEMORY ? base::Code::no_capacity : base::Code::unreachable;
    return base::Error{code, base::Blame::upstream, base::Retry::if_idempotent,
                       failed == EAI_SYSTEM ? errno : 0};
  }
  std::vector<net::Address> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    const net::Address address = net::Address::fromSockaddr(at->ai_addr, at->ai_addrlen);
    if (address.valid()) {
      addresses.push_back(address);
    }
  }
  freeaddrinfo(list);
  if (addresses.empty()) {
    return base::Error{base::Code::unreachable, base::Blame::upstream};
  }
  return addresses;
}

}  // namespace

struct DnsResolver::Shared {
  struct Question {
    uint64_t id;
    std::string host;
  };
  struct Answer {
    uint64_t id;
    Addresses addresses;
  };

  ~Shared() {
    if (event_fd >= 0) {
      close(event_fd);
    }
  }
  void announce() {
    const uint64_t one = 1;
    // The counter cannot overflow: it is read before 2^64 answers have come.
    [[maybe_unused]] const ssize_t written = write(event_fd, &one, sizeof(one));
  }

  int event_fd = -1;
  std::mutex mutex;
  std::condition_variable asked;
  std::deque<Question> questions;
  std::deque<Answer> answers;
  bool busy = false;       // with a question
  bool stopping = false;   // no more questions
  bool abandoned = false;  // the thread frees this object
};

DnsResolver::DnsResolver(rt::Reactor& reactor) : listener_(reactor, 1) {}

DnsResolver::~DnsResolver() {
  CHECK(shared_ == nullptr);
}

base::Status DnsResolver::start() {
  CHECK(shared_ == nullptr);
  const int event_fd = eventfd(0, EFD_CLOEXEC);
  if (event_fd < 0) {
    return base::Error{base::Code::no_capacity, base::Blame::self, base::Retry::never, errno};
  }
  shared_ = new Shared();
  shared_->event_fd = event_fd;
  thread_ = std::thread(work, shared_);
  const bool spawned = listener_.spawn(listen());
  CHECK(spawned);
  return base::Unit{};
}

rt::Task<void> DnsResolver::stop() {
  if (shared_ == nullptr) {
    co_return;
  }
  CHECK(asked_.empty());
  listener_.cancelAll();
  co_await listener_.join();
  Shared* shared = std::exchange(shared_, nullptr);
  bool busy = false;
  {
    std::lock_guard lock(shared->mutex);
    shared->stopping = true;
    shared->questions.clear();
    busy = shared->busy;
    shared->abandoned = busy;
    shared->asked.notify_one();
  }
  if (busy) {
    thread_.detach();
  } else {
    thread_.join();
    delete shared;
  }
}

void DnsResolver::work(Shared* shared) {
  std::unique_lock lock(shared->mutex);
  while (true) {
    shared->asked.wait(lock, [&] { return shared->stopping || !shared->questions.empty(); });
    if (shared->stopping) {
      break;
    }
    const Shared::Question question = std::move(shared->questions.front());
    shared->questions.pop_front();
    shared->busy = true;
    lock.unlock();
    Addresses addresses = ask(question.host);
    lock.lock();
    shared->busy = false;
    shared->answers.push_back({question.id, std::move(addresses)});
    shared->announce();
  }
  const bool abandoned = shared->abandoned;
  lock.unlock();
  if (abandoned) {
    delete shared;
  }
}

rt::Task<void> DnsResolver::listen() {
  while (true) {
    uint64_t count = 0;
    const rt::IoResult read = co_await rt::FileOp(
        rt::OpKind::read, shared_->event_fd, std::as_writable_bytes(std::span(&count, 1)),
        rt::kStreamOffset, false, listener_.scope(), base::kNever);
    if (!read.ok()) {
      co_return;  // cancelled
    }
    deliver();
  }
}

void DnsResolver::deliver() {
  std::deque<Shared::Answer> answers;
  {
    std::lock_guard lock(shared_->mutex);
    answers.swap(shared_->answers);
  }
  for (Shared::Answer& answer : answers) {
    const auto found = asked_.find(answer.id);
    if (found != asked_.end()) {  // else who asked has given up
      found->second->answer = std::move(answer.addresses);
      found->second->answered.wakeAll();
      asked_.erase(found);
    }
  }
}

rt::Task<Addresses> DnsResolver::resolve(std::string host, rt::CancelScope& scope,
                                         base::MonoTime deadline) {
  CHECK(shared_ != nullptr);
  Asked asked;
  const uint64_t id = next_id_++;
  {
    std::lock_guard lock(shared_->mutex);
    if (shared_->questions.size() >= kMaxQuestions) {
      co_return base::Error{base::Code::no_capacity, base::Blame::self};
    }
    shared_->questions.push_back({id, std::move(host)});
    shared_->asked.notify_one();
  }
  asked_.emplace(id, &asked);
  const rt::WaitQueue::Woken how = co_await asked.answered.wait(scope, deadline);
  if (how == rt::WaitQueue::Woken::by_wake) {
    co_return std::move(asked.answer);
  }
  asked_.erase(id);
  std::lock_guard lock(shared_->mutex);
  std::erase_if(shared_->questions, [&](const Shared::Question& q) { return q.id == id; });
  co_return base::Error{
      how == rt::WaitQueue::Woken::cancelled ? base::Code::cancelled : base::Code::timeout,
      base::Blame::upstream};
}

}  // namespace server
