// Structured field values (RFC 9651): a strict parser for items, lists and dictionaries, and the
// few serialisations that we send. Not for the path of a hit: results own their text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "source/http/head.h"

namespace http::structured {

struct Decimal {
  int64_t thousandths = 0;
  friend bool operator==(const Decimal&, const Decimal&) = default;
};
struct Token {
  std::string text;
  friend bool operator==(const Token&, const Token&) = default;
};
struct ByteSequence {
  std::string bytes;
  friend bool operator==(const ByteSequence&, const ByteSequence&) = default;
};
struct Date {
  int64_t s = 0;
  friend bool operator==(const Date&, const Date&) = default;
};
struct DisplayString {
  std::string text;  // UTF-8
  friend bool operator==(const DisplayString&, const DisplayString&) = default;
};
// std::string is the String type.
using BareItem =
    std::variant<bool, int64_t, Decimal, std::string, Token, ByteSequence, Date, DisplayString>;

struct Parameter {
  std::string key;
  BareItem value;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};
// Keys are unique; the last value of a key stands at its first place.
using Parameters = std::vector<Parameter>;
const BareItem* find(const Parameters& parameters, std::string_view key);

struct Item {
  BareItem value;
  Parameters parameters;
  friend bool operator==(const Item&, const Item&) = default;
};
struct InnerList {
  std::vector<Item> items;
  Parameters parameters;
  friend bool operator==(const InnerList&, const InnerList&) = default;
};
using Member = std::variant<Item, InnerList>;
using List = std::vector<Member>;

struct DictionaryMember {
  std::string key;
  Member value;
  friend bool operator==(const DictionaryMember&, const DictionaryMember&) = default;
};
// Keys are unique; the last value of a key stands at its first place.
using Dictionary = std::vector<DictionaryMember>;
const Member* find(const Dictionary& dictionary, std::string_view key);

// What one value may hold; more fails the whole field (RFC 9651 3.1 to 3.2 ask for at least these).
inline constexpr size_t kMaxMembers = 1024;
inline constexpr size_t kMaxInnerItems = 256;
inline constexpr size_t kMaxParameters = 256;

// nullopt: the whole field is to be ignored (RFC 9651 4.2). An empty text is an empty list or
// dictionary.
std::optional<Item> parseItem(std::string_view text);
std::optional<List> parseList(std::string_view text);
std::optional<Dictionary> parseDictionary(std::string_view text);

// All field lines of a name as one text, joined with ", " (RFC 9110 5.3). A view of the line itself
// when there is one, of buffer when there are more.
std::string_view joinLines(const Fields& fields, Name id, std::string& buffer);

// Serialisers: false, and nothing appended, for what the type cannot carry.
bool appendKey(std::string& out, std::string_view key);
bool appendToken(std::string& out, std::string_view token);
bool appendString(std::string& out, std::string_view text);
bool appendInteger(std::string& out, int64_t value);
// The text as a token when it is one, else as a string.
bool appendTokenOrString(std::string& out, std::string_view text);

}  // namespace http::structured
