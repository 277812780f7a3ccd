#include "source/admin/arguments.h"

#include "source/telemetry/escape.h"

namespace admin {
namespace {

constexpr size_t kQuoted_bytes = 80;

int hexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// nullopt, or the bytes that are wrong.
std::optional<std::string_view> decode(std::string_view text, Arguments::Source source,
                                       std::string& out) {
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); i++) {
    if (text[i] == '+' && source == Arguments::Source::form) {
      out += ' ';
      continue;
    }
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 1 < text.size() ? hexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return text.substr(i, 3);
    }
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Arguments::append(std::string_view text, Source source) {
  while (!text.empty()) {
    const size_t ampersand = text.find('&');
    const std::string_view piece = text.substr(0, ampersand);
    text.remove_prefix(ampersand == std::string_view::npos ? text.size() : ampersand + 1);
    if (piece.empty()) {
      continue;
    }
    if (all_.size() == kMax) {
      return "more than " + std::to_string(kMax) + " parameters";
    }
    const size_t equals = piece.find('=');
    Argument argument;
    argument.has_value = equals != std::string_view::npos;
    const std::string_view name = piece.substr(0, equals);
    if (const auto wrong = decode(name, source, argument.name)) {
      return "parameter name " + inTicks(name) + ": " + inTicks(*wrong) +
             " is not a percent-encoded byte (a percent sign itself is written %25)";
    }
    if (argument.name.empty()) {
      return "parameter without a name: " + inTicks(piece);
    }
    if (argument.has_value) {
      if (const auto wrong = decode(piece.substr(equals + 1), source, argument.value)) {
        return "parameter " + inTicks(argument.name) + ": " + inTicks(*wrong) +
               " is not a percent-encoded byte (a percent sign itself is written %25)";
      }
    }
    all_.push_back(std::move(argument));
  }
  return std::nullopt;
}

const Arguments::Argument* Arguments::find(std::string_view name) const {
  for (const Argument& argument : all_) {
    if (argument.name == name) {
      return &argument;
    }
  }
  return nullptr;
}

std::string_view Arguments::value(std::string_view name, std::string_view otherwise) const {
  const Argument* argument = find(name);
  return argument == nullptr ? otherwise : std::string_view(argument->value);
}

bool Arguments::flag(std::string_view name) const {
  const Argument* argument = find(name);
  return argument != nullptr &&
         (argument->value.empty() || argument->value == "1" || argument->value == "true");
}

std::string inTicks(std::string_view text) {
  std::string out = "`";
  const std::string_view cut = telemetry::cutUtf8(text, kQuoted_bytes);
  telemetry::appendControlEscaped(cut, out);
  out += cut.size() < text.size() ? "...`" : "`";
  return out;
}

}  // namespace admin
