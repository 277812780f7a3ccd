#include "source/http/serialize.h"

#include <array>

namespace http {
namespace {

constexpr std::string_view kVersion = "HTTP/1.1";

struct Phrase {
  uint16_t status;
  std::string_view text;
};
// The registry of RFC 9110 section 16.2.1 as far as it is in use.
constexpr auto kPhrases = std::to_array<Phrase>({
    {100, "Continue"},
    {101, "Switching Protocols"},
    {103, "Early Hints"},
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {203, "Non-Authoritative Information"},
    {204, "No Content"},
    {205, "Reset Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {305, "Use Proxy"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {402, "Payment Required"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {407, "Proxy Authentication Required"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {411, "Length Required"},
    {412, "Precondition Failed"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {425, "Too Early"},
    {426, "Upgrade Required"},
    {428, "Precondition Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {451, "Unavailable For Legal Reasons"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
    {503, "Service Unavailable"},
    {504, "Gateway Timeout"},
    {505, "HTTP Version Not Supported"},
    {507, "Insufficient Storage"},
    {508, "Loop Detected"},
    {511, "Network Authentication Required"},
});

constexpr uint16_t kStatusEnd = 600;
constexpr std::array<std::string_view, kStatusEnd> makePhraseTable() {
  std::array<std::string_view, kStatusEnd> table;
  for (const Phrase& phrase : kPhrases) {
    table[phrase.status] = phrase.text;
  }
  return table;
}
constexpr std::array<std::string_view, kStatusEnd> kPhraseOf = makePhraseTable();

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
  return status < kStatusEnd ? kPhraseOf[status] : std::string_view();
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
