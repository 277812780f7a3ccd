// Compiling formats of the access log.
#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "source/config/model/access_log.h"
#include "source/config/model/edit_distance.h"
#include "source/http/grammar.h"

namespace config {
namespace {

struct Operator {
  std::string_view name;
  LogField field;
  bool takes_header = false;
};
constexpr std::array kOperators = std::to_array<Operator>({
    {"START_TIME", LogField::start_time},
    {"PROTOCOL", LogField::protocol},
    {"REQ", LogField::request_header, true},
    {"RESP", LogField::response_header, true},
    {"RESPONSE_CODE", LogField::response_code},
    {"RESPONSE_FLAGS", LogField::response_flags},
    {"RESPONSE_CODE_DETAILS", LogField::response_code_details},
    {"BYTES_RECEIVED", LogField::bytes_received},
    {"BYTES_SENT", LogField::bytes_sent},
    {"DURATION", LogField::duration},
    {"RESPONSE_DURATION", LogField::response_duration},
    {"DOWNSTREAM_REMOTE_ADDRESS", LogField::downstream_remote_address},
    {"DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT", LogField::downstream_remote_ip},
    {"DOWNSTREAM_LOCAL_ADDRESS", LogField::downstream_local_address},
    {"UPSTREAM_HOST", LogField::upstream_host},
    {"UPSTREAM_CLUSTER", LogField::upstream_cluster},
    {"ROUTE_NAME", LogField::route_name},
    {"VIRTUAL_HOST_NAME", LogField::virtual_host_name},
    {"CONNECTION_ID", LogField::connection_id},
    {"CACHE_STATUS", LogField::cache_status},
    {"CACHE_NAME", LogField::cache_name},
    {"CACHE_AGE", LogField::cache_age},
    {"CACHE_DETAIL", LogField::cache_detail},
    {"SHARD", LogField::shard},
});

LogFormatProblem unknown(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Operator& known : kOperators) {
    names.push_back(known.name);
  }
  return {"has no command operator %" + std::string(name) + "%", std::string(nearest(name, names))};
}

struct Header {
  LogField field = LogField::literal;
  std::string name;
  http::Name id = http::Name::other;
};

// A header's name, or one of the pseudo-names of a request.
std::optional<Header> parseHeader(std::string_view name, LogField kind) {
  constexpr std::array kPseudo = std::to_array<std::pair<std::string_view, LogField>>({
      {":METHOD", LogField::method},
      {":PATH", LogField::path},
      {":AUTHORITY", LogField::authority},
      {":SCHEME", LogField::scheme},
  });
  for (const auto& [pseudo, field] : kPseudo) {
    if (kind == LogField::request_header && http::equalsIgnoreCase(name, pseudo)) {
      return Header{field, "", http::Name::other};
    }
  }
  if (!http::isToken(name)) {
    return std::nullopt;
  }
  return Header{kind, std::string(name), http::nameOf(name)};
}

// "NAME" or "NAME?OTHER", from between the parentheses.
std::optional<LogFormatProblem> parseHeaders(std::string_view text, LogField kind,
                                             LogPiece& piece) {
  const size_t mark = text.find('?');
  std::optional<Header> header = parseHeader(text.substr(0, mark), kind);
  std::optional<Header> other = Header{};
  if (mark != text.npos) {
    other = parseHeader(text.substr(mark + 1), kind);
  }
  if (!header.has_value() || !other.has_value()) {
    return LogFormatProblem{"names a header that cannot exist: `" + std::string(text) + "`", ""};
  }
  piece.field = header->field;
  piece.text = std::move(header->name);
  piece.id = header->id;
  piece.otherwise = other->field;
  piece.otherwise_text = std::move(other->name);
  piece.otherwise_id = other->id;
  return std::nullopt;
}

// One operator, from between its per cent signs: NAME, NAME(HEADERS), either followed by :LIMIT.
std::optional<LogFormatProblem> parseOperator(std::string_view text, LogPiece& piece) {
  const std::string_view name = text.substr(0, text.find_first_of("(:"));
  std::string_view rest = text.substr(name.size());
  const auto known =
      std::find_if(kOperators.begin(), kOperators.end(),
                   [name](const Operator& candidate) { return candidate.name == name; });
  if (known == kOperators.end()) {
    return unknown(name);
  }
  piece.field = known->field;
  const size_t closing = rest.find(')');
  if (rest.starts_with('(') != known->takes_header ||
      (known->takes_header && closing == rest.npos)) {
    const std::string usage = known->takes_header
                                  ? " needs a header, as in %" + std::string(name) + "(User-Agent)%"
                                  : " takes no header";
    return LogFormatProblem{"uses %" + std::string(name) + "% wrongly: it" + usage, ""};
  }
  if (known->takes_header) {
    if (auto problem = parseHeaders(rest.substr(1, closing - 1), known->field, piece)) {
      return problem;
    }
    rest.remove_prefix(closing + 1);
  }
  if (rest.empty()) {
    return std::nullopt;
  }
  const char* end = rest.data() + rest.size();
  const auto [stop, error] = std::from_chars(rest.data() + 1, end, piece.limit);
  if (rest.front() != ':' || error != std::errc() || stop != end || piece.limit == 0) {
    return LogFormatProblem{"has a wrong limit in %" + std::string(text) + "%", ""};
  }
  return std::nullopt;
}

// Appends a literal to the pieces, joining neighbours.
void addLiteral(std::string_view text, std::vector<LogPiece>& pieces) {
  if (pieces.empty() || pieces.back().field != LogField::literal) {
    pieces.emplace_back();
  }
  pieces.back().text.append(text);
}

std::optional<LogFormatProblem> compilePieces(std::string_view format, std::vector<LogPiece>& out) {
  if (format.size() > kMaxLogFormatBytes) {
    return LogFormatProblem{"is longer than " + std::to_string(kMaxLogFormatBytes) + " bytes", ""};
  }
  while (!format.empty()) {
    const size_t percent = std::min(format.find('%'), format.size());
    if (percent > 0) {
      addLiteral(format.substr(0, percent), out);
      format.remove_prefix(percent);
      continue;
    }
    const size_t closing = format.find('%', 1);
    if (closing == format.npos) {
      return LogFormatProblem{"has a `%` without its partner; write `%%` for a per cent sign",
                              "%%"};
    }
    if (closing == 1) {
      addLiteral("%", out);
    } else {
      LogPiece piece;
      if (auto problem = parseOperator(format.substr(1, closing - 1), piece)) {
        return problem;
      }
      out.push_back(std::move(piece));
    }
    format.remove_prefix(closing + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<LogFormatProblem> compileText(std::string_view format, AccessLogFormat& out) {
  out.pieces.clear();
  if (auto problem = compilePieces(format, out.pieces)) {
    return problem;
  }
  if (!format.ends_with('\n')) {
    addLiteral("\n", out.pieces);
  }
  return std::nullopt;
}

std::optional<LogFormatProblem> compileJson(
    const std::vector<std::pair<std::string, std::string>>& members, AccessLogFormat& out) {
  out.pieces.clear();
  addLiteral("{", out.pieces);
  bool first = true;
  for (const auto& [name, format] : members) {
    std::vector<LogPiece> value;
    if (auto problem = compilePieces(format, value)) {
      return LogFormatProblem{"`" + name + "` " + problem->message, problem->nearest};
    }
    const bool whole = value.size() == 1 && value.front().field != LogField::literal;
    std::string head(first ? "" : ",");
    appendJsonString(name, head);
    addLiteral(head.append(whole ? ":" : ":\""), out.pieces);
    for (LogPiece& piece : value) {
      piece.form = whole ? LogPiece::Form::json_value : LogPiece::Form::json_string;
      if (piece.field == LogField::literal) {
        std::string quoted;
        appendJsonString(piece.text, quoted);
        addLiteral(std::string_view(quoted).substr(1, quoted.size() - 2), out.pieces);
      } else {
        out.pieces.push_back(std::move(piece));
      }
    }
    if (!whole) {
      addLiteral("\"", out.pieces);
    }
    first = false;
  }
  addLiteral("}\n", out.pieces);
  return std::nullopt;
}

}  // namespace config
