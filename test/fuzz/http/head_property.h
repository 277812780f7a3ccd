// The properties of a head parser, for requests and responses alike: the outcome is the same for
// every way of cutting the input, limits hold, views lie within the input, and a head that was
// accepted contains nothing that another recipient could read differently.
#pragma once

#include <string>

#include "source/http/codec.h"
#include "source/http/grammar.h"
#include "test/fuzz/http/check.h"

namespace fuzz {

inline bool isFinal(const http::ParseOutcome& outcome) {
  return !std::holds_alternative<http::NeedMore>(outcome);
}

inline bool sameOutcome(const http::ParseOutcome& a, const http::ParseOutcome& b) {
  if (a.index() != b.index()) {
    return false;
  }
  if (std::holds_alternative<base::Error>(a)) {
    return std::get<base::Error>(a) == std::get<base::Error>(b);
  }
  return !std::holds_alternative<http::Parsed>(a) ||
         std::get<http::Parsed>(a).consumed == std::get<http::Parsed>(b).consumed;
}

// Tiny limits, so that short inputs reach them.
inline constexpr http::Limits kSmallLimits{.head_bytes = 200, .fields = 4, .line_bytes = 60};

inline void expectStrict(const http::Fields& fields, std::string_view head) {
  for (const http::Field& field : fields.all()) {
    expectWithin(field.name, head);
    expectWithin(field.value, head);
    CHECK(http::isToken(field.name));
    CHECK(http::isFieldValue(field.value));
    CHECK(http::trimOws(field.value) == field.value);
    CHECK(field.id == http::nameOf(field.name));
  }
  // Every line ends in CRLF, every CR is followed by LF, and only the last line is empty.
  for (size_t at = 0; at < head.size(); at++) {
    CHECK(head[at] != '\n' || (at > 0 && head[at - 1] == '\r'));
    CHECK(head[at] != '\r' || (at + 1 < head.size() && head[at + 1] == '\n'));
  }
  CHECK(head.ends_with("\r\n\r\n"));
  CHECK(head.find("\r\n\r\n") == head.size() - 4);
}

template <class Parse>
void expectSplitInvariance(std::string_view text, const http::Limits& limits, Parse parse) {
  const http::ParseOutcome whole = parse(text, limits);
  base::Random random = cutsFor(text);
  for (int round = 0; round < 3; round++) {
    const uint64_t longest = round == 0 ? 1 : random.between(2, 64);
    http::ParseOutcome outcome = http::NeedMore{};
    uint32_t searched = 0;
    size_t have = 0;
    while (have < text.size() && !isFinal(outcome)) {
      have = std::min<size_t>(text.size(), have + random.between(1, longest));
      const std::string_view received = text.substr(0, have);
      outcome = parse(received, limits);
      // The searcher that resumes agrees with the parser on where the head ends.
      const uint32_t end = http::findHeadEnd(received, searched);
      CHECK(!std::holds_alternative<http::Parsed>(outcome) ||
            end == std::get<http::Parsed>(outcome).consumed);
      CHECK(end == 0 || isFinal(outcome));
      searched = static_cast<uint32_t>(have);
    }
    CHECK(sameOutcome(outcome, whole));
  }
}

}  // namespace fuzz
