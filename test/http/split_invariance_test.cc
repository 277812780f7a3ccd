// Goal: the outcome depends on the bytes, never on how they came. Method: every message of the
// corpus is shown to the parser as each of its prefixes, by one byte and by random steps, as a
// connection would; the first outcome that is not NeedMore must be that of the whole. Chunked
// bodies are cut at every place, at every pair of places, and at random.
#include <gtest/gtest.h>

#include <string>

#include "source/base/random.h"
#include "source/http/chunked.h"
#include "source/http/codec.h"
#include "test/http/message_corpus.h"

namespace http {
namespace {

// An outcome with the contents of the head, as text that can be compared and printed.
std::string describe(const ParseOutcome& outcome, const Fields& fields, std::string_view line) {
  if (std::holds_alternative<NeedMore>(outcome)) {
    return "";
  }
  if (std::holds_alternative<base::Error>(outcome)) {
    return std::string(base::name(std::get<base::Error>(outcome).code));
  }
  std::string out = std::to_string(std::get<Parsed>(outcome).consumed) + " " + std::string(line);
  for (const Field& field : fields.all()) {
    out += "|" + std::string(field.name) + "=" + std::string(field.value);
  }
  return out;
}

std::string parseRequest(std::string_view bytes, const Limits& limits) {
  RequestHead head;
  const ParseOutcome outcome = parseRequestHead(bytes, limits, head);
  return describe(outcome, head.fields, head.target);
}

std::string parseResponse(std::string_view bytes, const Limits& limits) {
  ResponseHead head;
  const ParseOutcome outcome = parseResponseHead(bytes, limits, head);
  return describe(outcome, head.fields, head.reason);
}

using Parse = std::string (*)(std::string_view, const Limits&);

// The first outcome of a connection that receives the bytes in steps.
template <class Step>
std::string drip(std::string_view bytes, const Limits& limits, Parse parse, Step step) {
  size_t have = 0;
  while (have < bytes.size()) {
    have = std::min<size_t>(bytes.size(), have + step());
    // The exact extent, so that the sanitizer sees a read behind it.
    const std::string received(bytes.substr(0, have));
    const std::string outcome = parse(std::string_view(received), limits);
    if (!outcome.empty()) {
      return outcome;
    }
  }
  return "";
}

void expectInvariant(std::string_view bytes, const Limits& limits, Parse parse,
                     std::string_view clause) {
  const std::string whole = parse(bytes, limits);
  EXPECT_FALSE(whole.empty()) << clause;
  EXPECT_EQ(drip(bytes, limits, parse, [] { return size_t{1}; }), whole) << clause;
  base::Random random(bytes.size());
  for (int round = 0; round < 20; round++) {
    EXPECT_EQ(drip(bytes, limits, parse, [&] { return random.between(1, 40); }), whole) << clause;
  }
  // Any single cut.
  for (size_t cut = 1; cut < bytes.size(); cut++) {
    const std::string first = parse(bytes.substr(0, cut), limits);
    EXPECT_TRUE(first.empty() || first == whole) << clause << " cut at " << cut;
  }
}

const std::vector<Limits>& limitSets() {
  static const std::vector<Limits> sets = {
      {},
      {.head_bytes = 40, .fields = 128, .line_bytes = 8192},
      {.head_bytes = 16384, .fields = 1, .line_bytes = 8192},
      {.head_bytes = 16384, .fields = 128, .line_bytes = 14},
  };
  return sets;
}

TEST(SplitInvariance, RequestHeads) {
  for (const test::HeadCase& row : test::requestCases()) {
    for (const Limits& limits : limitSets()) {
      expectInvariant(row.bytes, limits, parseRequest, row.clause);
      expectInvariant(row.bytes + "GET /next HTTP/1.1\r\n", limits, parseRequest, row.clause);
    }
  }
}

TEST(SplitInvariance, ResponseHeads) {
  for (const test::HeadCase& row : test::responseCases()) {
    for (const Limits& limits : limitSets()) {
      expectInvariant(row.bytes, limits, parseResponse, row.clause);
      expectInvariant(row.bytes + "body", limits, parseResponse, row.clause);
    }
  }
}

// A searcher that remembers how far it came finds the same end as one that looks at everything.
TEST(SplitInvariance, FindHeadEndByOneByte) {
  for (const test::HeadCase& row : test::requestCases()) {
    const uint32_t whole = findHeadEnd(row.bytes, 0);
    uint32_t searched = 0;
    uint32_t found = 0;
    while (found == 0 && searched < row.bytes.size()) {
      found = findHeadEnd(std::span(row.bytes.data(), searched + 1), searched);
      searched++;
    }
    EXPECT_EQ(found, whole) << row.clause;
  }
}

struct Body {
  std::string outcome;  // the code, or "end"
  std::string data;
  std::string trailers;
  size_t consumed = 0;
};

const ChunkLimits kChunkLimits{
    .extension_bytes = 8, .extension_total_bytes = 20, .trailer_bytes = 40, .trailer_fields = 2};

// Feeds pieces that end at the given cuts.
Body decode(std::string_view bytes, const std::vector<size_t>& cuts) {
  ChunkDecoder decoder(base::Blame::upstream, kChunkLimits);
  Body out;
  size_t at = 0;
  for (size_t i = 0; i <= cuts.size(); i++) {
    const size_t end = i < cuts.size() ? cuts[i] : bytes.size();
    const std::string piece(bytes.substr(at, end - at));
    std::span<const std::byte> rest = std::as_bytes(std::span(piece));
    while (!rest.empty()) {
      const auto step = decoder.feed(rest);
      if (!step.ok()) {
        out.outcome = base::name(step.error().code);
        return out;
      }
      EXPECT_GT(step.value().consumed, 0U);
      out.consumed += step.value().consumed;
      const auto data = step.value().data;
      out.data.append(reinterpret_cast<const char*>(data.data()), data.size());
      rest = rest.subspan(step.value().consumed);
      if (step.value().end) {
        out.outcome = "end";
        for (const Field& field : decoder.trailers().all()) {
          out.trailers += std::string(field.name) + "=" + std::string(field.value) + ";";
        }
        return out;
      }
    }
    at = end;
  }
  out.outcome = "more";
  return out;
}

const std::vector<std::string>& bodies() {
  static const std::vector<std::string> all = {
      "0\r\n\r\n",
      "5\r\nhello\r\n0\r\n\r\n",
      "5\r\nhello\r\n6;a=\"b\"\r\n world\r\n0\r\n\r\nGET /",
      "1\r\na\r\n1\r\nb\r\n00\r\nX: y\r\nZ:  w \r\n\r\nnext",
      "A ;x\r\n0123456789\r\n0\r\nContent-Length: 5\r\nX: 1\r\n\r\n",
      "5\r\nhello\r\n0\r\n",
      "5\r\nhelloX\r\n",
      "5\nhello\r\n",
      "5\r\nhello\r\n0\r\nX y\r\n\r\n",
      "5\r\nhello\r\n0\r\nX: y\n\r\n",
      "5;0123456\r\nhello\r\n5;0123456\r\nhello\r\n5;0123456\r\nhello\r\n0\r\n\r\n",
      "0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n",
      "0\r\nA: 0123456789012345678901234567890123456789\r\n\r\n",
      "g\r\n",
      "11111111111111111\r\n",
      "\r\n",
  };
  return all;
}

TEST(SplitInvariance, ChunkedBodies) {
  base::Random random(7);
  for (const std::string& bytes : bodies()) {
    const Body whole = decode(bytes, {});
    std::vector<size_t> every;
    for (size_t cut = 1; cut < bytes.size(); cut++) {
      every.push_back(cut);
      for (size_t second = cut; second < bytes.size(); second++) {
        const Body cut_twice = decode(bytes, {cut, second});
        EXPECT_EQ(cut_twice.outcome, whole.outcome) << bytes << cut << " " << second;
        EXPECT_EQ(cut_twice.data, whole.data) << bytes;
        EXPECT_EQ(cut_twice.trailers, whole.trailers) << bytes;
        EXPECT_TRUE(whole.outcome != "end" || cut_twice.consumed == whole.consumed) << bytes;
      }
    }
    EXPECT_EQ(decode(bytes, every).outcome, whole.outcome) << bytes;
    EXPECT_EQ(decode(bytes, every).data, whole.data) << bytes;
    for (int round = 0; round < 50; round++) {
      std::vector<size_t> cuts;
      for (size_t at = random.between(1, 5); at < bytes.size(); at += random.between(1, 5)) {
        cuts.push_back(at);
      }
      EXPECT_EQ(decode(bytes, cuts).outcome, whole.outcome) << bytes;
      EXPECT_EQ(decode(bytes, cuts).data, whole.data) << bytes;
    }
  }
}

}  // namespace
}  // namespace http
