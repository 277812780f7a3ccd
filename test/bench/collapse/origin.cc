#include "test/bench/collapse/origin.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <utility>

namespace collapse {
namespace {

constexpr uint64_t kBegin_bytes = 4096;      // sent with the head, before any other's bulk
constexpr uint64_t kPiece_bytes = 64 << 10;  // sent for one event
constexpr std::string_view kClientField = "\r\nx-client: ";

bool wouldBlock(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

}  // namespace

uint64_t tagOf(Kind kind, uint32_t index) {
  return uint64_t{static_cast<uint32_t>(kind)} << 32 | index;
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Origin::Origin(int epoll, int listener, std::string head, const std::vector<char>& body)
    : epoll_(epoll), listener_(listener), head_(std::move(head)), body_(body) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tagOf(Kind::listener, 0);
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
}

Origin::~Origin() {
  for (const std::unique_ptr<Fetch>& fetch : fetches_) {
    if (fetch->fd >= 0) {
      close(fetch->fd);
    }
  }
}

void Origin::accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    return;
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kSocket_bytes, sizeof kSocket_bytes);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tagOf(Kind::fetch, static_cast<uint32_t>(fetches_.size()));
  epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  fetches_.push_back(std::make_unique<Fetch>());
  fetches_.back()->index = static_cast<uint32_t>(fetches_.size() - 1);
  fetches_.back()->fd = fd;
}

void Origin::onEvent(uint32_t index, uint32_t events) {
  Fetch& fetch = *fetches_[index];
  if (fetch.fd < 0) {
    return;
  }
  if (!fetch.asked && (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) {
    read(fetch);
  } else if ((events & (EPOLLHUP | EPOLLERR)) != 0) {
    end(fetch);
  } else if (fetch.answering && (events & EPOLLOUT) != 0) {
    write(fetch, kPiece_bytes);
  }
}

void Origin::read(Fetch& fetch) {
  std::array<char, 4096> bytes;
  const ssize_t got = recv(fetch.fd, bytes.data(), bytes.size(), 0);
  if (wouldBlock(got)) {
    return;
  }
  if (got <= 0) {
    end(fetch);
    return;
  }
  fetch.client = UINT32_MAX;
  fetch.request.append(bytes.data(), static_cast<size_t>(got));
  if (!fetch.request.ends_with("\r\n\r\n")) {
    return;
  }
  std::string lower = fetch.request;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const size_t at = lower.find(kClientField);
  if (at != std::string::npos) {
    fetch.client =
        static_cast<uint32_t>(std::strtoul(lower.c_str() + at + kClientField.size(), nullptr, 10));
  }
  fetch.asked = true;
  asked_++;
  most_ = std::max(most_, ++under_way_);
  if (answers_) {
    write(fetch, kBegin_bytes);
  }
}

void Origin::answerFirst() {
  for (const std::unique_ptr<Fetch>& fetch : fetches_) {
    if (fetch->asked) {
      write(*fetch, kBegin_bytes);
      return;
    }
  }
}

void Origin::answerAll() {
  answers_ = true;
  for (const std::unique_ptr<Fetch>& fetch : fetches_) {
    if (fetch->fd >= 0 && fetch->asked && !fetch->answering) {
      write(*fetch, kBegin_bytes);
    }
  }
}

void Origin::begin(Fetch& fetch) {
  fetch.answering = true;
  const uint64_t now = now_ns();
  first_ns_ = first_ns_ == 0 ? now : first_ns_;
  if (fetch.client != UINT32_MAX) {
    first_by_client_.resize(std::max<size_t>(first_by_client_.size(), fetch.client + 1));
    first_by_client_[fetch.client] = now;
  }
  listen(fetch, EPOLLIN | EPOLLOUT);
}

void Origin::listen(const Fetch& fetch, uint32_t events) const {
  epoll_event event{};
  event.events = events;
  event.data.u64 = tagOf(Kind::fetch, fetch.index);
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fetch.fd, &event);
}

void Origin::write(Fetch& fetch, uint64_t most) {
  if (!fetch.answering) {
    begin(fetch);
  }
  std::array<iovec, 2> pieces{};
  size_t count = 0;
  if (fetch.sent < head_.size()) {
    pieces[count++] = {head_.data() + fetch.sent, head_.size() - fetch.sent};
  }
  const uint64_t at = fetch.sent - std::min<uint64_t>(fetch.sent, head_.size());
  if (at < body_.size()) {
    pieces[count++] = {const_cast<char*>(body_.data()) + at,
                       std::min<uint64_t>(most, body_.size() - at)};
  }
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = count;
  const ssize_t took = sendmsg(fetch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (wouldBlock(took)) {
    return;
  }
  if (took < 0) {
    end(fetch);
    return;
  }
  fetch.sent += static_cast<uint64_t>(took);
  sent_ += static_cast<uint64_t>(took);
  if (fetch.sent == head_.size() + body_.size()) {
    under_way_--;
    fetch.asked = fetch.answering = false;  // the connection may bring another
    fetch.sent = 0;
    fetch.request.clear();
    listen(fetch, EPOLLIN);
  }
}

void Origin::end(Fetch& fetch) {
  if (fetch.asked) {
    failures_++;
    under_way_--;
  }
  fetch.asked = fetch.answering = false;
  close(std::exchange(fetch.fd, -1));
}

uint64_t Origin::firstSent_ns(uint32_t client) const {
  const uint64_t own = client < first_by_client_.size() ? first_by_client_[client] : 0;
  return own != 0 ? own : first_ns_;
}

}  // namespace collapse
