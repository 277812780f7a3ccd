// The compiler of access log formats.

#include <algorithm>
#include <charconv>
#include <iterator>

#include "source/telemetry/access_log.h"
#include "source/telemetry/escape.h"

namespace telemetry {

namespace {

struct Operator {
  std::string_view name;
  AccessOperator op;
};

constexpr Operator kOperators[] = {
    {"START_TIME", AccessOperator::start_time},
    {"PROTOCOL", AccessOperator::protocol},
    {"REQ", AccessOperator::request_field},
    {"RESP", AccessOperator::response_field},
    {"RESPONSE_CODE", AccessOperator::response_code},
    {"RESPONSE_FLAGS", AccessOperator::response_flags},
    {"RESPONSE_CODE_DETAILS", AccessOperator::response_code_details},
    {"BYTES_RECEIVED", AccessOperator::bytes_received},
    {"BYTES_SENT", AccessOperator::bytes_sent},
    {"DURATION", AccessOperator::duration},
    {"RESPONSE_DURATION", AccessOperator::response_duration},
    {"DOWNSTREAM_REMOTE_ADDRESS", AccessOperator::downstream_remote_address},
    {"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT",
     AccessOperator::downstream_remote_address_without_port},
    {"DOWNSTREAM_LOCAL_ADDRESS", AccessOperator::downstream_local_address},
    {"UPSTREAM_HOST", AccessOperator::upstream_host},
    {"UPSTREAM_CLUSTER", AccessOperator::upstream_cluster},
    {"ROUTE_NAME", AccessOperator::route_name},
    {"VIRTUAL_HOST_NAME", AccessOperator::virtual_host_name},
    {"CONNECTION_ID", AccessOperator::connection_id},
    {"CACHE_STATUS", AccessOperator::cache_status},
    {"CACHE_NAME", AccessOperator::cache_name},
    {"CACHE_AGE", AccessOperator::cache_age},
    {"SHARD", AccessOperator::shard},
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
bool isAlnum(char c) {
  const char l = lower(c);
  return (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
}
bool isOperatorChar(char c) {
  return (c >= 'A' && c <= 'Z') || c == '_';
}
// RFC 9110 section 5.6.2.
bool isTokenChar(char c) {
  return isAlnum(c) ||
         (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

uint32_t editDistance(std::string_view a, std::string_view b) {
  std::vector<uint32_t> row(b.size() + 1);
  for (uint32_t j = 0; j <= b.size(); j++) {
    row[j] = j;
  }
  for (uint32_t i = 1; i <= a.size(); i++) {
    uint32_t diagonal = row[0];
    row[0] = i;
    for (uint32_t j = 1; j <= b.size(); j++) {
      const uint32_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

std::string unknownOperator(std::string_view name) {
  std::string message = "unknown operator %" + std::string(name.substr(0, 64)) + "%";
  if (name.size() > 64) {
    return message;
  }
  const Operator* nearest = nullptr;
  uint32_t least = 4;  // further away it is no likely slip
  for (const Operator& candidate : kOperators) {
    const uint32_t distance = editDistance(name, candidate.name);
    if (distance < least) {
      least = distance;
      nearest = &candidate;
    }
  }
  if (nearest != nullptr) {
    message += "; did you mean %" + std::string(nearest->name) + "%?";
  }
  return message;
}

}  // namespace

class FormatCompiler {
 public:
  using Step = AccessFormat::Step;
  using Member = AccessFormat::Member;

  FormatCompiler(std::string_view format, bool json) : format_(format), json_(json) {}

  std::optional<FormatError> run(std::vector<Step>& steps) {
    if (format_.size() > AccessFormat::kMax_format_bytes) {
      fail(AccessFormat::kMax_format_bytes, "the format is longer than 4096 bytes");
    }
    while (!error_ && at_ < format_.size()) {
      if (format_[at_] != '%') {
        literal_ += format_[at_++];
      } else if (at_ + 1 < format_.size() && format_[at_ + 1] == '%') {
        literal_ += '%';
        at_ += 2;
      } else {
        flushLiteral(steps);
        parseOperator(steps);
      }
    }
    flushLiteral(steps);
    return error_;
  }

  static std::optional<FormatError> compileMembers(
      std::vector<std::pair<std::string, std::string>> members, std::vector<Member>& out);

 private:
  void fail(size_t position, std::string message) {
    if (!error_) {
      error_ = FormatError{static_cast<uint32_t>(position), std::move(message), {}};
    }
  }
  void flushLiteral(std::vector<Step>& steps) {
    if (literal_.empty()) {
      return;
    }
    Step step;
    if (json_) {
      appendJsonEscaped(literal_, step.text);
    } else {
      step.text = literal_;
    }
    steps.push_back(std::move(step));
    literal_.clear();
  }
  bool at(char c) const { return at_ < format_.size() && format_[at_] == c; }
  void parseOperator(std::vector<Step>& steps);
  void parseArguments(Step& step, size_t start);
  void parseLimit(Step& step);
  std::string parseFieldName(bool request);

  std::string_view format_;
  bool json_;
  size_t at_ = 0;
  std::string literal_;
  std::optional<FormatError> error_;
};

void FormatCompiler::parseOperator(std::vector<Step>& steps) {
  const size_t start = at_++;
  const size_t begin = at_;
  while (at_ < format_.size() && isOperatorChar(format_[at_])) {
    at_++;
  }
  const std::string_view name = format_.substr(begin, at_ - begin);
  if (name.empty()) {
    fail(start, "a lone %; write %% for a per cent sign");
    return;
  }
  const auto* known =
      std::find_if(std::begin(kOperators), std::end(kOperators),
                   [name](const Operator& candidate) { return candidate.name == name; });
  if (known == std::end(kOperators)) {
    fail(start, unknownOperator(name));
    return;
  }
  Step step;
  step.op = known->op;
  const bool field =
      step.op == AccessOperator::request_field || step.op == AccessOperator::response_field;
  if (field) {
    parseArguments(step, start);
  } else if (at('(') || at(':')) {
    fail(at_, "%" + std::string(name) + "% takes no arguments");
  }
  if (error_) {
    return;
  }
  if (!at('%')) {
    fail(start, "the operator " + std::string(name) + " has no closing %");
    return;
  }
  at_++;
  steps.push_back(std::move(step));
}

// `(NAME)`, `(NAME?OTHER)`, then perhaps `:LIMIT`.
void FormatCompiler::parseArguments(Step& step, size_t start) {
  const bool request = step.op == AccessOperator::request_field;
  if (!at('(')) {
    fail(start, request ? "%REQ% needs a name, as in %REQ(USER-AGENT)%"
                        : "%RESP% needs a name, as in %RESP(CONTENT-TYPE)%");
    return;
  }
  at_++;
  step.text = parseFieldName(request);
  if (!error_ && at('?')) {
    at_++;
    step.fallback = parseFieldName(request);
  }
  if (error_) {
    return;
  }
  if (!at(')')) {
    fail(at_, "a field's name is followed by ) or ?");
    return;
  }
  at_++;
  if (at(':')) {
    at_++;
    parseLimit(step);
  }
}

void FormatCompiler::parseLimit(Step& step) {
  uint32_t limit = 0;
  const char* const begin = format_.data() + at_;
  const auto [end, error] = std::from_chars(begin, format_.data() + format_.size(), limit);
  if (error != std::errc() || limit == 0 || limit > 65536) {
    fail(at_, "a limit is a number from 1 to 65536");
    return;
  }
  step.limit = limit;
  at_ += static_cast<size_t>(end - begin);
}

std::string FormatCompiler::parseFieldName(bool request) {
  const size_t begin = at_;
  if (at(':')) {
    at_++;
  }
  // Neither % nor ? begins a likely name, and both end one here.
  while (at_ < format_.size() && isTokenChar(format_[at_]) && format_[at_] != '%') {
    at_++;
  }
  std::string name(format_.substr(begin, at_ - begin));
  std::transform(name.begin(), name.end(), name.begin(), lower);
  if (name.empty() || name == ":") {
    fail(begin, "a field's name is missing");
  } else if (name[0] == ':') {
    constexpr std::string_view kPseudo[] = {":method", ":path", ":authority", ":scheme"};
    if (!request || std::find(std::begin(kPseudo), std::end(kPseudo), name) == std::end(kPseudo)) {
      fail(begin, request ? "only :METHOD, :PATH, :AUTHORITY and :SCHEME begin with a colon"
                          : "a response has no fields that begin with a colon");
    }
  }
  return name;
}

std::optional<FormatError> FormatCompiler::compileMembers(
    std::vector<std::pair<std::string, std::string>> members, std::vector<Member>& out) {
  std::sort(members.begin(), members.end());
  for (size_t i = 0; i < members.size(); i++) {
    const std::string& name = members[i].first;
    if (i > 0 && name == members[i - 1].first) {
      return FormatError{0, "the member is there twice", name};
    }
    Member member;
    member.prefix = i == 0 ? "{\"" : ",\"";
    appendJsonEscaped(name, member.prefix);
    member.prefix += "\":";
    FormatCompiler compiler(members[i].second, true);
    std::optional<FormatError> error = compiler.run(member.steps);
    if (error) {
      error->member = name;
      return error;
    }
    out.push_back(std::move(member));
  }
  return std::nullopt;
}

std::optional<FormatError> AccessFormat::compileText(std::string_view format, AccessFormat& out) {
  AccessFormat made;
  made.members_.emplace_back();
  std::vector<Step>& steps = made.members_.front().steps;
  FormatCompiler compiler(format, false);
  if (std::optional<FormatError> error = compiler.run(steps)) {
    return error;
  }
  if (steps.empty() || steps.back().op != AccessOperator::literal) {
    steps.emplace_back();
  }
  if (!steps.back().text.ends_with('\n')) {
    steps.back().text += '\n';
  }
  out = std::move(made);
  return std::nullopt;
}

std::optional<FormatError> AccessFormat::compileJson(
    std::span<const std::pair<std::string, std::string>> members, AccessFormat& out) {
  if (members.empty()) {
    return FormatError{0, "a JSON format needs at least one member", {}};
  }
  if (members.size() > kMax_members) {
    return FormatError{0, "a JSON format has at most 64 members", {}};
  }
  AccessFormat made;
  made.json_ = true;
  if (std::optional<FormatError> error =
          FormatCompiler::compileMembers({members.begin(), members.end()}, made.members_)) {
    return error;
  }
  out = std::move(made);
  return std::nullopt;
}

}  // namespace telemetry
