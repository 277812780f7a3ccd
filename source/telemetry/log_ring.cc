#include "source/telemetry/log_ring.h"

#include <algorithm>
#include <charconv>

namespace telemetry {

namespace {

constexpr std::string_view kCut = "...";
constexpr char kHex[] = "0123456789abcdef";

}  // namespace

std::string_view name(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return "trace";
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
    case LogLevel::critical:
      return "critical";
    case LogLevel::off:
      return "off";
  }
  return "unknown";
}

std::optional<LogLevel> parseLogLevel(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(LogLevel::off); i++) {
    const LogLevel level = static_cast<LogLevel>(i);
    if (text == name(level)) {
      return level;
    }
  }
  if (text == "warn") {
    return LogLevel::warning;
  }
  if (text == "err") {
    return LogLevel::error;
  }
  return std::nullopt;
}

// Keeps room for the mark until the line is known to be cut.
void LogLine::put(std::string_view bytes) {
  if (cut_) {
    return;
  }
  if (size_ + bytes.size() + kCut.size() > text_.size()) {
    cut_ = true;
    bytes = kCut;
  }
  std::copy(bytes.begin(), bytes.end(), text_.begin() + size_);
  size_ += static_cast<uint32_t>(bytes.size());
}

LogLine& LogLine::operator<<(std::string_view text) {
  for (const char c : text) {
    const uint8_t byte = static_cast<uint8_t>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      put({&c, 1});
    } else {
      const char escaped[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
      put({escaped, sizeof(escaped)});
    }
    if (cut_) {
      break;
    }
  }
  return *this;
}

LogLine& LogLine::operator<<(uint64_t number) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  put({digits, static_cast<size_t>(end - digits)});
  return *this;
}

LogLine& LogLine::operator<<(int64_t number) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits), number);
  put({digits, static_cast<size_t>(end - digits)});
  return *this;
}

bool LogRing::write(LogLevel level, uint16_t site, int64_t unix_ms, std::string_view text) {
  const uint32_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head_.load(std::memory_order_acquire) == kSlots) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  LogRecord& record = (*slots_)[tail % kSlots];
  record.level = level;
  record.site = site;
  record.unix_ms = unix_ms;
  record.length = static_cast<uint8_t>(std::min<size_t>(text.size(), LogRecord::kText_bytes));
  memcpy(record.text.data(), text.data(), record.length);
  tail_.store(tail + 1, std::memory_order_release);
  return true;
}

bool LogRing::read(LogRecord& record) {
  const uint32_t head = head_.load(std::memory_order_relaxed);
  if (head == tail_.load(std::memory_order_acquire)) {
    return false;
  }
  record = (*slots_)[head % kSlots];
  head_.store(head + 1, std::memory_order_release);
  return true;
}

bool LogLimit::allow(base::MonoTime now, uint64_t& suppressed) {
  if (now >= ends_) {
    ends_ = now + interval_ns_;
    used_ = 0;
  }
  if (used_ == burst_) {
    suppressed_++;
    suppressed_total_++;
    return false;
  }
  used_++;
  suppressed = suppressed_;
  suppressed_ = 0;
  return true;
}

}  // namespace telemetry
