// What the HTTP part of a hit costs: parsing request heads, the target URI, framing, and writing a
// response head. Run with -c opt. The allocation count is of one steady-state round and should be
// 0.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdlib>
#include <new>
#include <string>

#include "source/http/codec.h"
#include "source/http/date.h"
#include "source/http/hop_by_hop.h"
#include "source/http/serialize.h"
#include "source/http/uri.h"

namespace {

uint64_t allocations = 0;

}  // namespace

void* operator new(size_t size) {
  allocations++;
  return std::malloc(size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, size_t) noexcept {
  std::free(p);
}

namespace {

constexpr std::string_view kLoadGenerator =
    "GET /objects/00001234 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: bench/1.0\r\n"
    "Accept: */*\r\n\r\n";

constexpr std::string_view kBrowser =
    "GET /static/js/app.4f3c2b1a.js?v=20240501 HTTP/1.1\r\n"
    "Host: www.example.com\r\n"
    "Connection: keep-alive\r\n"
    "sec-ch-ua: \"Chromium\";v=\"124\", \"Not-A.Brand\";v=\"99\"\r\n"
    "sec-ch-ua-mobile: ?0\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/124.0.0.0 Safari/537.36\r\n"
    "sec-ch-ua-platform: \"Linux\"\r\n"
    "Accept: */*\r\n"
    "Sec-Fetch-Site: same-origin\r\n"
    "Sec-Fetch-Mode: no-cors\r\n"
    "Sec-Fetch-Dest: script\r\n"
    "Referer: https://www.example.com/index.html\r\n"
    "Accept-Encoding: gzip, deflate, br, zstd\r\n"
    "Accept-Language: en-GB,en;q=0.9,de;q=0.8\r\n"
    "Cookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
    "Content-Type: application/octet-stream\r\nContent-Length: 4096\r\n"
    "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nConnection: keep-alive\r\n"
    "ETag: \"2ebc9d21-1000\"\r\nCache-Control: max-age=3600\r\nAccept-Ranges: bytes\r\n\r\n";

// Runs the body once to let containers grow, then counts allocations of the timed rounds.
template <class Body>
void measure(benchmark::State& state, Body body) {
  body();
  const uint64_t before = allocations;
  for (auto _ : state) {
    body();
  }
  state.counters["allocations"] = benchmark::Counter(static_cast<double>(allocations - before),
                                                     benchmark::Counter::kAvgIterations);
}

void parseRequest(benchmark::State& state, std::string_view bytes) {
  http::RequestHead head;
  measure(state, [&] {
    const http::ParseOutcome outcome = http::parseRequestHead(bytes, {}, head);
    benchmark::DoNotOptimize(outcome.index());
    benchmark::DoNotOptimize(head.fields.all().data());
  });
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes.size()));
}
BENCHMARK_CAPTURE(parseRequest, load_generator, kLoadGenerator);
BENCHMARK_CAPTURE(parseRequest, browser, kBrowser);

void parseResponse(benchmark::State& state) {
  http::ResponseHead head;
  measure(state, [&] {
    const http::ParseOutcome outcome = http::parseResponseHead(kResponse, {}, head);
    benchmark::DoNotOptimize(outcome.index());
    benchmark::DoNotOptimize(head.fields.all().data());
  });
}
BENCHMARK(parseResponse);

// All that is asked of a request before the lookup.
void classify(benchmark::State& state, std::string_view bytes) {
  http::RequestHead head;
  static_cast<void>(http::parseRequestHead(bytes, {}, head));
  http::AuthorityBuffer buffer;
  measure(state, [&] {
    const auto framing = http::requestFraming(head);
    const auto uri = http::effectiveUri(head, http::Scheme::http, buffer);
    benchmark::DoNotOptimize(framing.ok());
    benchmark::DoNotOptimize(uri.value().path.data());
    benchmark::DoNotOptimize(http::keepAlive(head));
    benchmark::DoNotOptimize(http::expectsContinue(head));
  });
}
BENCHMARK_CAPTURE(classify, load_generator, kLoadGenerator);
BENCHMARK_CAPTURE(classify, browser, kBrowser);

void writeResponse(benchmark::State& state) {
  http::ResponseHead head;
  static_cast<void>(http::parseResponseHead(kResponse, {}, head));
  std::array<char, 4096> out;
  measure(state, [&] {
    http::HeadWriter writer(out);
    writer.statusLine(head.status, head.reason);
    const http::HopByHop hop_by_hop(head.fields);
    for (const http::Field& field : head.fields.all()) {
      if (!hop_by_hop.covers(field)) {
        writer.field(field);
      }
    }
    writer.field(http::Name::age, 17);
    writer.field(http::Name::cache_status, "ringfence; hit");
    writer.end();
    benchmark::DoNotOptimize(writer.size());
  });
}
BENCHMARK(writeResponse);

void dates(benchmark::State& state) {
  std::array<char, http::kDateSize> out;
  int64_t s = 784111777;
  measure(state, [&] {
    http::formatDate(base::UnixSeconds{s}, out);
    const auto parsed = http::parseDate(std::string_view(out.data(), out.size()), {});
    s = parsed.value().s + 1;
  });
}
BENCHMARK(dates);

}  // namespace
