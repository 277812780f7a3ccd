// Goal: every configuration under configs/ is good, and together they show every field there is.
// Method: load each from its file; walk the schema by reflection beside the messages that were
// read, and ask that each field is set in one of them.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "api/ringfence/config/v1/bootstrap.pb.h"
#include "source/config/load/load.h"

namespace config {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::vector<std::string> examples() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator("configs")) {
    if (entry.path().extension() == ".yaml") {
      paths.push_back(entry.path());
    }
  }
  return paths;
}

bool isOurs(const Descriptor* type) {
  return type != nullptr && type->full_name().rfind("ringfence.", 0) == 0 &&
         !type->options().map_entry();
}

void collectAll(const Descriptor* type, std::set<const Descriptor*>& seen,
                std::set<std::string>& out) {
  if (!isOurs(type) || !seen.insert(type).second) {
    return;
  }
  for (int i = 0; i < type->field_count(); i++) {
    out.insert(type->field(i)->full_name());
    collectAll(type->field(i)->message_type(), seen, out);
  }
}

void collectFromJson(const Message& message, std::set<std::string>& out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    out.insert(field->full_name());
    if (!isOurs(field->message_type())) {
      continue;
    }
    if (!field->is_repeated()) {
      collectFromJson(message.GetReflection()->GetMessage(message, field), out);
      continue;
    }
    const int count = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < count; i++) {
      collectFromJson(message.GetReflection()->GetRepeatedMessage(message, field, i), out);
    }
  }
}

// Fields whose example is their zero, which a message without presence does not remember.
const std::set<std::string> kShownAsZero = {
    "ringfence.config.v1.Runtime.shards",
    "ringfence.config.v1.Runtime.engine",
    "ringfence.config.v1.Ring.completion_mode",
    "ringfence.config.v1.Listener.steering",
    "ringfence.config.v1.Listener.max_requests_per_connection",
    "ringfence.config.v1.Cluster.lb_policy",
    "ringfence.config.v1.Cluster.respect_dns_ttl",
    "ringfence.config.v1.Cluster.max_requests_per_connection",
    "ringfence.config.v1.Cache.disk_io",
    "ringfence.config.v1.Cache.stripes",
    "ringfence.config.v1.CacheKey.exclude_host",
    "ringfence.config.v1.Tags.strip",
};

TEST(Examples, AllLoadWithoutErrorsOrWarnings) {
  ASSERT_GE(examples().size(), 3u);
  for (const std::string& path : examples()) {
    LoadReport report;
    EXPECT_TRUE(load(Sources{path, {}, ""}, report).has_value()) << report.text();
    EXPECT_TRUE(report.warnings.empty()) << report.warnings.front().text();
  }
}

TEST(Examples, TogetherShowEveryField) {
  std::set<std::string> shown = kShownAsZero;
  for (const std::string& path : examples()) {
    LoadReport report;
    const auto loaded = load(Sources{path, {}, ""}, report);
    ASSERT_TRUE(loaded.has_value()) << report.text();
    ::ringfence::config::v1::Bootstrap bootstrap;
    ASSERT_TRUE(
        google::protobuf::util::JsonStringToMessage(loaded->bootstrap_json, &bootstrap).ok());
    collectFromJson(bootstrap, shown);
  }
  std::ifstream file("configs/reference.yaml");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& field : kShownAsZero) {
    EXPECT_NE(text.find(field.substr(field.rfind('.') + 1) + ": "), std::string::npos) << field;
  }
  std::set<std::string> all;
  std::set<const Descriptor*> seen;
  collectAll(::ringfence::config::v1::Bootstrap::descriptor(), seen, all);
  for (const std::string& field : all) {
    EXPECT_TRUE(shown.contains(field)) << field << " has no example";
  }
}

TEST(Examples, TheSchemaUsesOnlyTypesThatTheReaderKnows) {
  std::set<std::string> names;
  std::set<const Descriptor*> types;
  collectAll(::ringfence::config::v1::Bootstrap::descriptor(), types, names);
  for (const Descriptor* type : types) {
    for (int i = 0; i < type->field_count(); i++) {
      const FieldDescriptor* field = type->field(i);
      const bool scalar = field->cpp_type() == FieldDescriptor::CPPTYPE_BOOL ||
                          field->cpp_type() == FieldDescriptor::CPPTYPE_STRING ||
                          field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32 ||
                          field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
                          field->cpp_type() == FieldDescriptor::CPPTYPE_ENUM;
      const bool duration = field->message_type() != nullptr &&
                            field->message_type()->full_name() == "google.protobuf.Duration";
      const bool text_map = field->is_map() && field->message_type()->map_value()->cpp_type() ==
                                                   FieldDescriptor::CPPTYPE_STRING;
      const bool repeated_number = field->is_repeated() && scalar &&
                                   field->cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
                                   field->cpp_type() != FieldDescriptor::CPPTYPE_ENUM;
      EXPECT_TRUE((scalar || duration || text_map || isOurs(field->message_type())) &&
                  !repeated_number)
          << field->full_name();
    }
  }
}

}  // namespace
}  // namespace config
