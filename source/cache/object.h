// What is kept with a stored response besides its body: the `meta` of its record. A head ready to
// be sent, and the numbers that decide its reuse.
//
//   MetaHeader | head text: status line, fields, blank line (no Age, no hop-by-hop fields) | tags,
//   joined by line feeds
//
// A vary rule's meta is VaryHeader | names joined by ",". Its id is part of every variant's key, so
// that variants stored under a rule that has gone cannot be found under the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/http/head.h"
#include "source/policy/response.h"
#include "source/policy/times.h"

namespace cache {

inline constexpr uint16_t kMetaVersion = 2;
// Of an object whose body is a table of slices (slices.h): a program that does not know them finds
// nothing.
inline constexpr uint16_t kSlicedMetaVersion = 3;

// As it lies on the disk.
struct MetaHeader {
  uint16_t version = kMetaVersion;
  uint16_t status = 0;
  uint32_t flags = 0;
  policy::Times times;
  policy::Traits traits;
  uint32_t received_s = 0;
  uint32_t head_bytes = 0;
  uint32_t tags_bytes = 0;
};
static_assert(sizeof(MetaHeader) == 40);

// Bits of MetaHeader::flags.
inline constexpr uint32_t kLengthInHead = 1;  // the head text has Content-Length
inline constexpr uint32_t kRecoded = 2;       // the body was compressed or decompressed here
inline constexpr uint32_t kWeakened = 4;      // the entity tag is the origin's with W/ before it

// Views into a record's meta.
struct StoredHead {
  uint16_t status = 0;
  bool length_in_head = false;
  bool recoded = false;
  bool weakened = false;
  bool sliced = false;  // the body is a table of slices
  policy::Times times;
  policy::Traits traits;
  uint32_t received_s = 0;
  std::string_view text;  // with the blank line
  std::string_view tags;  // joined by line feeds; they may have been kept from the text

  // The text without its blank line, to which a sender appends more fields.
  std::string_view open() const { return text.substr(0, text.size() - 2); }
};

// nullopt unless the meta is whole and of this version (the record's checksum was right: another
// program version wrote it).
std::optional<StoredHead> decodeMeta(std::span<const std::byte> meta);
void encodeMeta(const StoredHead& head, std::vector<std::byte>& out);

// The head text as it will be stored and sent: the response's status line and the fields that
// `kept` keeps. Content-Length is written only when `length` is known; Date is added when the
// origin sent none.
struct HeadText {
  std::string text;
  bool has_length = false;
};
HeadText makeHeadText(const http::ResponseHead& response, const policy::StoredFields& kept,
                      std::optional<uint64_t> length, base::UnixSeconds now);

struct VaryRule {
  uint64_t id = 0;
  std::string names;  // policy::joinVaryNames
};
std::optional<VaryRule> decodeVaryRule(std::span<const std::byte> meta);
void encodeVaryRule(const VaryRule& rule, std::vector<std::byte>& out);

// Appends to a primary key what makes it the key of this request's variant.
void appendVariant(const VaryRule& rule, const http::Fields& request, std::string& key);

// Behind an object's key: that of the first bytes of one that did not come whole. No key of a
// request ends so, since none has a line feed.
inline constexpr std::string_view kPartialMark = "\n%";

// Where a route heeds No-Vary-Search (policy/search.h), the variance of a path's latest response is
// kept as a rule, whose `names` are its text. All queries of the path that are equivalent under it
// share a key, which has the rule's id, so that what was stored under another rule is not found.
std::string_view pathOfKey(std::string_view key);  // without the query
std::string searchRuleKey(std::string_view key);   // of the rule of the key's path
std::string searchKey(const VaryRule& rule, std::string_view key);

}  // namespace cache
