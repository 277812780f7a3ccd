#include "source/http/serialize.h"

#include <array>

namespace http {
namespace {

constexpr std::string_view kVersion = "HTTP/1.1";

// Appends by one growth and plain copies: `size` bytes for `fill` to write.
template <class Fill>
void grow(std::string& out, size_t size, Fill fill) {
  const size_t before = out.size();
  out.resize(before + size);
  HeadWriter writer(std::span<char>(out.data() + before, size));
  fill(writer);
}

char* put(char* at, std::string_view text) {
  std::memcpy(at, text.data(), text.size());
  return at + text.size();
}

constexpr size_t kStatusLineExtra = kVersion.size() + 1 + 3 + 1 + 2;
constexpr size_t kRequestLineExtra = 1 + 1 + kVersion.size() + 2;
constexpr size_t kFieldExtra = 2 + 2;

}  // namespace

std::string_view reasonPhrase(uint16_t status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 203:
      return "Non-Authoritative Information";
    case 204:
      return "No Content";
    case 205:
      return "Reset Content";
    case 206:
      return "Partial Content";
    case 300:
      return "Multiple Choices";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 305:
      return "Use Proxy";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 407:
      return "Proxy Authentication Required";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 451:
      return "Unavailable For Legal Reasons";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    case 511:
      return "Network Authentication Required";
    default:
      return {};
  }
}

std::string_view writeDecimal(uint64_t value, std::span<char, kDecimalSize> out) {
  size_t first = kDecimalSize;
  do {
    out[--first] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return std::string_view(out.data() + first, kDecimalSize - first);
}

char* HeadWriter::reserve(size_t bytes) {
  ok_ = ok_ && static_cast<size_t>(end_ - at_) >= bytes;
  if (!ok_) {
    return nullptr;
  }
  char* const at = at_;
  at_ += bytes;
  return at;
}

void HeadWriter::text(std::string_view bytes) {
  if (bytes.empty()) {
    return;
  }
  if (char* at = reserve(bytes.size()); at != nullptr) {
    put(at, bytes);
  }
}

void HeadWriter::statusLine(uint16_t status, std::string_view reason) {
  const std::string_view phrase = reason.empty() ? reasonPhrase(status) : reason;
  char* at = reserve(kStatusLineExtra + phrase.size());
  if (at == nullptr) {
    return;
  }
  const std::array<char, 3> digits = {static_cast<char>('0' + status / 100 % 10),
                                      static_cast<char>('0' + status / 10 % 10),
                                      static_cast<char>('0' + status % 10)};
  at = put(at, kVersion);
  *at++ = ' ';
  at = put(at, std::string_view(digits.data(), digits.size()));
  *at++ = ' ';
  at = phrase.empty() ? at : put(at, phrase);
  put(at, "\r\n");
}

void HeadWriter::requestLine(std::string_view method, std::string_view target) {
  char* at = reserve(kRequestLineExtra + method.size() + target.size());
  if (at == nullptr) {
    return;
  }
  at = put(at, method);
  *at++ = ' ';
  at = put(at, target);
  *at++ = ' ';
  at = put(at, kVersion);
  put(at, "\r\n");
}

void HeadWriter::field(std::string_view name, std::string_view value) {
  char* at = reserve(kFieldExtra + name.size() + value.size());
  if (at == nullptr) {
    return;
  }
  at = put(at, name);
  at = put(at, ": ");
  at = value.empty() ? at : put(at, value);
  put(at, "\r\n");
}

void HeadWriter::field(std::string_view name, uint64_t value) {
  std::array<char, kDecimalSize> digits;
  field(name, writeDecimal(value, digits));
}

void appendStatusLine(std::string& out, uint16_t status, std::string_view reason) {
  const std::string_view phrase = reason.empty() ? reasonPhrase(status) : reason;
  grow(out, kStatusLineExtra + phrase.size(),
       [&](HeadWriter& writer) { writer.statusLine(status, phrase); });
}

void appendRequestLine(std::string& out, std::string_view method, std::string_view target) {
  grow(out, kRequestLineExtra + method.size() + target.size(),
       [&](HeadWriter& writer) { writer.requestLine(method, target); });
}

void appendField(std::string& out, std::string_view name, std::string_view value) {
  grow(out, kFieldExtra + name.size() + value.size(),
       [&](HeadWriter& writer) { writer.field(name, value); });
}

void appendField(std::string& out, std::string_view name, uint64_t value) {
  std::array<char, kDecimalSize> digits;
  appendField(out, name, writeDecimal(value, digits));
}

void appendFields(std::string& out, const Fields& fields) {
  size_t size = 0;
  for (const Field& field : fields.all()) {
    size += kFieldExtra + field.name.size() + field.value.size();
  }
  grow(out, size, [&](HeadWriter& writer) {
    for (const Field& field : fields.all()) {
      writer.field(field);
    }
  });
}

}  // namespace http
