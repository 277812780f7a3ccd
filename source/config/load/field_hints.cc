#include "source/config/load/field_hints.h"

#include <array>
#include <set>
#include <utility>
#include <vector>

#include "source/config/model/edit_distance.h"

namespace config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// What operators of Envoy may bring along. A listener here is what a listener with one HTTP
// connection manager is there.
constexpr std::array kFromEnvoy = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"@type", "messages need no type here"},
    {"typed_config", "its fields stand in the message around it"},
    {"filter_chains", "a listener has its route_config without filters around it"},
    {"filters", "a listener has its route_config without filters around it"},
    {"http_filters", "what filters do is part of routes, such as `cache`"},
    {"stat_prefix", "statistics bear the listener's name"},
    {"codec_type", "listeners speak HTTP/1.1"},
    {"common_http_protocol_options", "its fields stand in the message around it"},
    {"typed_extension_protocol_options", "its fields stand in the cluster itself"},
    {"dynamic_resources", "configuration comes from this file and is reloaded when it changes"},
    {"layered_runtime", "there are no runtime layers"},
    {"cluster_name", "the load assignment is its cluster's"},
});

// The first message within `root` (in order of declaration) that has the field.
const Descriptor* findOwner(std::string_view name, const Descriptor& root,
                            std::set<const Descriptor*>& seen) {
  if (!seen.insert(&root).second) {
    return nullptr;
  }
  if (root.FindFieldByName(std::string(name)) != nullptr) {
    return &root;
  }
  for (int i = 0; i < root.field_count(); i++) {
    const Descriptor* inner = root.field(i)->message_type();
    const Descriptor* owner = inner == nullptr ? nullptr : findOwner(name, *inner, seen);
    if (owner != nullptr) {
      return owner;
    }
  }
  return nullptr;
}

// Of the fields of `type` that hold a message with that field, the first.
std::string_view insideOf(std::string_view name, const Descriptor& type) {
  for (int i = 0; i < type.field_count(); i++) {
    const Descriptor* inner = type.field(i)->message_type();
    if (inner != nullptr && inner->FindFieldByName(std::string(name)) != nullptr) {
      return type.field(i)->name();
    }
  }
  return "";
}

}  // namespace

FieldHint hintForUnknown(std::string_view name, const Descriptor& type) {
  const std::string quoted = "unknown field `" + std::string(name) + "`";
  for (const auto& [foreign, advice] : kFromEnvoy) {
    if (name == foreign) {
      return {quoted + ": " + std::string(advice), ""};
    }
  }
  if (const std::string_view inside = insideOf(name, type); !inside.empty()) {
    return {quoted + ": it belongs into `" + std::string(inside) + "`", ""};
  }
  std::vector<std::string_view> names;
  for (int i = 0; i < type.field_count(); i++) {
    names.push_back(type.field(i)->name());
  }
  if (const std::string_view near = nearest(name, names); !near.empty()) {
    return {quoted, std::string(near)};
  }
  std::set<const Descriptor*> seen;
  const Descriptor* root =
      type.file()->pool()->FindMessageTypeByName("ringfence.config.v1.Bootstrap");
  const Descriptor* owner = root == nullptr ? nullptr : findOwner(name, *root, seen);
  if (owner != nullptr) {
    return {quoted + ": it is a field of " + owner->name() + ", not of " + type.name(), ""};
  }
  std::string list;
  for (const std::string_view known : names) {
    list.append(list.empty() ? "" : ", ").append(known);
  }
  return {quoted + ": " + type.name() + " has " + list, ""};
}

}  // namespace config
