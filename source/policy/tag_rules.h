// Which response fields carry an object's tags, and how; compiled from ringfence.config.v1.Tags.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace policy {

enum class TagSeparator : uint8_t {
  space,  // any run of spaces and tabs: Surrogate-Key
  comma,  // with optional white space around it: Cache-Tag
};

struct TagField {
  std::string name;  // compared without regard to case
  TagSeparator separator = TagSeparator::space;
  friend bool operator==(const TagField&, const TagField&) = default;
};

struct TagRules {
  std::vector<TagField> fields;
  bool strip = false;  // clients do not get to see them
  friend bool operator==(const TagRules&, const TagRules&) = default;
};

}  // namespace policy
