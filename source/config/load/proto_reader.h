// YAML to messages by reflection, after the proto3 JSON mapping. Every field's place is recorded
// for later checks; every mistake is reported where it stands, and reading goes on behind it.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "source/config/load/report.h"
#include "source/config/load/yaml_tree.h"

namespace config {

// file: what the text is called in findings; it must outlive the reporter's positions.
// The document must be a map, or empty.
void readMessage(const YamlTree& tree, std::string_view file, Reporter& reporter,
                 google::protobuf::Message& out);

}  // namespace config
