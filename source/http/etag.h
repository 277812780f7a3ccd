// Entity tags (RFC 9110 8.8.3) and the lists of them in If-Match and If-None-Match (RFC 9110 13.1).
#pragma once

#include <optional>
#include <string_view>

#include "source/http/head.h"

namespace http {

struct EntityTag {
  bool weak = false;
  std::string_view opaque;  // between the quotes
};

// nullopt unless the whole text is an entity-tag.
std::optional<EntityTag> parseEntityTag(std::string_view text);

inline bool strongMatch(const EntityTag& a, const EntityTag& b) {
  return !a.weak && !b.weak && a.opaque == b.opaque;
}
inline bool weakMatch(const EntityTag& a, const EntityTag& b) {
  return a.opaque == b.opaque;
}

// The tags of all field lines of a name, in order. Commas and backslashes within quotes belong to
// the tag.
class EntityTagList {
 public:
  EntityTagList(const Fields& fields, Name id);

  // The field is exactly "*".
  bool any() const { return any_; }
  // The next tag. An element that is no entity-tag is skipped up to the next comma and sets
  // malformed().
  std::optional<EntityTag> next();
  bool malformed() const { return malformed_; }

 private:
  bool nextLine();

  const Fields& fields_;
  Name id_;
  size_t line_ = 0;
  std::string_view rest_;
  bool any_ = false;
  bool malformed_ = false;
};

}  // namespace http
