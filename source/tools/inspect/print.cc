#include "source/tools/inspect/print.h"

#include <algorithm>

namespace inspect {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::string_view kRunning =
    "a server runs on this directory: what it is writing may look unfinished";

// As wide as the columns before the key.
constexpr size_t kLabelIndent = 98;

std::string_view kindName(store::RecordKind kind) {
  return kind == store::RecordKind::head        ? "large"
         : kind == store::RecordKind::vary_rule ? "vary_rule"
                                                : "object";
}

// A JSON string. Bytes that are no ASCII become U+00HH, so that the text is valid whatever they
// are.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

class JsonObject {
 public:
  JsonObject& text(std::string_view name, std::string_view value) {
    return raw(name, quoted(value));
  }
  JsonObject& number(std::string_view name, uint64_t value) {
    return raw(name, std::to_string(value));
  }
  JsonObject& boolean(std::string_view name, bool value) {
    return raw(name, value ? "true" : "false");
  }
  JsonObject& raw(std::string_view name, std::string_view value) {
    out_ += (out_.size() > 1 ? ", " : "") + quoted(name) + ": ";
    out_ += value;
    return *this;
  }
  std::string done() const { return out_ + "}"; }

 private:
  std::string out_ = "{";
};

std::string array(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& item : items) {
    out += (out.size() > 1 ? ",\n  " : "\n  ") + item;
  }
  return out + (items.empty() ? "]" : "\n]");
}

uint64_t offsetInFile(const Directory& directory, const Object& object) {
  const store::Superblock& s = directory.stripes[object.stripe].superblock;
  return store::segmentOffset(object.at.segment, s.segment_bytes) +
         uint64_t{object.at.offset_units} * store::kUnitBytes;
}

std::string right(const std::string& text, size_t width) {
  return std::string(width > text.size() ? width - text.size() : 0, ' ') + text + "  ";
}

std::string placeOf(const Fault& fault) {
  return fault.file +
         (fault.segment.has_value() ? " segment " + std::to_string(*fault.segment)
                                    : std::string()) +
         (fault.offset.has_value() ? " offset " + std::to_string(*fault.offset) : std::string());
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      out += "\\x";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else {
      out += c;
    }
  }
  return out;
}

std::string listText(const Directory& directory, const Inventory& inventory,
                     base::UnixSeconds now) {
  std::string out = directory.server_runs ? std::string(kRunning) + "\n" : std::string();
  out += right("bytes", 12) + right("status", 6) + right("stored", 11) + right("expires", 11) +
         right("state", 6) + right("kind", 9) + right("stripe", 6) + right("segment", 7) +
         right("offset", 12) + "key\n";
  for (const Object& object : inventory.objects) {
    out +=
        right(std::to_string(object.length), 12) + right(std::to_string(object.status), 6) +
        right(std::to_string(object.stored_s), 11) + right(std::to_string(object.expires_s), 11) +
        right(std::string(object.freshness(now)), 6) +
        right(std::string(kindName(object.kind)), 9) + right(std::to_string(object.stripe), 6) +
        right(std::to_string(object.at.segment), 7) +
        right(std::to_string(offsetInFile(directory, object)), 12) + printable(object.key) + "\n";
    for (const std::string& label : object.label_names) {
      out += right("", kLabelIndent) + printable(label) + "\n";
    }
  }
  return out + std::to_string(inventory.objects.size()) + " objects\n";
}

std::string listJson(const Directory& directory, const Inventory& inventory,
                     base::UnixSeconds now) {
  std::vector<std::string> objects;
  for (const Object& object : inventory.objects) {
    std::string labels;
    for (const std::string& label : object.label_names) {
      labels += (labels.empty() ? "" : ", ") + quoted(label);
    }
    objects.push_back(JsonObject()
                          .text("key", object.key)
                          .text("kind", kindName(object.kind))
                          .number("status", object.status)
                          .number("bytes", object.length)
                          .number("stored_s", object.stored_s)
                          .number("birth_s", object.birth_s)
                          .number("expires_s", object.expires_s)
                          .text("state", object.freshness(now))
                          .number("stripe", object.stripe)
                          .number("segment", object.at.segment)
                          .number("sequence", object.at.sequence)
                          .number("offset", offsetInFile(directory, object))
                          .raw("labels", "[" + labels + "]")
                          .done());
  }
  return JsonObject()
             .text("directory", directory.path)
             .boolean("server_runs", directory.server_runs)
             .raw("objects", array(objects))
             .done() +
         "\n";
}

std::string verifyText(const Directory& directory, const Findings& findings) {
  std::string out = directory.server_runs ? std::string(kRunning) + "\n" : std::string();
  for (const std::string& note : findings.notes) {
    out += "note: " + note + "\n";
  }
  for (const Fault& fault : findings.faults) {
    out += "fault: " + std::string(name(fault.kind)) + ": " + placeOf(fault) + ": " + fault.what +
           "\n";
  }
  const Totals& t = findings.totals;
  return out + std::to_string(directory.stripes.size()) + " stripes, " +
         std::to_string(t.segments) + " segments in use, " + std::to_string(t.sealed) +
         " sealed, " + std::to_string(t.records) + " records of " + std::to_string(t.record_bytes) +
         " bytes, " + std::to_string(t.snapshots) + " snapshots, " + std::to_string(t.purges) +
         " purges, " + std::to_string(findings.faults.size()) + " faults\n";
}

std::string verifyJson(const Directory& directory, const Findings& findings) {
  std::vector<std::string> faults;
  for (const Fault& fault : findings.faults) {
    JsonObject item;
    item.text("fault", name(fault.kind)).text("file", fault.file).number("stripe", fault.stripe);
    if (fault.segment.has_value()) {
      item.number("segment", *fault.segment);
    }
    if (fault.offset.has_value()) {
      item.number("offset", *fault.offset);
    }
    faults.push_back(item.text("what", fault.what).done());
  }
  std::vector<std::string> notes;
  for (const std::string& note : findings.notes) {
    notes.push_back(quoted(note));
  }
  const Totals& t = findings.totals;
  return JsonObject()
             .text("directory", directory.path)
             .boolean("server_runs", directory.server_runs)
             .number("stripes", directory.stripes.size())
             .number("segments", t.segments)
             .number("sealed_segments", t.sealed)
             .number("records", t.records)
             .number("record_bytes", t.record_bytes)
             .number("snapshots", t.snapshots)
             .number("snapshot_entries", t.snapshot_entries)
             .number("purges", t.purges)
             .raw("notes", array(notes))
             .raw("faults", array(faults))
             .done() +
         "\n";
}

}  // namespace inspect
