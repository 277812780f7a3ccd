// Changes to heads.
#include <algorithm>
#include <array>
#include <utility>

#include "source/config/load/compile_parts.h"
#include "source/http/grammar.h"

namespace config {
namespace {

HeaderMutation::Kind kindOf(pb::HeaderValueOption::HeaderAppendAction action) {
  switch (action) {
    case pb::HeaderValueOption::ADD_IF_ABSENT:
      return HeaderMutation::Kind::add_if_absent;
    case pb::HeaderValueOption::OVERWRITE_IF_EXISTS_OR_ADD:
      return HeaderMutation::Kind::overwrite;
    case pb::HeaderValueOption::OVERWRITE_IF_EXISTS:
      return HeaderMutation::Kind::overwrite_if_exists;
    default:
      return HeaderMutation::Kind::append;
  }
}

// Fields that say where a message ends, whom it is for, or belong to one connection.
bool isReserved(http::Name id) {
  constexpr std::array kReserved = {
      http::Name::host,
      http::Name::content_length,
      http::Name::transfer_encoding,
      http::Name::connection,
      http::Name::keep_alive,
      http::Name::proxy_connection,
      http::Name::te,
      http::Name::trailer,
      http::Name::upgrade,
      http::Name::http2_settings,
      http::Name::expect,
  };
  return std::find(kReserved.begin(), kReserved.end(), id) != kReserved.end();
}

bool checkName(const Place& place, const std::string& name) {
  if (name.empty()) {
    place.missing();
    return false;
  }
  if (!http::isToken(name) || name.size() > kMaxHeaderNameBytes) {
    const std::string bare = name.substr(0, name.find_first_of(": "));
    place.error("`" + name.substr(0, 80) + "` cannot be a header's name",
                http::isToken(bare) ? bare.substr(0, kMaxHeaderNameBytes) : "");
    return false;
  }
  const http::Name id = http::nameOf(name);
  if (isReserved(id)) {
    place.error("`" + name + "` frames the message or belongs to one connection" +
                (id == http::Name::host ? "; see host_rewrite_literal" : ""));
    return false;
  }
  return true;
}

// The value with "%%" as a per cent sign and no white space around it; nullopt after reporting.
std::optional<std::string> compileValue(const Place& place, const std::string& text) {
  if (text.size() > kMaxHeaderValueBytes || !http::isFieldValue(text)) {
    place.error("a header's value has at most " + std::to_string(kMaxHeaderValueBytes) +
                " bytes and no control characters");
    return std::nullopt;
  }
  std::string value;
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '%') {
      if (i + 1 == text.size() || text[i + 1] != '%') {
        std::string doubled;
        for (const char c : text) {
          doubled.append(c == '%' ? 2 : 1, c);
        }
        place.error("values are not substituted here; write `%%` for a per cent sign", doubled);
        return std::nullopt;
      }
      i++;
    }
    value.push_back(text[i]);
  }
  return std::string(http::trimOws(value));
}

}  // namespace

void compileHeaders(const Place& place, const HeaderChanges& from,
                    std::vector<HeaderMutation>& out) {
  const int removed = countWithin(place[from.remove_field], from.remove.size(), kMaxHeaderChanges);
  for (int i = 0; i < removed; i++) {
    const std::string& name = from.remove[i];
    if (checkName(place[from.remove_field][i], name)) {
      out.push_back({HeaderMutation::Kind::remove, http::nameOf(name), name, ""});
    }
  }
  const int added = countWithin(place[from.add_field], from.add.size(), kMaxHeaderChanges);
  for (int i = 0; i < added; i++) {
    const pb::HeaderValueOption& option = from.add[i];
    const Place header = place[from.add_field][i]["header"];
    if (!option.has_header()) {
      header.missing();
      continue;
    }
    const std::string& name = option.header().key();
    const bool named = checkName(header["key"], name);
    std::optional<std::string> value = compileValue(header["value"], option.header().value());
    if (named && value.has_value()) {
      out.push_back({kindOf(option.append_action()), http::nameOf(name), name, std::move(*value)});
    }
  }
}

}  // namespace config
