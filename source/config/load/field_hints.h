// What to say about a field that does not exist.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

namespace config {

struct FieldHint {
  std::string message;     // a sentence without its full stop
  std::string suggestion;  // the nearest field of the message, or empty
};
// name: a key in a message of that type, which has no such field.
FieldHint hintForUnknown(std::string_view name, const google::protobuf::Descriptor& type);

}  // namespace config
