#include "source/policy/vary.h"

#include <algorithm>
#include <array>
#include <optional>

#include "source/http/cookie.h"
#include "source/http/grammar.h"
#include "source/http/hop_by_hop.h"
#include "source/http/list.h"

namespace policy {
namespace {

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

void appendLower(std::string_view text, std::string& out) {
  std::transform(text.begin(), text.end(), std::back_inserter(out), lower);
}

enum class Form : uint8_t { list, verbatim, weighted };

// Fields whose commas and spaces are not a list's keep them: their values compare byte by byte.
Form formOf(http::Name id) {
  switch (id) {
    case http::Name::accept_encoding:
    case http::Name::accept_language:
      return Form::weighted;
    case http::Name::authorization:
    case http::Name::cookie:
    case http::Name::host:
    case http::Name::if_modified_since:
    case http::Name::if_range:
    case http::Name::if_unmodified_since:
    case http::Name::origin:
    case http::Name::referer:
    case http::Name::user_agent:
      return Form::verbatim;
    default:
      return Form::list;
  }
}

// Drops white space next to commas outside of quoted strings (RFC 9110 5.6.1.2), nothing else.
void appendListValue(std::string_view value, std::string& out) {
  const size_t begin = out.size();
  bool quoted = false;
  bool after_comma = true;
  for (size_t i = 0; i < value.size(); i++) {
    const char c = value[i];
    if (quoted) {
      out.push_back(c);
      if (c == '\\' && i + 1 < value.size()) {
        out.push_back(value[++i]);
      } else if (c == '"') {
        quoted = false;
      }
      continue;
    }
    if (after_comma && http::isOws(c)) {
      continue;
    }
    if (c == ',') {
      while (out.size() > begin && http::isOws(out.back())) {
        out.pop_back();
      }
    }
    after_comma = c == ',';
    quoted = c == '"';
    out.push_back(c);
  }
}

// One member of Accept-Language or Accept-Encoding: lower case, no white space, no weight of 1.
void appendMember(std::string_view member, std::string& out) {
  const size_t begin = out.size();
  for (const char c : member) {
    if (!http::isOws(c)) {
      out.push_back(lower(c));
    }
  }
  // The forms of a weight of 1 (RFC 9110 12.4.2).
  static constexpr std::array<std::string_view, 5> kFullWeight = {";q=1", ";q=1.", ";q=1.0",
                                                                  ";q=1.00", ";q=1.000"};
  const std::string_view written = std::string_view(out).substr(begin);
  for (const std::string_view weight : kFullWeight) {
    if (written.ends_with(weight)) {
      out.resize(out.size() - weight.size());
      return;
    }
  }
}

struct Slice {
  size_t at;
  size_t size;
};

class VariantWriter {
 public:
  VariantWriter(const http::Fields& request, std::string& out)
      : request_(request), hop_by_hop_(request), out_(out) {}

  void write(std::string_view name) {
    out_.push_back('\n');
    out_.append(name);
    if (name.starts_with(kCookieName)) {
      writeCookie(name.substr(kCookieName.size()));
      return;
    }
    const http::Name id = http::nameOf(name);
    const Form form = formOf(id);
    members_ = 0;
    sortable_ = true;
    bool present = false;
    size_t begin = 0;
    for (const http::Field& field : request_.all()) {
      if (!matches(field, id, name) || hop_by_hop_.covers(field)) {
        continue;
      }
      out_.append(present ? (form == Form::verbatim ? ", " : ",") : ": ");
      begin = present ? begin : out_.size();
      present = true;
      appendLine(field.value, form);
    }
    if (form == Form::weighted && present && sortable_) {
      sortMembers(begin);
    }
  }

 private:
  static bool matches(const http::Field& field, http::Name id, std::string_view name) {
    return id != http::Name::other ? field.id == id : http::equalsIgnoreCase(field.name, name);
  }

  void writeCookie(std::string_view cookie) {
    const http::Field* field = request_.find(http::Name::cookie);
    if (field == nullptr || hop_by_hop_.covers(*field)) {
      return;
    }
    if (const std::optional<std::string_view> value = http::findCookie(request_, cookie)) {
      out_.append(": ").append(*value);
    }
  }

  void appendLine(std::string_view value, Form form) {
    if (form == Form::verbatim) {
      out_.append(value);
    } else if (form == Form::list) {
      appendListValue(value, out_);
    } else {
      appendMembers(value);
    }
  }

  void appendMembers(std::string_view value) {
    http::ListReader reader(value);
    bool first = true;
    while (const std::optional<std::string_view> member = reader.next()) {
      if (!first) {
        out_.push_back(',');
      }
      first = false;
      const size_t at = out_.size();
      appendMember(*member, out_);
      if (members_ == kMaxSortedMembers) {
        sortable_ = false;
        continue;
      }
      slices_[members_++] = Slice{at, out_.size() - at};
    }
  }

  // Order among members says nothing (RFC 9110 12.5.3, 12.5.4: weights do). Writes the members in
  // order behind the ones there, then takes those away.
  void sortMembers(size_t begin) {
    const auto end = slices_.begin() + static_cast<std::ptrdiff_t>(members_);
    const std::string& text = out_;
    std::sort(slices_.begin(), end, [&text](const Slice& a, const Slice& b) {
      return text.compare(a.at, a.size, text, b.at, b.size) < 0;
    });
    const size_t sorted_at = out_.size();
    for (size_t i = 0; i < members_; i++) {
      const Slice slice = slices_[i];
      if (i > 0 && slice.size == slices_[i - 1].size &&
          out_.compare(slice.at, slice.size, out_, slices_[i - 1].at, slice.size) == 0) {
        continue;
      }
      if (out_.size() > sorted_at) {
        out_.push_back(',');
      }
      out_.append(out_, slice.at, slice.size);
    }
    out_.erase(begin, sorted_at - begin);
  }

  const http::Fields& request_;
  http::HopByHop hop_by_hop_;
  std::string& out_;
  std::array<Slice, kMaxSortedMembers> slices_;
  size_t members_ = 0;
  bool sortable_ = true;
};

}  // namespace

Vary parseVary(const http::Fields& response) {
  Vary vary;
  http::FieldList members(response, http::Name::vary);
  while (const std::optional<std::string_view> member = members.next()) {
    if (*member == "*" || !http::isToken(*member)) {
      return Vary{true, {}};
    }
    std::string name;
    appendLower(*member, name);
    const auto at = std::lower_bound(vary.names.begin(), vary.names.end(), name);
    if (at != vary.names.end() && *at == name) {
      continue;
    }
    if (vary.names.size() == kMaxVaryNames) {
      return Vary{true, {}};
    }
    vary.names.insert(at, std::move(name));
  }
  return vary;
}

void appendVariantKey(std::span<const std::string> names, const http::Fields& request,
                      std::string& key) {
  if (names.empty()) {
    return;
  }
  VariantWriter writer(request, key);
  for (const std::string& name : names) {
    writer.write(name);
  }
}

std::string joinVaryNames(std::span<const std::string> names) {
  std::string out;
  for (const std::string& name : names) {
    if (!out.empty()) {
      out.push_back(',');
    }
    out.append(name);
  }
  return out;
}

std::vector<std::string> splitVaryNames(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    names.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return names;
}

}  // namespace policy
