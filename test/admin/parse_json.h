// Reads JSON with Protobuf's parser, and finds members by a path such as "shards.0.requests".
#pragma once

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace admin {

using Json = google::protobuf::Value;

inline Json parseJson(const std::string& text) {
  Json value;
  const auto status = google::protobuf::util::JsonStringToMessage(text, &value);
  EXPECT_TRUE(status.ok()) << text.substr(0, 400);
  return value;
}

// A null value, and a failure, if there is no such member.
inline Json at(const Json& root, std::string_view path) {
  const Json* here = &root;
  std::string_view rest = path;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    rest.remove_prefix(dot == std::string_view::npos ? rest.size() : dot + 1);
    if (here->has_list_value()) {
      const int index = std::atoi(part.c_str());
      if (index >= here->list_value().values_size()) {
        ADD_FAILURE() << "no " << path;
        return Json();
      }
      here = &here->list_value().values(index);
      continue;
    }
    const auto member = here->struct_value().fields().find(part);
    if (member == here->struct_value().fields().end()) {
      ADD_FAILURE() << "no " << path;
      return Json();
    }
    here = &member->second;
  }
  return *here;
}
inline std::string textAt(const Json& root, std::string_view path) {
  return at(root, path).string_value();
}
inline double numberAt(const Json& root, std::string_view path) {
  return at(root, path).number_value();
}

}  // namespace admin
