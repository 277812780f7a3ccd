// Judges text in Prometheus' format 0.0.4 by the rules that scrapers and promtool apply.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace admin {

struct Exposition {
  std::vector<std::string> problems;           // sentences
  std::map<std::string, std::string> types;    // by family
  std::map<std::string, std::string> samples;  // value by `name{labels}`, as written
};
Exposition readExposition(std::string_view text);

}  // namespace admin
