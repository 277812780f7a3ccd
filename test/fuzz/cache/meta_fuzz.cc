// Fuzzes what is kept with stored responses. Goal: any bytes give nothing or views that lie inside
// them, and what was accepted is encoded to the same meaning again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "source/base/check.h"
#include "source/cache/object.h"
#include "source/cache/slices.h"

namespace {

bool inside(std::string_view part, std::span<const std::byte> whole) {
  const auto* begin = reinterpret_cast<const char*>(whole.data());
  return part.data() >= begin && part.data() + part.size() <= begin + whole.size();
}

void fuzzMeta(std::span<const std::byte> bytes) {
  const std::optional<cache::StoredHead> head = cache::decodeMeta(bytes);
  if (!head.has_value()) {
    return;
  }
  CHECK(inside(head->text, bytes));
  CHECK(head->status >= 100 && head->status <= 999);
  CHECK(head->open().size() + 2 == head->text.size());
  std::vector<std::byte> again;
  cache::encodeMeta(*head, again);
  const std::optional<cache::StoredHead> same = cache::decodeMeta(again);
  CHECK(same.has_value());
  CHECK(same->status == head->status && same->text == head->text);
  CHECK(same->times == head->times && same->received_s == head->received_s);
  CHECK(same->length_in_head == head->length_in_head);
}

void fuzzRule(std::span<const std::byte> bytes) {
  const std::optional<cache::VaryRule> rule = cache::decodeVaryRule(bytes);
  if (!rule.has_value()) {
    return;
  }
  std::vector<std::byte> again;
  cache::encodeVaryRule(*rule, again);
  CHECK(again.size() == bytes.size());
  const std::optional<cache::VaryRule> same = cache::decodeVaryRule(again);
  CHECK(same.has_value() && same->id == rule->id && same->names == rule->names);
  // Names of any bytes make a key all the same.
  const http::Fields none;
  std::string key;
  cache::appendVariant(*rule, none, key);
  CHECK(key.starts_with('\n'));
}

void fuzzSlices(std::span<const std::byte> bytes) {
  const std::optional<cache::SliceTable> table = cache::decodeSliceTable(bytes);
  if (!table.has_value()) {
    return;
  }
  const std::vector<std::byte> again = cache::encodeSliceTable(*table);
  CHECK(std::ranges::equal(again, bytes));
  const policy::SliceLayout& layout = table->layout;
  const uint64_t last = layout.indexOf(layout.length - 1);
  CHECK(last > 0 && layout.rangeOf(last).last == layout.length - 1);
  CHECK(cache::isBlockKey(cache::blockKey("k", table->id, last)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  fuzzMeta(bytes);
  fuzzRule(bytes);
  fuzzSlices(bytes);
  return 0;
}
