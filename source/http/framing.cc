// Message body length (RFC 9112 section 6) and persistence (RFC 9112 9.3).
#include "source/http/codec.h"
#include "source/http/grammar.h"
#include "source/http/list.h"

namespace http {
namespace {

using base::Blame;
using base::Code;
using base::Error;

// Larger lengths cannot be told from an attack on somebody's signed arithmetic.
constexpr uint64_t kMaxContentLength = INT64_MAX;

std::optional<uint64_t> parseLength(std::string_view text) {
  const std::optional<uint64_t> length = parseDecimal(text);
  return length.has_value() && *length <= kMaxContentLength ? length : std::nullopt;
}

// Identical repeated values count as one, whether in one line or in several (RFC 9110 8.6).
std::optional<uint64_t> parseRepeatedLength(const Fields& fields) {
  std::optional<uint64_t> length;
  for (const Field& field : fields.all()) {
    if (field.id != Name::content_length) {
      continue;
    }
    std::string_view rest = field.value;
    while (true) {
      const size_t comma = rest.find(',');
      const std::optional<uint64_t> one = parseLength(trimOws(rest.substr(0, comma)));
      if (!one.has_value() || (length.has_value() && *length != *one)) {
        return std::nullopt;
      }
      length = one;
      if (comma == rest.npos) {
        break;
      }
      rest.remove_prefix(comma + 1);
    }
  }
  return length;
}

// ok when the transfer codings are exactly "chunked". Otherwise codings that we do not implement,
// properly written and followed by nothing or by one "chunked", are unsupported; the rest cannot be
// framed.
Code checkCodings(const Fields& fields) {
  uint32_t codings = 0;
  uint32_t chunked = 0;
  bool last_is_chunked = false;
  for (const Field& field : fields.all()) {
    if (field.id != Name::transfer_encoding) {
      continue;
    }
    std::string_view rest = field.value;
    for (bool more = true; more;) {
      const size_t comma = rest.find(',');
      const std::string_view coding = trimOws(rest.substr(0, comma));
      const std::string_view name = trimOws(coding.substr(0, coding.find(';')));
      if (!isToken(name)) {
        return Code::bad_framing;
      }
      last_is_chunked = equalsIgnoreCase(coding, "chunked");
      if (equalsIgnoreCase(name, "chunked")) {
        if (!last_is_chunked) {
          return Code::bad_framing;  // chunked has no parameters
        }
        chunked++;
      }
      codings++;
      more = comma != rest.npos;
      rest.remove_prefix(more ? comma + 1 : rest.size());
    }
  }
  if (codings == 1 && chunked == 1) {
    return Code::ok;
  }
  const bool proper = chunked == 0 || (chunked == 1 && last_is_chunked);
  return proper ? Code::unsupported : Code::bad_framing;
}

// RFC 9112 6.1: with Content-Length or in HTTP/1.0 the framing is faulty.
Code checkTransferEncoding(const Fields& fields, uint8_t minor) {
  if (fields.has(Name::content_length) || minor == 0) {
    return Code::bad_framing;
  }
  return checkCodings(fields);
}

bool persists(const Fields& fields, uint8_t minor) {
  if (!fields.has(Name::connection)) {
    return minor >= 1;
  }
  if (listContains(fields, Name::connection, "close")) {
    return false;
  }
  return minor >= 1 || listContains(fields, Name::connection, "keep-alive");
}

bool bodyless(const ResponseHead& head, std::string_view request_method) {
  return head.status < 200 || head.status == 204 || head.status == 304 ||
         request_method == "HEAD" || (request_method == "CONNECT" && head.status < 300);
}

}  // namespace

base::Result<Framing> requestFraming(const RequestHead& head) {
  if (head.fields.has(Name::transfer_encoding)) {
    const Code code = checkTransferEncoding(head.fields, head.minor);
    if (code != Code::ok) {
      return Error{.code = code, .blame = Blame::downstream};
    }
    return Framing(Chunked{});
  }
  if (!head.fields.has(Name::content_length)) {
    return Framing(NoBody{});
  }
  // A repeated or listed length is refused even if the values agree: no client has a reason to send
  // one.
  const std::optional<uint64_t> length = head.fields.count(Name::content_length) == 1
                                             ? parseLength(head.fields.value(Name::content_length))
                                             : std::nullopt;
  if (!length.has_value()) {
    return Error{.code = Code::bad_framing, .blame = Blame::downstream};
  }
  return Framing(Length{*length});
}

base::Result<Framing> responseFraming(const ResponseHead& head, std::string_view request_method) {
  const bool has_codings = head.fields.has(Name::transfer_encoding);
  const bool has_length = head.fields.has(Name::content_length);
  if (has_codings) {
    // Faulty framing is an error even where no body can follow; codings only matter to a body.
    Code code = checkTransferEncoding(head.fields, head.minor);
    if (code == Code::unsupported && bodyless(head, request_method)) {
      code = Code::ok;
    }
    if (code != Code::ok) {
      return Error{.code = code, .blame = Blame::upstream};
    }
  }
  const std::optional<uint64_t> length = contentLength(head);
  if (has_length && !length.has_value()) {
    return Error{.code = Code::bad_framing, .blame = Blame::upstream};
  }
  if (bodyless(head, request_method)) {
    return Framing(NoBody{});
  }
  if (has_codings) {
    return Framing(Chunked{});
  }
  return has_length ? Framing(Length{*length}) : Framing(UntilClose{});
}

std::optional<uint64_t> contentLength(const ResponseHead& head) {
  if (!head.fields.has(Name::content_length)) {
    return std::nullopt;
  }
  return parseRepeatedLength(head.fields);
}

bool keepAlive(const RequestHead& head) {
  return persists(head.fields, head.minor);
}
bool keepAlive(const ResponseHead& head) {
  return persists(head.fields, head.minor);
}

bool expectsContinue(const RequestHead& head) {
  return head.minor >= 1 && head.fields.has(Name::expect) &&
         listContains(head.fields, Name::expect, "100-continue");
}

}  // namespace http
