// Fuzzes request heads: the properties of head_property.h, the framing, and the target URI.
#include "source/http/uri.h"
#include "test/fuzz/http/head_property.h"

namespace {

http::ParseOutcome parse(std::string_view text, const http::Limits& limits) {
  http::RequestHead head;
  return http::parseRequestHead(text, limits, head);
}

void expectFraming(const http::RequestHead& head) {
  const base::Result<http::Framing> framing = http::requestFraming(head);
  const size_t lengths = head.fields.count(http::Name::content_length);
  const bool codings = head.fields.has(http::Name::transfer_encoding);
  if (framing.ok()) {
    CHECK(!codings || lengths == 0);
    CHECK(lengths <= 1);
    CHECK(std::holds_alternative<http::Chunked>(framing.value()) == codings);
    CHECK(std::holds_alternative<http::Length>(framing.value()) == (lengths == 1));
    CHECK(!std::holds_alternative<http::UntilClose>(framing.value()));
  }
  static_cast<void>(http::keepAlive(head));
  static_cast<void>(http::expectsContinue(head));
}

void expectUri(const http::RequestHead& head) {
  http::AuthorityBuffer buffer;
  const base::Result<http::Effective> uri = http::effectiveUri(head, http::Scheme::http, buffer);
  if (!uri.ok()) {
    return;
  }
  const std::string_view authority = uri.value().authority;
  CHECK(!authority.empty() || head.minor == 0);
  // A normal authority is its own normal form.
  const auto again = http::parseAuthority(authority);
  CHECK(again.has_value());
  http::AuthorityBuffer second;
  CHECK(http::normaliseAuthority(*again, http::Scheme::http, second) == authority);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  fuzz::expectSplitInvariance(text, {}, parse);
  fuzz::expectSplitInvariance(text, fuzz::kSmallLimits, parse);
  http::RequestHead head;
  const http::ParseOutcome outcome = http::parseRequestHead(text, {}, head);
  if (const auto* parsed = std::get_if<http::Parsed>(&outcome); parsed != nullptr) {
    std::string_view bytes = text.substr(0, parsed->consumed);
    bytes.remove_prefix(bytes.starts_with("\r\n") ? 2 : 0);
    fuzz::expectStrict(head.fields, bytes);
    fuzz::expectWithin(head.target, bytes);
    CHECK(http::isToken(head.method));
    CHECK(http::all(http::kTargetChar, head.target));
    CHECK(head.fields.count(http::Name::host) <= 1);
    expectFraming(head);
    expectUri(head);
  }
  return 0;
}
