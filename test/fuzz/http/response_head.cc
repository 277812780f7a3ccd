// Fuzzes response heads: the properties of head_property.h, and the framing for three request
// methods.
#include "test/fuzz/http/head_property.h"

namespace {

http::ParseOutcome parse(std::string_view text, const http::Limits& limits) {
  http::ResponseHead head;
  return http::parseResponseHead(text, limits, head);
}

void expectFraming(const http::ResponseHead& head, std::string_view method) {
  const base::Result<http::Framing> framing = http::responseFraming(head, method);
  const bool lengths = head.fields.has(http::Name::content_length);
  const bool codings = head.fields.has(http::Name::transfer_encoding);
  if (lengths && codings) {
    CHECK(!framing.ok());
  }
  if (!framing.ok()) {
    return;
  }
  CHECK(lengths == http::contentLength(head).has_value());
  const bool bodyless = head.status < 200 || head.status == 204 || head.status == 304 ||
                        method == "HEAD" || (method == "CONNECT" && head.status < 300);
  CHECK(std::holds_alternative<http::NoBody>(framing.value()) == bodyless);
  if (!bodyless) {
    CHECK(std::holds_alternative<http::Chunked>(framing.value()) == codings);
    CHECK(std::holds_alternative<http::Length>(framing.value()) == lengths);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::expectSplitInvariance(text, {}, parse);
  fuzz::expectSplitInvariance(text, fuzz::kSmallLimits, parse);
  http::ResponseHead head;
  const http::ParseOutcome outcome = http::parseResponseHead(text, {}, head);
  if (const auto* parsed = std::get_if<http::Parsed>(&outcome); parsed != nullptr) {
    fuzz::expectStrict(head.fields, text.substr(0, parsed->consumed));
    CHECK(head.status >= 100);
    CHECK(head.status <= 999);
    CHECK(http::isFieldValue(head.reason));
    for (const std::string_view method : {"GET", "HEAD", "CONNECT"}) {
      expectFraming(head, method);
    }
  }
  return 0;
}
