#include "source/config/load/checks.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "source/config/load/scalar.h"
#include "source/config/model/edit_distance.h"
#include "source/http/grammar.h"

namespace config {
namespace {

constexpr uint64_t kMsPerSecond = 1000;

std::string rangeText(uint64_t low, uint64_t high) {
  return "from " + std::to_string(low) + " to " + std::to_string(high);
}

bool isNameChar(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

}  // namespace

Place Place::operator[](std::string_view field) const {
  return Place(*reporter_, path_.empty() ? std::string(field) : path_ + "." + std::string(field));
}

Place Place::operator[](int index) const {
  return Place(*reporter_, path_ + "[" + std::to_string(index) + "]");
}

void Place::missing(std::string_view what) const {
  if (!reporter_->isBroken(parentOf(path_))) {
    error(std::string(what));
  }
}

void Place::missingOneOf(std::string_view fields) const {
  if (!reporter_->isBroken(path_)) {
    error("one of " + std::string(fields) + " is required");
  }
}

uint64_t numberIn(const Place& place, std::optional<uint64_t> value, uint64_t otherwise,
                  Range<uint64_t> range) {
  if (!value.has_value()) {
    return otherwise;
  }
  if (*value < range.low || *value > range.high) {
    place.error("must be " + rangeText(range.low, range.high) + ", not " + std::to_string(*value),
                std::to_string(std::clamp(*value, range.low, range.high)));
    return otherwise;
  }
  return *value;
}

uint64_t durationMs(const Place& place, const google::protobuf::Duration* duration,
                    const DurationRule& rule) {
  if (duration == nullptr) {
    return rule.otherwise_ms;
  }
  const uint64_t seconds = static_cast<uint64_t>(duration->seconds());
  const uint64_t nanos = static_cast<uint64_t>(duration->nanos());
  const uint64_t ms = seconds * kMsPerSecond + (nanos + 999999) / 1000000;
  if (seconds == 0 && nanos == 0 && rule.zero_allowed) {
    return 0;
  }
  const uint64_t low = std::max<uint64_t>(rule.low_ms, 1);
  const bool below = ms < low || (seconds == 0 && nanos < 1000000);
  if (below || ms > rule.high_ms) {
    place.error("must be from " + formatDurationMs(low) + " to " + formatDurationMs(rule.high_ms) +
                    (rule.zero_allowed ? ", or 0s" : "") + ", not " +
                    formatDuration(std::min<uint64_t>(seconds, UINT32_MAX) * 1000000000 + nanos),
                formatDurationMs(below ? low : rule.high_ms));
    return rule.otherwise_ms;
  }
  return ms;
}

std::optional<uint32_t> durationSeconds(const Place& place,
                                        const google::protobuf::Duration* duration) {
  constexpr int64_t kMaxSeconds = 315360000;
  if (duration == nullptr) {
    return std::nullopt;
  }
  if (duration->nanos() != 0) {
    place.error("must be whole seconds", std::to_string(duration->seconds() + 1) + "s");
    return std::nullopt;
  }
  if (duration->seconds() > kMaxSeconds) {
    place.error("must be at most " + std::to_string(kMaxSeconds) + "s (10 years)",
                std::to_string(kMaxSeconds) + "s");
    return std::nullopt;
  }
  return static_cast<uint32_t>(duration->seconds());
}

int countWithin(const Place& place, int count, int limit) {
  if (count > limit) {
    place.error("has " + std::to_string(count) + " elements, more than " + std::to_string(limit));
  }
  return std::min(count, limit);
}

bool Names::add(const Place& place, const std::string& name, std::string_view kind,
                uint32_t index) {
  const Place field = place["name"];
  if (name.empty()) {
    field.missing();
    return false;
  }
  if (name.size() > kMaxNameBytes || !std::all_of(name.begin(), name.end(), isNameChar)) {
    std::string better = name.substr(0, kMaxNameBytes);
    indexes_.emplace(name, index);  // so that references to it are not reported as well
    std::replace_if(better.begin(), better.end(), [](char c) { return !isNameChar(c); }, '_');
    field.error("a name has at most " + std::to_string(kMaxNameBytes) +
                    " letters, digits, `_`, `-` and `.`",
                better);
    return false;
  }
  if (!indexes_.emplace(name, index).second) {
    field.error("another " + std::string(kind) + " is called `" + name + "`");
    return false;
  }
  return true;
}

std::optional<uint32_t> Names::find(const std::string& name) const {
  const auto at = indexes_.find(name);
  return at == indexes_.end() ? std::nullopt : std::optional<uint32_t>(at->second);
}

uint32_t Names::resolve(const Place& place, const std::string& name, std::string_view kind,
                        std::string_view list) {
  if (name.empty()) {
    place.missing();
    return kNone;
  }
  if (const std::optional<uint32_t> index = find(name)) {
    used_.insert(*index);
    return *index;
  }
  if (place.reporter().isBrokenWithin(list)) {
    return kNone;
  }
  std::vector<std::string_view> names;
  for (const auto& [known, index] : indexes_) {
    names.push_back(known);
  }
  std::string message = "there is no " + std::string(kind) + " `" + name + "`";
  if (names.empty()) {
    message += ": " + std::string(list) + " is empty";
  }
  place.error(std::move(message), std::string(nearest(name, names)));
  return kNone;
}

std::optional<std::string> canonicalIp(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> binary{};
  std::array<char, INET6_ADDRSTRLEN> spelling{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), binary.data()) == 1) {
      return std::string(inet_ntop(family, binary.data(), spelling.data(), spelling.size()));
    }
  }
  return std::nullopt;
}

bool isHostName(std::string_view text) {
  const bool shape = !text.empty() && text.size() <= kMaxHostNameBytes && text.front() != '.' &&
                     text.front() != '-' && text.find("..") == text.npos;
  return shape && std::all_of(text.begin(), text.end(), isNameChar);
}

namespace {

// What was meant by an address that is none: without brackets, port, scheme or star.
std::string guessHost(std::string_view text, const AddressRule& rule) {
  if (const size_t scheme = text.find("://"); scheme != text.npos) {
    text.remove_prefix(scheme + 3);
    text = text.substr(0, text.find('/'));
  }
  if (text == "*" || text.empty()) {
    return rule.lowest_port == 0 ? "0.0.0.0" : "";
  }
  if (text == "localhost") {
    return "127.0.0.1";
  }
  std::string bare(text.starts_with('[') ? text.substr(1, text.find(']') - 1)
                                         : text.substr(0, text.find(':')));
  const bool good = canonicalIp(bare).has_value() || (rule.host_names && isHostName(bare));
  return good ? bare : "";
}

}  // namespace

std::optional<SocketAddress> compileAddress(const Place& place, const pb::Address* address,
                                            const AddressRule& rule) {
  if (address == nullptr) {
    place.missing();
    return std::nullopt;
  }
  const Place socket = place["socket_address"];
  if (!address->has_socket_address()) {
    socket.missing();
    return std::nullopt;
  }
  const pb::SocketAddress& from = address->socket_address();
  const Place host = socket["address"];
  if (from.address().empty()) {
    host.missing();
    return std::nullopt;
  }
  std::optional<std::string> name = canonicalIp(from.address());
  if (!name.has_value() && rule.host_names && isHostName(from.address())) {
    name = lowerCase(from.address());
  }
  const bool name_elsewhere = !rule.host_names && rule.lowest_port != 0;
  if (!name.has_value()) {
    host.error("`" + from.address() + "` is no IP address" +
                   (rule.host_names ? " or host name" : "") +
                   (name_elsewhere ? "; a cluster of type STRICT_DNS takes host names" : ""),
               guessHost(from.address(), rule));
  }
  constexpr uint32_t kHighestPort = 65535;
  const bool absent = rule.lowest_port != 0 && from.port_value() == 0;
  if (absent || from.port_value() > kHighestPort) {
    const Place port = socket["port_value"];
    absent ? port.missing("must be from 1 to 65535")
           : port.error("must be " + rangeText(rule.lowest_port, kHighestPort) + ", not " +
                        std::to_string(from.port_value()));
    return std::nullopt;
  }
  if (!name.has_value()) {
    return std::nullopt;
  }
  return SocketAddress{std::move(*name), static_cast<uint16_t>(from.port_value())};
}

}  // namespace config
