#include "source/config/load/proto_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/duration.pb.h>

#include <array>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "source/base/check.h"
#include "source/config/load/field_hints.h"
#include "source/config/load/scalar.h"
#include "source/config/model/edit_distance.h"
#include "source/http/head.h"

namespace config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Kind = YamlNode::Kind;

std::string join(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

std::string element(const std::string& path, size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string_view kindName(const YamlNode& node) {
  switch (node.kind) {
    case Kind::null:
      return "nothing";
    case Kind::sequence:
      return "a list";
    case Kind::map:
      return "a map";
    case Kind::scalar:
      break;
  }
  if (node.quoted) {
    return "a string";
  }
  switch (plainType(node.text)) {
    case PlainType::boolean:
      return "a boolean";
    case PlainType::number:
      return "a number";
    case PlainType::text:
      break;
  }
  return "a string";
}

// Long values are cut in messages.
std::string shown(const YamlNode& node) {
  constexpr size_t kMaxShown = 40;
  if (node.kind != Kind::scalar) {
    return std::string(kindName(node));
  }
  const bool cut = node.text.size() > kMaxShown;
  return "`" + node.text.substr(0, kMaxShown) + (cut ? "..." : "") + "`";
}

class Reader {
 public:
  Reader(const YamlTree& tree, std::string_view file, Reporter& reporter)
      : tree_(tree), file_(file), reporter_(reporter) {}

  void message(const YamlNode& node, const std::string& path, Message& out);

 private:
  // A key of a map with its value; the keys of a merged map (<<) come last.
  struct Entry {
    const YamlNode* key;
    const YamlNode* value;
    bool merged;
  };
  struct Seen {
    const FieldDescriptor* field;
    const Entry* entry;
  };

  const YamlNode& node(uint32_t index) const { return tree_.nodes[index]; }
  Position at(const YamlNode& node) const { return {file_, node.line, node.column}; }
  void error(const YamlNode& node, const std::string& path, std::string message,
             std::string suggestion = "") {
    reporter_.markBroken(path);
    reporter_.error(at(node), path, std::move(message), std::move(suggestion));
  }

  std::vector<Entry> entries(const YamlNode& map, const std::string& path);
  void addMerged(const YamlNode& value, const std::string& path, std::vector<Entry>& out);
  const FieldDescriptor* resolve(const Entry& entry, const Descriptor& type,
                                 const std::string& path);
  bool isRepetition(const Entry& entry, const FieldDescriptor& field, const std::vector<Seen>& seen,
                    const std::string& path);

  void field(const Entry& entry, const std::string& path, Message& out,
             const FieldDescriptor& field);
  void list(const YamlNode& value, const std::string& path, Message& out,
            const FieldDescriptor& field);
  void textMap(const YamlNode& value, const std::string& path, Message& out,
               const FieldDescriptor& field);
  // Sets or, for a repeated field, adds one value.
  void single(const YamlNode& value, const std::string& path, Message& out,
              const FieldDescriptor& field);
  void duration(const YamlNode& value, const std::string& path, google::protobuf::Duration& out);
  void scalar(const YamlNode& value, const std::string& path, Message& out,
              const FieldDescriptor& field);
  std::optional<bool> boolean(const YamlNode& value, const std::string& path);
  std::optional<std::string> string(const YamlNode& value, const std::string& path);
  std::optional<int> enumerator(const YamlNode& value, const std::string& path,
                                const EnumDescriptor& type);
  // A whole number within [low, high].
  std::optional<uint64_t> unsignedNumber(const YamlNode& value, const std::string& path,
                                         const FieldDescriptor& field, uint64_t high);

  const YamlTree& tree_;
  std::string_view file_;
  Reporter& reporter_;
};

std::vector<Reader::Entry> Reader::entries(const YamlNode& map, const std::string& path) {
  std::vector<Entry> own;
  std::vector<Entry> merged;
  for (size_t i = 0; i + 1 < map.items.size(); i += 2) {
    const YamlNode& key = node(map.items[i]);
    const YamlNode& value = node(map.items[i + 1]);
    if (key.kind != Kind::scalar) {
      error(key, path, "a key must be a name, not " + std::string(kindName(key)));
    } else if (!key.quoted && key.text == "<<") {
      addMerged(value, path, merged);
    } else if (!key.ignored) {
      own.push_back({&key, &value, false});
    }
  }
  own.insert(own.end(), merged.begin(), merged.end());
  return own;
}

// The value of "<<": a map, or a list of maps of which the earlier win.
void Reader::addMerged(const YamlNode& value, const std::string& path, std::vector<Entry>& out) {
  if (value.kind == Kind::sequence) {
    for (const uint32_t item : value.items) {
      addMerged(node(item), path, out);
    }
    return;
  }
  if (value.kind != Kind::map) {
    error(value, path, "`<<` merges a map or a list of maps, not " + std::string(kindName(value)));
    return;
  }
  for (Entry entry : entries(value, path)) {
    entry.merged = true;
    out.push_back(entry);
  }
}

const FieldDescriptor* Reader::resolve(const Entry& entry, const Descriptor& type,
                                       const std::string& path) {
  const std::string& name = entry.key->text;
  const FieldDescriptor* field = type.FindFieldByName(name);
  if (field == nullptr) {
    field = type.FindFieldByCamelcaseName(name);
  }
  if (field == nullptr) {
    // Thousands of them are not worth thousands of searches for what was meant.
    FieldHint hint = reporter_.full() ? FieldHint{} : hintForUnknown(name, type);
    error(*entry.key, join(path, name), std::move(hint.message), std::move(hint.suggestion));
  }
  return field;
}

// Whether the field, or another of its oneof, was given before. That is an error unless one of the
// two comes from a merged map.
bool Reader::isRepetition(const Entry& entry, const FieldDescriptor& field,
                          const std::vector<Seen>& seen, const std::string& path) {
  for (const Seen& earlier : seen) {
    const bool same = earlier.field == &field;
    const bool rival = field.real_containing_oneof() != nullptr &&
                       earlier.field->real_containing_oneof() == field.real_containing_oneof();
    if (!same && !rival) {
      continue;
    }
    if (entry.merged) {
      return true;
    }
    const std::string where = " on line " + std::to_string(earlier.entry->key->line);
    error(*entry.key, join(path, field.name()),
          same ? "is given twice; the first is" + where
               : "cannot stand beside `" + earlier.field->name() + "`" + where);
    return true;
  }
  return false;
}

void Reader::message(const YamlNode& map, const std::string& path, Message& out) {
  if (map.kind == Kind::null) {
    return;
  }
  if (map.kind != Kind::map) {
    error(
        map, path,
        "expected a map with the fields of " + out.GetDescriptor()->name() + ", not " + shown(map));
    return;
  }
  std::vector<Seen> seen;
  const std::vector<Entry> all = entries(map, path);
  for (const Entry& entry : all) {
    const FieldDescriptor* found = resolve(entry, *out.GetDescriptor(), path);
    if (found == nullptr || entry.value->kind == Kind::null ||
        isRepetition(entry, *found, seen, path)) {
      continue;
    }
    seen.push_back({found, &entry});
    field(entry, join(path, found->name()), out, *found);
  }
}

void Reader::field(const Entry& entry, const std::string& path, Message& out,
                   const FieldDescriptor& field) {
  reporter_.positions().set(path, at(*entry.value));
  if (field.is_map()) {
    textMap(*entry.value, path, out, field);
  } else if (field.is_repeated()) {
    list(*entry.value, path, out, field);
  } else {
    single(*entry.value, path, out, field);
  }
}

void Reader::list(const YamlNode& value, const std::string& path, Message& out,
                  const FieldDescriptor& field) {
  if (value.kind != Kind::sequence) {
    const bool one = value.kind == Kind::scalar && field.message_type() == nullptr;
    error(value, path, "expected a list, not " + shown(value), one ? "[" + value.text + "]" : "");
    return;
  }
  for (size_t i = 0; i < value.items.size(); i++) {
    const YamlNode& item = node(value.items[i]);
    const std::string item_path = element(path, i);
    reporter_.positions().set(item_path, at(item));
    if (item.kind == Kind::null) {
      // An empty element has no place of its own.
      error(value, item_path, "a list's element cannot be empty");
    } else {
      single(item, item_path, out, field);
    }
  }
  reporter_.positions().setCount(path, static_cast<uint32_t>(value.items.size()));
}

void Reader::textMap(const YamlNode& value, const std::string& path, Message& out,
                     const FieldDescriptor& field) {
  if (value.kind != Kind::map) {
    error(value, path, "expected a map of names to strings, not " + shown(value));
    return;
  }
  const FieldDescriptor* key_field = field.message_type()->map_key();
  const FieldDescriptor* value_field = field.message_type()->map_value();
  std::unordered_set<std::string_view> keys;
  const std::vector<Entry> all = entries(value, path);
  for (const Entry& entry : all) {
    const std::string item_path = path + "[\"" + entry.key->text + "\"]";
    if (!keys.insert(entry.key->text).second) {
      if (!entry.merged) {
        error(*entry.key, item_path, "is given twice");
      }
      continue;
    }
    reporter_.positions().set(item_path, at(*entry.value));
    if (entry.value->kind == Kind::null) {
      error(*entry.key, item_path, "a map's value cannot be empty", "\"\"");
    } else if (std::optional<std::string> text = string(*entry.value, item_path)) {
      Message* pair = out.GetReflection()->AddMessage(&out, &field);
      pair->GetReflection()->SetString(pair, key_field, entry.key->text);
      pair->GetReflection()->SetString(pair, value_field, std::move(*text));
    }
  }
}

void Reader::single(const YamlNode& value, const std::string& path, Message& out,
                    const FieldDescriptor& field) {
  if (field.message_type() == nullptr) {
    scalar(value, path, out, field);
    return;
  }
  const google::protobuf::Reflection* reflection = out.GetReflection();
  Message* inner = field.is_repeated() ? reflection->AddMessage(&out, &field)
                                       : reflection->MutableMessage(&out, &field);
  if (auto* time = dynamic_cast<google::protobuf::Duration*>(inner)) {
    duration(value, path, *time);
  } else {
    message(value, path, *inner);
  }
}

void Reader::duration(const YamlNode& value, const std::string& path,
                      google::protobuf::Duration& out) {
  const std::optional<ParsedDuration> parsed =
      value.kind == Kind::scalar ? parseDuration(value.text) : std::nullopt;
  if (parsed.has_value()) {
    out.set_seconds(parsed->seconds);
    out.set_nanos(parsed->nanos);
    return;
  }
  std::string message = "expected a duration in seconds such as `1.5s`, not " + shown(value);
  if (value.kind == Kind::scalar && value.text.starts_with('-')) {
    message = "a duration cannot be negative";
  } else if (value.kind == Kind::scalar && parseUnsigned(value.text).has_value()) {
    message = "a duration needs its unit";
  }
  error(value, path, std::move(message),
        value.kind == Kind::scalar ? guessDuration(value.text) : "");
}

void Reader::scalar(const YamlNode& value, const std::string& path, Message& out,
                    const FieldDescriptor& field) {
  const google::protobuf::Reflection* to = out.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (const auto flag = boolean(value, path)) {
        to->SetBool(&out, &field, *flag);
      }
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      if (auto text = string(value, path)) {
        field.is_repeated() ? to->AddString(&out, &field, std::move(*text))
                            : to->SetString(&out, &field, std::move(*text));
      }
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      if (const auto number = enumerator(value, path, *field.enum_type())) {
        field.is_repeated() ? to->AddEnumValue(&out, &field, *number)
                            : to->SetEnumValue(&out, &field, *number);
      }
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      if (const auto n = unsignedNumber(value, path, field, std::numeric_limits<uint32_t>::max())) {
        to->SetUInt32(&out, &field, static_cast<uint32_t>(*n));
      }
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      if (const auto n = unsignedNumber(value, path, field, std::numeric_limits<uint64_t>::max())) {
        to->SetUInt64(&out, &field, *n);
      }
      break;
    default:
      CHECK(false);  // the schema uses no other types: a test walks it
  }
}

std::optional<bool> Reader::boolean(const YamlNode& value, const std::string& path) {
  const bool scalar = value.kind == Kind::scalar;
  const std::optional<bool> flag = scalar ? parseBool(value.text) : std::nullopt;
  if (flag.has_value() && !value.quoted) {
    return flag;
  }
  std::string guess;
  if (flag.has_value() || (scalar && (value.text == "0" || value.text == "1"))) {
    guess = flag.value_or(value.text == "1") ? "true" : "false";
  } else if (scalar) {
    constexpr std::array<std::string_view, 2> kWords = {"true", "false"};
    guess = nearest(value.text, kWords);
  }
  error(value, path,
        "expected true or false, not " + std::string(value.quoted ? "the string " : "") +
            shown(value),
        guess);
  return std::nullopt;
}

std::optional<std::string> Reader::string(const YamlNode& value, const std::string& path) {
  if (value.kind != Kind::scalar) {
    error(value, path, "expected a string, not " + shown(value));
    return std::nullopt;
  }
  if (!value.quoted && plainType(value.text) != PlainType::text) {
    error(value, path,
          "expected a string, not the " +
              std::string(plainType(value.text) == PlainType::number ? "number " : "boolean ") +
              value.text + ", which has to be quoted",
          "\"" + value.text + "\"");
    return std::nullopt;
  }
  if (value.text.find('\0') != std::string::npos) {
    error(value, path, "a string cannot hold a zero byte");
    return std::nullopt;
  }
  return value.text;
}

std::optional<int> Reader::enumerator(const YamlNode& value, const std::string& path,
                                      const EnumDescriptor& type) {
  std::vector<std::string_view> names;
  std::string list;
  for (int i = 0; i < type.value_count(); i++) {
    const EnumValueDescriptor* known = type.value(i);
    const bool by_number = value.kind == Kind::scalar && !value.quoted &&
                           value.text == std::to_string(known->number());
    if (by_number ||
        (value.kind == Kind::scalar && http::equalsIgnoreCase(value.text, known->name()))) {
      return known->number();
    }
    names.push_back(known->name());
    list.append(list.empty() ? "" : ", ").append(known->name());
  }
  error(value, path, "expected one of " + list + ", not " + shown(value),
        value.kind == Kind::scalar ? std::string(nearest(value.text, names)) : "");
  return std::nullopt;
}

std::optional<uint64_t> Reader::unsignedNumber(const YamlNode& value, const std::string& path,
                                               const FieldDescriptor& field, uint64_t high) {
  const bool is_scalar = value.kind == Kind::scalar;
  const std::optional<uint64_t> number = is_scalar ? parseUnsigned(value.text) : std::nullopt;
  if (number.has_value() && *number <= high) {
    return number;
  }
  const bool bytes = field.name().find("bytes") != std::string::npos;
  const bool kibibytes = field.name().ends_with("_kb");
  std::string message = "expected a whole number";
  message += bytes ? " of bytes" : kibibytes ? " of KiB" : "";
  if (number.has_value() || (is_scalar && parseSigned(value.text).has_value())) {
    message += " from 0 to " + std::to_string(high);
  }
  error(value, path, message + ", not " + shown(value),
        is_scalar ? guessNumber(value.text, kibibytes ? 1024 : 1) : "");
  return std::nullopt;
}

}  // namespace

void readMessage(const YamlTree& tree, std::string_view file, Reporter& reporter, Message& out) {
  reporter.positions().set("", {file, 1, 1});
  if (tree.nodes.empty()) {
    return;
  }
  Reader(tree, file, reporter).message(tree.nodes[tree.root], "", out);
}

}  // namespace config
