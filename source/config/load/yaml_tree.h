// A YAML document as a tree with the place of every node, within limits. yaml-cpp scans and parses;
// the tree is ours, so that keys given twice, aliases and the difference between 1 and "1" survive.
// An alias is a second reference to a node: the tree is as small as its text, and `expanded_nodes`
// says how large a reader would find it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "source/config/load/report.h"

namespace config {

inline constexpr size_t kMaxYamlBytes = size_t{4} << 20;
inline constexpr uint32_t kMaxYamlDepth = 64;
inline constexpr uint64_t kMaxYamlNodes = 500000;                  // with aliases expanded
inline constexpr uint64_t kMaxYamlTextBytes = uint64_t{64} << 20;  // likewise: bytes of scalars

struct YamlNode {
  enum class Kind : uint8_t { null, scalar, sequence, map };
  Kind kind = Kind::null;
  bool quoted = false;   // a scalar that can only be a string
  bool ignored = false;  // tagged !ignore: a key whose value is there to be referred to
  uint32_t line = 0;     // from 1
  uint32_t column = 0;
  std::string text;             // of a scalar
  std::vector<uint32_t> items;  // of a sequence; of a map: key, value, key, value ...
  uint32_t depth = 1;           // levels below and with this node
  uint64_t expanded_nodes = 1;  // below and with this node, aliases followed
  uint64_t expanded_text_bytes = 0;
};

struct YamlTree {
  std::vector<YamlNode> nodes;
  uint32_t root = 0;  // meaningless while nodes is empty: an empty document
};

// What keeps a text from being a tree; an empty message is success.
struct YamlProblem {
  uint32_t line = 0;
  uint32_t column = 0;
  std::string message;
};
YamlProblem parseYaml(std::string_view text, YamlTree& out);

}  // namespace config
