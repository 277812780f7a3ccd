#include "source/cache/object.h"

#include <array>
#include <cstring>

#include "source/http/date.h"
#include "source/http/serialize.h"
#include "source/policy/search.h"
#include "source/policy/vary.h"

namespace cache {
namespace {

constexpr std::string_view kBlankLine = "\r\n\r\n";
constexpr size_t kLine_bytes = 4;          // of a field, besides name and value
constexpr size_t kUsualLines_bytes = 160;  // status line, Date, Content-Length, blank line

// As it lies on the disk.
struct VaryHeader {
  uint16_t version = kMetaVersion;
  uint16_t reserved = 0;
  uint32_t names_bytes = 0;
  uint64_t id = 0;
};
static_assert(sizeof(VaryHeader) == 16);

template <class T>
void put(const T& value, std::vector<std::byte>& out) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

void putText(std::string_view text, std::vector<std::byte>& out) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

std::string_view textOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::optional<StoredHead> decodeMeta(std::span<const std::byte> meta) {
  MetaHeader header;
  if (meta.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, meta.data(), sizeof header);
  const bool sliced = header.version == kSlicedMetaVersion;
  if ((header.version != kMetaVersion && !sliced) ||
      uint64_t{header.head_bytes} + header.tags_bytes != meta.size() - sizeof header ||
      header.status < 100 || header.status > 999) {
    return std::nullopt;
  }
  StoredHead head;
  head.status = header.status;
  head.length_in_head = (header.flags & kLengthInHead) != 0;
  head.recoded = (header.flags & kRecoded) != 0;
  head.weakened = (header.flags & kWeakened) != 0;
  head.sliced = sliced;
  head.times = header.times;
  head.traits = header.traits;
  head.received_s = header.received_s;
  head.text = textOf(meta.subspan(sizeof header, header.head_bytes));
  head.tags = textOf(meta.subspan(sizeof header + header.head_bytes));
  if (!head.text.ends_with(kBlankLine)) {
    return std::nullopt;
  }
  return head;
}

void encodeMeta(const StoredHead& head, std::vector<std::byte>& out) {
  MetaHeader header;
  header.version = head.sliced ? kSlicedMetaVersion : kMetaVersion;
  header.status = head.status;
  header.flags = (head.length_in_head ? kLengthInHead : 0) | (head.recoded ? kRecoded : 0) |
                 (head.weakened ? kWeakened : 0);
  header.times = head.times;
  header.traits = head.traits;
  header.received_s = head.received_s;
  header.head_bytes = static_cast<uint32_t>(head.text.size());
  header.tags_bytes = static_cast<uint32_t>(head.tags.size());
  out.clear();
  put(header, out);
  putText(head.text, out);
  putText(head.tags, out);
}

HeadText makeHeadText(const http::ResponseHead& response, const policy::StoredFields& kept,
                      std::optional<uint64_t> length, base::UnixSeconds now) {
  HeadText head;
  size_t bytes = kUsualLines_bytes;
  for (const http::Field& field : response.fields.all()) {
    bytes += field.name.size() + field.value.size() + kLine_bytes;
  }
  head.text.reserve(bytes);
  http::appendStatusLine(head.text, response.status, response.reason);
  for (const http::Field& field : response.fields.all()) {
    if (field.id != http::Name::content_length && field.id != http::Name::cache_status &&
        kept.keeps(field)) {
      http::appendField(head.text, field.name, field.value);
    }
  }
  if (!response.fields.has(http::Name::date)) {
    std::array<char, http::kDateSize> date;
    http::formatDate(now, date);
    http::appendField(head.text, http::Name::date, std::string_view(date.data(), date.size()));
  }
  if (length.has_value()) {
    http::appendField(head.text, http::Name::content_length, *length);
    head.has_length = true;
  }
  http::appendHeadEnd(head.text);
  return head;
}

std::optional<VaryRule> decodeVaryRule(std::span<const std::byte> meta) {
  VaryHeader header;
  if (meta.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, meta.data(), sizeof header);
  if (header.version != kMetaVersion || header.names_bytes != meta.size() - sizeof header) {
    return std::nullopt;
  }
  return VaryRule{header.id, std::string(textOf(meta.subspan(sizeof header)))};
}

void encodeVaryRule(const VaryRule& rule, std::vector<std::byte>& out) {
  VaryHeader header;
  header.names_bytes = static_cast<uint32_t>(rule.names.size());
  header.id = rule.id;
  out.clear();
  put(header, out);
  putText(rule.names, out);
}

void appendVariant(const VaryRule& rule, const http::Fields& request, std::string& key) {
  std::array<char, http::kDecimalSize> digits;
  key.push_back('\n');
  key.append(http::writeDecimal(rule.id, digits));
  const std::vector<std::string> names = policy::splitVaryNames(rule.names);
  policy::appendVariantKey(names, request, key);
}

std::string_view pathOfKey(std::string_view key) {
  return key.substr(0, key.find('?'));
}

std::string searchRuleKey(std::string_view key) {
  return std::string(pathOfKey(key)).append("\n?");
}

std::string searchKey(const VaryRule& rule, std::string_view key) {
  const std::string_view path = pathOfKey(key);
  const std::string_view query = key.substr(std::min(path.size() + 1, key.size()));
  std::string out(path);
  policy::appendCanonicalQuery(rule.names, query, out);
  std::array<char, http::kDecimalSize> digits;
  out.append("\n?").append(http::writeDecimal(rule.id, digits));
  return out;
}

}  // namespace cache
