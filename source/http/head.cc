#include "source/http/head.h"

#include "source/http/grammar.h"
#include "source/http/name_table.h"

namespace http {

Name nameOf(std::string_view text) {
  if (!isToken(text)) {
    return Name::other;
  }
  const internal::Readable in{text.data(), text.data() + text.size()};
  return internal::nameOfToken(text.data(), text.size(), internal::load16(text.data(), in), in);
}

std::string_view spelling(Name name) {
  return internal::kSpellings[static_cast<size_t>(name)];
}

bool equalsIgnoreCase(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); i++) {
    if (toLower(a[i]) != toLower(b[i])) {
      return false;
    }
  }
  return true;
}

void Fields::clear() {
  all_.clear();
  first_.fill(0);
}

const Field* Fields::find(std::string_view name) const {
  const Name id = nameOf(name);
  if (id != Name::other) {
    return find(id);
  }
  for (const Field& field : all_) {
    if (field.id == Name::other && equalsIgnoreCase(field.name, name)) {
      return &field;
    }
  }
  return nullptr;
}

size_t Fields::count(Name id) const {
  const Field* field = find(id);
  if (field == nullptr) {
    return 0;
  }
  size_t found = 0;
  for (const Field* end = all_.data() + all_.size(); field != end; field++) {
    found += field->id == id ? 1 : 0;
  }
  return found;
}

}  // namespace http
