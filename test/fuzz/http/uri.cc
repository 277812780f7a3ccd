// Fuzzes targets, authorities and normal forms: each normal form is its own normal form, and none
// is longer than what it was made of.

#include <string>
#include <vector>

#include "source/http/grammar.h"
#include "source/http/uri.h"
#include "test/fuzz/http/check.h"

namespace {

void expectAuthority(std::string_view text) {
  const auto parsed = http::parseAuthority(text);
  if (!parsed.has_value()) {
    return;
  }
  for (const http::Scheme scheme : {http::Scheme::http, http::Scheme::https}) {
    http::AuthorityBuffer buffer;
    const std::string once(http::normaliseAuthority(*parsed, scheme, buffer));
    const auto again = http::parseAuthority(once);
    CHECK(again.has_value());
    CHECK(http::normaliseAuthority(*again, scheme, buffer) == once);
    CHECK(once.find_first_of("@/?# ") == once.npos);
  }
}

void expectTarget(std::string_view method, std::string_view text) {
  const auto parsed = http::parseTarget(method, text);
  if (!parsed.ok()) {
    return;
  }
  const http::Target& target = parsed.value();
  fuzz::expectWithin(target.authority, text);
  fuzz::expectWithin(target.query, text);
  CHECK(target.form == http::TargetForm::authority || !target.path.empty());
  CHECK(target.form != http::TargetForm::origin || target.path.front() == '/');
  CHECK(target.path.find('?') == target.path.npos);
  CHECK((method == "CONNECT") == (target.form == http::TargetForm::authority));
}

void expectPaths(std::string_view text) {
  std::vector<char> first(text.size());
  std::vector<char> second(text.size());
  const std::string_view decoded = http::normalisePercent(text, first);
  CHECK(decoded.size() <= text.size());
  // "%%41" becomes "%A": with its digit the next could read "%A1". So only the second pass is
  // compared, for texts whose every "%" is well-formed.
  bool proper = true;
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1)) {
    proper &= at + 2 < text.size() && http::hexValue(text[at + 1]) >= 0 &&
              http::hexValue(text[at + 2]) >= 0;
  }
  CHECK(!proper || http::normalisePercent(decoded, second) == decoded);
  std::vector<char> third(text.size());
  const std::string once(http::removeDotSegments(text, third));
  CHECK(once.size() <= text.size());
  CHECK(!text.starts_with('/') || once.starts_with('/'));
  if (text.starts_with('/')) {
    CHECK(http::removeDotSegments(once, second) == once);
    CHECK(once.find("/../") == once.npos);
    CHECK(once.find("/./") == once.npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = fuzz::textOf(data, size);
  expectAuthority(text);
  for (const std::string_view method : {"GET", "OPTIONS", "CONNECT"}) {
    expectTarget(method, text);
  }
  expectPaths(text);
  return 0;
}
