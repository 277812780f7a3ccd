#include "test/http/message_corpus.h"

namespace test {
namespace {

using base::Code;

// A request with the given field lines behind a good Host.
std::string withFields(std::string_view lines) {
  return "GET / HTTP/1.1\r\nHost: a\r\n" + std::string(lines) + "\r\n";
}

std::string withHost(std::string_view host) {
  return "GET / HTTP/1.1\r\nHost:" + std::string(host) + "\r\n\r\n";
}

std::string responseWith(std::string_view lines) {
  return "HTTP/1.1 200 OK\r\n" + std::string(lines) + "\r\n";
}

void addRequestLines(std::vector<HeadCase>& out) {
  const auto add = [&](std::string_view clause, std::string line, Code code) {
    out.push_back({clause, line + "\r\nHost: a\r\n\r\n", code});
  };
  add("9112 3: origin form", "GET /a?b=c HTTP/1.1", Code::ok);
  add("9112 3.2.2: absolute form", "GET http://a/b HTTP/1.1", Code::ok);
  add("9112 3.2.3: authority form", "CONNECT a:443 HTTP/1.1", Code::ok);
  add("9112 3.2.4: asterisk form", "OPTIONS * HTTP/1.1", Code::ok);
  add("9110 9.1: methods are any token", "M-SEARCH!#$%&'*+.^_`|~09 / HTTP/1.1", Code::ok);
  add("9110 2.5: a higher minor version is 1.1", "GET / HTTP/1.9", Code::ok);
  add("9112 2.2: one empty line before the request line", "\r\nGET / HTTP/1.1", Code::ok);
  add("9112 2.2: but not two", "\r\n\r\nGET / HTTP/1.1", Code::bad_head);
  add("9112 2.2: nor a bare LF", "\nGET / HTTP/1.1", Code::bad_head);
  add("9112 2.2: nor a bare CR", "\rGET / HTTP/1.1", Code::bad_head);
  add("9112 3: leading space", " GET / HTTP/1.1", Code::bad_head);
  add("9112 3: two spaces before the target", "GET  / HTTP/1.1", Code::bad_head);
  add("9112 3: two spaces behind the target", "GET /  HTTP/1.1", Code::bad_head);
  add("9112 3: tab for space", "GET\t/ HTTP/1.1", Code::bad_head);
  add("9112 3: trailing space", "GET / HTTP/1.1 ", Code::bad_head);
  add("9112 3: space in the target", "GET /a b HTTP/1.1", Code::bad_head);
  add("9112 3: no version (HTTP/0.9)", "GET /", Code::bad_head);
  add("9112 3: no target", "GET HTTP/1.1", Code::bad_head);
  add("9110 9.1: method not a token", "G(T / HTTP/1.1", Code::bad_head);
  add("9110 9.1: empty method", "/ HTTP/1.1", Code::bad_head);
  add("3986: control in the target", "GET /\x01 HTTP/1.1", Code::bad_head);
  add("3986: NUL in the target", std::string("GET /\0 HTTP/1.1", 15), Code::bad_head);
  add("3986: DEL in the target", "GET /\x7f HTTP/1.1", Code::bad_head);
  add("3986: raw UTF-8 in the target", "GET /\xc3\xa4 HTTP/1.1", Code::bad_head);
  add("9112 3.2: fragment in the target", "GET /a#b HTTP/1.1", Code::bad_head);
  add("9112 2.3: version in lower case", "GET / http/1.1", Code::bad_head);
  add("9112 2.3: version without minor", "GET / HTTP/1", Code::bad_head);
  add("9112 2.3: two-digit minor", "GET / HTTP/1.10", Code::bad_head);
  add("9112 2.3: letters in version", "GET / HTTP/1.x", Code::bad_head);
  add("9112 2.3: other protocol", "GET / RTSP/1.0", Code::bad_head);
  add("9110 15.6.6: HTTP/2.0 in the request line", "GET / HTTP/2.0", Code::unsupported);
  add("9110 15.6.6: HTTP/0.9 in the request line", "GET / HTTP/0.9", Code::unsupported);
  add("9110 15.6.6: HTTP/3", "GET / HTTP/3", Code::unsupported);
  add("a foreign version does not excuse a bad target", "GET /\x7f HTTP/2.0", Code::bad_head);
  add("TLS on a plain port", "\x16\x03\x01\x02", Code::bad_head);
  out.push_back(
      {"9113 3.4: connection preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Code::unsupported});
}

void addFieldLines(std::vector<HeadCase>& out) {
  const auto add = [&](std::string_view clause, std::string_view lines, Code code) {
    out.push_back({clause, withFields(lines), code});
  };
  add("9110 5.1: any token is a name", "!#$%&'*+-.^_`|~0aZ: x\r\n", Code::ok);
  add("9112 5.1: optional white space", "A: \t x \t \r\nB:\r\nC:y\r\n", Code::ok);
  add("9110 5.5: obs-text and tabs in values", "A: \xc3\xa4\tb\xff\r\n", Code::ok);
  add("9110 5.3: repeated names", "A: 1\r\nA: 2\r\na: 3\r\n", Code::ok);
  add("9112 5.1: space before the colon", "A : x\r\n", Code::bad_head);
  add("9112 5.1: tab before the colon", "A\t: x\r\n", Code::bad_head);
  add("9110 5.1: empty name", ": x\r\n", Code::bad_head);
  add("9110 5.1: no colon", "A\r\n", Code::bad_head);
  add("9110 5.1: separator in a name", "A(b): x\r\n", Code::bad_head);
  add("9110 5.1: obs-text in a name", "\xc3\xa4: x\r\n", Code::bad_head);
  add("9110 5.1: a long name's end is checked too", "Abcdefghijklmnopqrstuvwxyz@: x\r\n",
      Code::bad_head);
  add("9112 5.2: obs-fold", "A: x\r\n y\r\n", Code::bad_head);
  add("9112 5.2: obs-fold with tab", "A: x\r\n\ty\r\n", Code::bad_head);
  add("9112 2.2: white space before the first field", " A: x\r\n", Code::bad_head);
  add("9112 2.2: bare LF ends a line", "A: x\nB: y\r\n", Code::bad_head);
  add("9112 2.2: bare CR in a value", "A: x\ry\r\n", Code::bad_head);
  add("9112 2.2: CR CR LF", "A: x\r\r\n", Code::bad_head);
  add("9110 5.5: NUL in a value", std::string_view("A: x\0y\r\n", 8), Code::bad_head);
  add("9110 5.5: control in a value", "A: x\x1by\r\n", Code::bad_head);
  add("9110 5.5: DEL in a value", "A: x\x7fy\r\n", Code::bad_head);
  add("9110 5.5: control far into a long value",
      "A: 0123456789012345678901234567890123456789\x08\r\n", Code::bad_head);
  out.push_back(
      {"9112 2.2: blank line as a bare LF", "GET / HTTP/1.1\r\nHost: a\r\n\nX", Code::bad_head});
  out.push_back(
      {"9112 2.2: all lines with bare LF", "GET / HTTP/1.1\nHost: a\n\n", Code::bad_head});
  out.push_back({"9112 2.2: blank line as CR CR LF, then a good end",
                 "GET / HTTP/1.1\r\nHost: a\r\n\r\r\n\r\n", Code::bad_head});
}

void addHosts(std::vector<HeadCase>& out) {
  const auto add = [&](std::string_view clause, std::string_view host, Code code) {
    out.push_back({clause, withHost(host), code});
  };
  add("9112 3.2: name and port", " example.com:8080", Code::ok);
  add("9112 3.2: IPv4", " 127.0.0.1", Code::ok);
  add("9112 3.2: IPv6 literal", " [::1]:80", Code::ok);
  add("9112 3.2: an empty Host is sent for a target without authority", "", Code::ok);
  add("9112 3.2: two hosts in one line", " a, b", Code::bad_head);
  add("9112 3.2: user information", " user@a", Code::bad_head);
  add("9112 3.2: path", " a/b", Code::bad_head);
  add("9112 3.2: space", " a b", Code::bad_head);
  add("9112 3.2: port without host", " :80", Code::bad_head);
  add("9112 3.2: port not a number", " a:x", Code::bad_head);
  add("9112 3.2: port too large", " a:65536", Code::bad_head);
  add("9112 3.2: IPv6 without brackets", " ::1", Code::bad_head);
  add("9112 3.2: raw UTF-8", " \xc3\xa4", Code::bad_head);
  out.push_back(
      {"9112 3.2: no Host in HTTP/1.1", "GET / HTTP/1.1\r\nA: b\r\n\r\n", Code::bad_head});
  out.push_back({"9112 3.2: no field at all", "GET / HTTP/1.1\r\n\r\n", Code::bad_head});
  out.push_back({"9112 3.2: no Host in HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", Code::ok});
  out.push_back(
      {"9112 3.2: two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Code::bad_head});
  out.push_back({"9112 3.2: two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
                 Code::bad_head});
  out.push_back({"9112 3.2.2: no Host with an absolute form", "GET http://a/ HTTP/1.1\r\n\r\n",
                 Code::bad_head});
}

void addStatusLines(std::vector<HeadCase>& out) {
  const auto add = [&](std::string_view clause, std::string line, Code code) {
    out.push_back({clause, line + "\r\nA: b\r\n\r\n", code});
  };
  add("9112 4: reason phrase", "HTTP/1.1 200 OK", Code::ok);
  add("9112 4: empty reason phrase", "HTTP/1.1 200 ", Code::ok);
  add("9112 4: without the second space", "HTTP/1.1 200", Code::ok);
  add("9112 4: spaces, tabs and obs-text in the phrase", "HTTP/1.0 404 Not\t F\xf6und", Code::ok);
  add("9110 15: unknown statuses are passed on", "HTTP/1.1 799 What", Code::ok);
  add("9110 15: four digits", "HTTP/1.1 2000 OK", Code::bad_head);
  add("9110 15: two digits", "HTTP/1.1 20 OK", Code::bad_head);
  add("9110 15: below 100", "HTTP/1.1 099 OK", Code::bad_head);
  add("9110 15: no number", "HTTP/1.1 OK", Code::bad_head);
  add("9112 4: two spaces", "HTTP/1.1  200 OK", Code::bad_head);
  add("9112 4: tab behind the status", "HTTP/1.1 200\tOK", Code::bad_head);
  add("9112 4: no status", "HTTP/1.1", Code::bad_head);
  add("9112 4: control in the phrase", "HTTP/1.1 200 O\x01K", Code::bad_head);
  add("9112 4: NUL in the phrase", std::string("HTTP/1.1 200 O\0K", 16), Code::bad_head);
  add("9112 4: bare CR in the phrase", "HTTP/1.1 200 O\rK", Code::bad_head);
  add("9112 2.3: lower case", "http/1.1 200 OK", Code::bad_head);
  add("9112 2.3: other protocol", "ICY 200 OK", Code::bad_head);
  add("9112 2.2: no empty line before a status line", "\r\nHTTP/1.1 200 OK", Code::bad_head);
  add("9110 2.5: HTTP/2", "HTTP/2 200", Code::unsupported);
  add("9110 2.5: HTTP/2.0", "HTTP/2.0 200 OK", Code::unsupported);
}

}  // namespace

const std::vector<HeadCase>& requestCases() {
  static const std::vector<HeadCase> cases = [] {
    std::vector<HeadCase> out;
    addRequestLines(out);
    addFieldLines(out);
    addHosts(out);
    return out;
  }();
  return cases;
}

const std::vector<HeadCase>& responseCases() {
  static const std::vector<HeadCase> cases = [] {
    std::vector<HeadCase> out;
    addStatusLines(out);
    out.push_back({"9112 5: no fields", "HTTP/1.1 204 No Content\r\n\r\n", Code::ok});
    out.push_back({"9112 5: fields", responseWith("A: b\r\nC:\r\n"), Code::ok});
    out.push_back({"9112 5.1: space before the colon", responseWith("A : b\r\n"), Code::bad_head});
    out.push_back({"9112 5.2: obs-fold", responseWith("A: b\r\n c\r\n"), Code::bad_head});
    out.push_back({"9112 2.2: bare LF", "HTTP/1.1 200 OK\nA: b\n\n", Code::bad_head});
    return out;
  }();
  return cases;
}

}  // namespace test
