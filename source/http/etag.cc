#include "source/http/etag.h"

#include "source/http/grammar.h"

namespace http {
namespace {

// etagc: visible characters but the quote, and obs-text.
bool isTagChar(char c) {
  const uint8_t byte = static_cast<uint8_t>(c);
  return byte > 0x20 && byte != '"' && byte != 0x7f;
}

// The entity-tag at the beginning of text; size is what it takes. nullopt when there is none.
std::optional<EntityTag> readTag(std::string_view text, size_t& size) {
  EntityTag tag;
  size = 0;
  if (text.starts_with("W/")) {
    tag.weak = true;
    size = 2;
  }
  if (size == text.size() || text[size] != '"') {
    return std::nullopt;
  }
  const size_t first = ++size;
  while (size < text.size() && isTagChar(text[size])) {
    size++;
  }
  if (size == text.size() || text[size] != '"') {
    return std::nullopt;
  }
  tag.opaque = text.substr(first, size - first);
  size++;
  return tag;
}

}  // namespace

std::optional<EntityTag> parseEntityTag(std::string_view text) {
  size_t size = 0;
  const std::optional<EntityTag> tag = readTag(text, size);
  return tag.has_value() && size == text.size() ? tag : std::nullopt;
}

EntityTagList::EntityTagList(const Fields& fields, Name id) : fields_(fields), id_(id) {
  const Field* const first = fields.find(id);
  if (first == nullptr) {
    line_ = fields.size();
    return;
  }
  line_ = static_cast<size_t>(first - fields.all().data());
  rest_ = first->value;
  if (rest_ == "*" && fields.count(id) == 1) {
    any_ = true;
    rest_ = {};
  }
}

bool EntityTagList::nextLine() {
  for (line_++; line_ < fields_.size(); line_++) {
    if (fields_.all()[line_].id == id_) {
      rest_ = fields_.all()[line_].value;
      return true;
    }
  }
  return false;
}

std::optional<EntityTag> EntityTagList::next() {
  while (line_ < fields_.size()) {
    while (!rest_.empty() && (isOws(rest_.front()) || rest_.front() == ',')) {
      rest_.remove_prefix(1);
    }
    if (rest_.empty()) {
      if (!nextLine()) {
        return std::nullopt;
      }
      continue;
    }
    size_t size = 0;
    const std::optional<EntityTag> tag = readTag(rest_, size);
    size_t end = size;
    while (end < rest_.size() && isOws(rest_[end])) {
      end++;
    }
    if (tag.has_value() && (end == rest_.size() || rest_[end] == ',')) {
      rest_.remove_prefix(end);
      return tag;
    }
    malformed_ = true;
    const size_t comma = rest_.find(',');
    rest_ = comma == rest_.npos ? std::string_view() : rest_.substr(comma);
  }
  return std::nullopt;
}

}  // namespace http
