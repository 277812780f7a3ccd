#include "source/http/structured.h"

#include "source/http/grammar.h"
#include "source/http/structured_reader.h"

namespace http::structured {
namespace {

using internal::Reader;

constexpr int64_t kMaxInteger = 999'999'999'999'999;

// Overwrites in place, or appends.
template <class Entry, class Value>
void put(std::vector<Entry>& entries, std::string key, Value value) {
  for (Entry& entry : entries) {
    if (entry.key == key) {
      entry.value = std::move(value);
      return;
    }
  }
  entries.push_back(Entry{std::move(key), std::move(value)});
}

// RFC 9651 4.2.3.2
bool readParameters(Reader& in, Parameters& out) {
  while (in.take(';')) {
    in.skipSpaces();
    std::optional<std::string> key = in.key();
    if (!key.has_value()) {
      return false;
    }
    std::optional<BareItem> value = BareItem(true);
    if (in.take('=')) {
      value = in.bareItem();
    }
    if (!value.has_value()) {
      return false;
    }
    put(out, std::move(*key), std::move(*value));
    if (out.size() > kMaxParameters) {
      return false;
    }
  }
  return true;
}

// RFC 9651 4.2.3
std::optional<Item> readItem(Reader& in) {
  std::optional<BareItem> value = in.bareItem();
  if (!value.has_value()) {
    return std::nullopt;
  }
  Item item{std::move(*value), {}};
  return readParameters(in, item.parameters) ? std::optional<Item>(std::move(item)) : std::nullopt;
}

// RFC 9651 4.2.1.2, behind the parenthesis.
std::optional<InnerList> readInnerList(Reader& in) {
  InnerList out;
  while (true) {
    in.skipSpaces();
    if (in.take(')')) {
      return readParameters(in, out.parameters) ? std::optional<InnerList>(std::move(out))
                                                : std::nullopt;
    }
    std::optional<Item> item = readItem(in);
    if (!item.has_value() || out.items.size() == kMaxInnerItems ||
        (in.peek() != ' ' && in.peek() != ')')) {
      return std::nullopt;
    }
    out.items.push_back(std::move(*item));
  }
}

std::optional<Member> readMember(Reader& in) {
  if (in.take('(')) {
    std::optional<InnerList> list = readInnerList(in);
    return list.has_value() ? std::optional<Member>(std::move(*list)) : std::nullopt;
  }
  std::optional<Item> item = readItem(in);
  return item.has_value() ? std::optional<Member>(std::move(*item)) : std::nullopt;
}

// A dictionary's member behind its key: a value, or only parameters, which is true.
std::optional<Member> readDictionaryValue(Reader& in) {
  if (in.take('=')) {
    return readMember(in);
  }
  Item item{BareItem(true), {}};
  return readParameters(in, item.parameters) ? std::optional<Member>(std::move(item))
                                             : std::nullopt;
}

// What stands between two members, or the end. false when it is neither.
bool readSeparator(Reader& in, bool& end) {
  in.skipOws();
  end = in.atEnd();
  if (end) {
    return true;
  }
  if (!in.take(',')) {
    return false;
  }
  in.skipOws();
  return !in.atEnd();
}

bool isSerialisableString(std::string_view text) {
  for (const char c : text) {
    if (c < 0x20 || c == 0x7f) {
      return false;
    }
  }
  return true;
}

}  // namespace

const BareItem* find(const Parameters& parameters, std::string_view key) {
  for (const Parameter& parameter : parameters) {
    if (parameter.key == key) {
      return &parameter.value;
    }
  }
  return nullptr;
}

const Member* find(const Dictionary& dictionary, std::string_view key) {
  for (const DictionaryMember& member : dictionary) {
    if (member.key == key) {
      return &member.value;
    }
  }
  return nullptr;
}

std::optional<Item> parseItem(std::string_view text) {
  Reader in(text);
  in.skipSpaces();
  std::optional<Item> item = readItem(in);
  in.skipSpaces();
  return in.atEnd() ? std::move(item) : std::nullopt;
}

std::optional<List> parseList(std::string_view text) {
  Reader in(text);
  List out;
  in.skipSpaces();
  for (bool end = in.atEnd(); !end;) {
    std::optional<Member> member = readMember(in);
    if (!member.has_value() || out.size() == kMaxMembers || !readSeparator(in, end)) {
      return std::nullopt;
    }
    out.push_back(std::move(*member));
  }
  return out;
}

std::optional<Dictionary> parseDictionary(std::string_view text) {
  Reader in(text);
  Dictionary out;
  in.skipSpaces();
  for (bool end = in.atEnd(); !end;) {
    std::optional<std::string> key = in.key();
    if (!key.has_value()) {
      return std::nullopt;
    }
    std::optional<Member> value = readDictionaryValue(in);
    if (!value.has_value() || !readSeparator(in, end)) {
      return std::nullopt;
    }
    put(out, std::move(*key), std::move(*value));
    if (out.size() > kMaxMembers) {
      return std::nullopt;
    }
  }
  return out;
}

std::string_view joinLines(const Fields& fields, Name id, std::string& buffer) {
  if (fields.count(id) <= 1) {
    return fields.value(id);
  }
  buffer.clear();
  bool first = true;
  for (const Field& field : fields.all()) {
    if (field.id != id) {
      continue;
    }
    buffer.append(first ? "" : ", ");
    buffer.append(field.value);
    first = false;
  }
  return buffer;
}

bool appendKey(std::string& out, std::string_view key) {
  Reader in(key);
  const std::optional<std::string> read = in.key();
  if (!read.has_value() || !in.atEnd()) {
    return false;
  }
  out.append(key);
  return true;
}

bool appendToken(std::string& out, std::string_view token) {
  Reader in(token);
  const std::optional<std::string> read = in.token();
  if (!read.has_value() || !in.atEnd()) {
    return false;
  }
  out.append(token);
  return true;
}

bool appendString(std::string& out, std::string_view text) {
  if (!isSerialisableString(text)) {
    return false;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
    }
    out.push_back(c);
  }
  out.push_back('"');
  return true;
}

bool appendInteger(std::string& out, int64_t value) {
  if (value > kMaxInteger || value < -kMaxInteger) {
    return false;
  }
  out.append(std::to_string(value));
  return true;
}

bool appendTokenOrString(std::string& out, std::string_view text) {
  return appendToken(out, text) || appendString(out, text);
}

}  // namespace http::structured
