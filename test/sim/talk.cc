#include "test/sim/talk.h"

#include <algorithm>
#include <charconv>

#include "test/sim/script.h"

namespace sim {
namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  }
  return result;
}

std::string trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return std::string(text);
}

std::optional<uint64_t> number(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
    return std::nullopt;
  }
  return value;
}

std::string word(std::string_view line, int index) {
  while (index-- > 0) {
    const size_t space = line.find(' ');
    line.remove_prefix(space == std::string_view::npos ? line.size() : space + 1);
  }
  return std::string(line.substr(0, line.find(' ')));
}

bool parse(std::string_view head, Message& message) {
  const size_t end = head.find("\r\n");
  message.first = head.substr(0, end);
  head.remove_prefix(end + 2);
  while (!head.empty()) {
    const size_t stop = head.find("\r\n");
    const std::string_view field = head.substr(0, stop);
    head.remove_prefix(stop + 2);
    const size_t colon = field.find(':');
    if (colon == std::string_view::npos) {
      return false;
    }
    message.fields[lower(field.substr(0, colon))] = trim(field.substr(colon + 1));
  }
  message.keeps_open = lower(message.field("connection")).find("close") == std::string::npos;
  return true;
}

}  // namespace

uint32_t Message::status() const {
  return static_cast<uint32_t>(number(word(first, 1), 10).value_or(0));
}
std::string Message::method() const {
  return word(first, 0);
}
std::string Message::target() const {
  return word(first, 1);
}

rt::Task<bool> MessageReader::more(rt::CancelScope& scope, base::MonoTime deadline) {
  last_ = co_await receiveSome(fd_, in_, 16384, scope, deadline);
  co_return last_ > 0;
}

rt::Task<bool> MessageReader::head(Message& message, rt::CancelScope& scope,
                                   base::MonoTime deadline) {
  size_t end = in_.find("\r\n\r\n");
  while (end == std::string::npos) {
    const bool got = co_await more(scope, deadline);
    if (!got) {
      co_return false;
    }
    end = in_.find("\r\n\r\n");
  }
  message = Message();
  const bool good = parse(std::string_view(in_).substr(0, end + 2), message);
  in_.erase(0, end + 4);
  co_return good;
}

rt::Task<bool> MessageReader::take(uint64_t count, std::string& to, rt::CancelScope& scope,
                                   base::MonoTime deadline) {
  while (count > 0) {
    if (in_.empty()) {
      const bool got = co_await more(scope, deadline);
      if (!got) {
        co_return false;
      }
    }
    const size_t part = std::min<uint64_t>(count, in_.size());
    to.append(in_, 0, part);
    in_.erase(0, part);
    count -= part;
  }
  co_return true;
}

rt::Task<bool> MessageReader::line(std::string& to, rt::CancelScope& scope,
                                   base::MonoTime deadline) {
  size_t end = in_.find("\r\n");
  while (end == std::string::npos) {
    const bool got = co_await more(scope, deadline);
    if (!got) {
      co_return false;
    }
    end = in_.find("\r\n");
  }
  to.assign(in_, 0, end);
  in_.erase(0, end + 2);
  co_return true;
}

rt::Task<bool> MessageReader::chunks(std::string& to, rt::CancelScope& scope,
                                     base::MonoTime deadline) {
  std::string text;
  while (true) {
    bool got = co_await line(text, scope, deadline);
    const std::optional<uint64_t> size = number(text.substr(0, text.find(';')), 16);
    if (!got || !size) {
      co_return false;
    }
    if (*size == 0) {
      break;
    }
    got = co_await take(*size, to, scope, deadline);
    if (!got) {
      co_return false;
    }
    got = co_await line(text, scope, deadline);
    if (!got || !text.empty()) {
      co_return false;
    }
  }
  do {  // trailers
    const bool got = co_await line(text, scope, deadline);
    if (!got) {
      co_return false;
    }
  } while (!text.empty());
  co_return true;
}

rt::Task<Message> MessageReader::request(rt::CancelScope& scope, base::MonoTime deadline) {
  Message message;
  const bool got = co_await head(message, scope, deadline);
  if (got && message.has("transfer-encoding")) {
    message.complete = co_await chunks(message.body, scope, deadline);
  } else if (got) {
    const uint64_t length = number(message.field("content-length"), 10).value_or(0);
    message.complete = co_await take(length, message.body, scope, deadline);
  }
  co_return message;
}

rt::Task<Message> MessageReader::response(bool to_head, rt::CancelScope& scope,
                                          base::MonoTime deadline) {
  Message message;
  do {
    const bool got = co_await head(message, scope, deadline);
    if (!got) {
      message.complete = false;
      co_return message;
    }
  } while (message.status() / 100 == 1);
  const std::optional<uint64_t> length = number(message.field("content-length"), 10);
  if (to_head || message.status() == 204 || message.status() == 304) {
    message.complete = true;
  } else if (message.has("transfer-encoding")) {
    message.complete = co_await chunks(message.body, scope, deadline);
  } else if (length) {
    message.complete = co_await take(*length, message.body, scope, deadline);
  } else {
    while (last_ > 0) {
      message.body += in_;
      in_.clear();
      static_cast<void>(co_await more(scope, deadline));
    }
    message.complete = last_ == 0;  // ended, and was not reset
    message.keeps_open = false;
  }
  co_return message;
}

}  // namespace sim
