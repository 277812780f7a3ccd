// HTTP/1.1 as scripted clients and origins speak it: written apart from source/http on purpose, so
// that the two check each other. Only what well-behaved peers need.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "source/rt/io.h"

namespace sim {

struct Message {
  std::string first;                          // request line or status line
  std::map<std::string, std::string> fields;  // names in lower case; the last of equals
  std::string body;
  bool complete = false;
  bool keeps_open = true;  // the connection may carry another message

  std::string field(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::string() : found->second;
  }
  bool has(const std::string& name) const { return fields.contains(name); }
  uint32_t status() const;     // of a response
  std::string method() const;  // of a request
  std::string target() const;
};

// Reads messages from one connection.
class MessageReader {
 public:
  explicit MessageReader(int fd) : fd_(fd) {}

  // A request with its body. Not complete: the peer ended, failed, or was too slow.
  rt::Task<Message> request(rt::CancelScope& scope, base::MonoTime deadline);
  // A response, past interim ones.
  rt::Task<Message> response(bool to_head, rt::CancelScope& scope, base::MonoTime deadline);

 private:
  rt::Task<bool> head(Message& message, rt::CancelScope& scope, base::MonoTime deadline);
  rt::Task<bool> more(rt::CancelScope& scope, base::MonoTime deadline);
  rt::Task<bool> take(uint64_t count, std::string& to, rt::CancelScope& scope,
                      base::MonoTime deadline);
  rt::Task<bool> line(std::string& to, rt::CancelScope& scope, base::MonoTime deadline);
  rt::Task<bool> chunks(std::string& to, rt::CancelScope& scope, base::MonoTime deadline);

  int fd_;
  std::string in_;
  int last_ = 1;  // what the last receive gave
};

}  // namespace sim
