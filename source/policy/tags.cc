#include "source/policy/tags.h"

#include <algorithm>

#include "source/http/grammar.h"

namespace policy {
namespace {

constexpr std::string_view kBlank = " \t";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlank) + 1 - first);
}

void split(std::string_view value, TagSeparator separator, std::vector<std::string_view>& out) {
  const std::string_view at = separator == TagSeparator::comma ? std::string_view(",") : kBlank;
  while (!value.empty()) {
    const size_t end = std::min(value.find_first_of(at), value.size());
    const std::string_view tag = trimmed(value.substr(0, end));
    if (!tag.empty()) {
      out.push_back(tag);
    }
    value.remove_prefix(std::min(end + 1, value.size()));
  }
}

const TagField* tagField(const http::Field& field, const TagRules& rules) {
  for (const TagField& rule : rules.fields) {
    if (http::equalsIgnoreCase(rule.name, field.name)) {
      return &rule;
    }
  }
  return nullptr;
}

}  // namespace

bool isTagField(const http::Field& field, const TagRules& rules) {
  return tagField(field, rules) != nullptr;
}

void hideTagFields(const TagRules& rules, std::vector<std::string>& names) {
  if (!rules.strip) {
    return;
  }
  for (const TagField& field : rules.fields) {
    names.push_back(field.name);
  }
}

bool hasTagFields(const http::Fields& response, const TagRules& rules) {
  const auto& all = response.all();
  return std::any_of(all.begin(), all.end(),
                     [&rules](const http::Field& field) { return isTagField(field, rules); });
}

bool tagsOf(const http::Fields& response, const TagRules& rules,
            std::vector<std::string_view>& out) {
  out.clear();
  for (const http::Field& field : response.all()) {
    if (const TagField* rule = tagField(field, rules)) {
      split(field.value, rule->separator, out);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out.size() <= kMaxTags;
}

}  // namespace policy
