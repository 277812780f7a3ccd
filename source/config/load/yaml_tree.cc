#include "source/config/load/yaml_tree.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <istream>
#include <streambuf>
#include <unordered_map>
#include <utility>

#include "source/config/model/utf8.h"

namespace config {
namespace {

std::string tooDeep() {
  return "nodes are nested more than " + std::to_string(kMaxYamlDepth) + " levels deep";
}

// Reads a text in place.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view text) {
    char* begin = const_cast<char*>(text.data());
    setg(begin, begin, begin + text.size());
  }
};

// Builds the tree from the parser's events. After the first problem the events are let pass.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(YamlTree& tree) : tree_(tree) {}
  const YamlProblem& problem() const { return problem_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(mark, anchor, YamlNode::Kind::null);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto at = anchors_.find(anchor);
    if (at == anchors_.end()) {
      fail(mark, "an alias refers to a node that it is part of");
    } else {
      place(mark, at->second);
    }
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    constexpr std::string_view kStandard = "tag:yaml.org,2002:";
    YamlNode node;
    node.kind = YamlNode::Kind::scalar;
    node.ignored = tag == "!ignore";
    node.quoted = tag == "!" || tag == std::string(kStandard) + "str";
    if (!tag.empty() && tag != "?" && !node.quoted && !node.ignored &&
        !tag.starts_with(kStandard)) {
      fail(mark, "the tag `" + tag + "` has no meaning here");
      return;
    }
    const bool is_null =
        value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL";
    if (is_null && !node.quoted) {
      node.kind = YamlNode::Kind::null;
    }
    node.text = value;
    node.expanded_text_bytes = value.size();
    add(mark, anchor, std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlNode::Kind::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, YamlNode::Kind::map);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    uint32_t node;
    YAML::anchor_t anchor;
  };

  void fail(const YAML::Mark& mark, std::string message) {
    if (problem_.message.empty()) {
      problem_ = {static_cast<uint32_t>(mark.line + 1), static_cast<uint32_t>(mark.column + 1),
                  std::move(message)};
    }
  }
  bool failed() const { return !problem_.message.empty(); }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    add(mark, anchor, std::move(node));
  }

  void add(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode node) {
    if (failed()) {
      return;
    }
    const uint32_t index = append(mark, std::move(node));
    if (anchor != 0) {
      anchors_[anchor] = index;
    }
    place(mark, index);
  }

  uint32_t append(const YAML::Mark& mark, YamlNode node) {
    node.line = static_cast<uint32_t>(mark.line + 1);
    node.column = static_cast<uint32_t>(mark.column + 1);
    tree_.nodes.push_back(std::move(node));
    return static_cast<uint32_t>(tree_.nodes.size() - 1);
  }

  void open(const YAML::Mark& mark, YAML::anchor_t anchor, YamlNode::Kind kind) {
    if (failed()) {
      return;
    }
    if (open_.size() == kMaxYamlDepth) {
      fail(mark, tooDeep());
      return;
    }
    YamlNode node;
    node.kind = kind;
    open_.push_back({append(mark, std::move(node)), anchor});
  }

  void close() {
    if (failed() || open_.empty()) {
      return;
    }
    const Open closed = open_.back();
    open_.pop_back();
    if (closed.anchor != 0) {
      anchors_[closed.anchor] = closed.node;  // only now, so that no node can contain itself
    }
    YAML::Mark mark;
    mark.line = static_cast<int>(tree_.nodes[closed.node].line) - 1;
    mark.column = static_cast<int>(tree_.nodes[closed.node].column) - 1;
    place(mark, closed.node);
  }

  // Puts a finished node into the collection that is open.
  void place(const YAML::Mark& mark, uint32_t index) {
    if (failed()) {
      return;
    }
    if (open_.empty()) {
      tree_.root = index;
      return;
    }
    const YamlNode& child = tree_.nodes[index];
    YamlNode& parent = tree_.nodes[open_.back().node];
    parent.items.push_back(index);
    parent.depth = std::max(parent.depth, child.depth + 1);
    parent.expanded_nodes += child.expanded_nodes;
    parent.expanded_text_bytes += child.expanded_text_bytes;
    if (parent.depth + open_.size() - 1 > kMaxYamlDepth) {
      fail(mark, tooDeep());
    } else if (parent.expanded_nodes > kMaxYamlNodes ||
               parent.expanded_text_bytes > kMaxYamlTextBytes) {
      fail(mark, "the document has more than " + std::to_string(kMaxYamlNodes) + " nodes or " +
                     std::to_string(kMaxYamlTextBytes) + " bytes once its aliases are expanded");
    }
  }

  YamlTree& tree_;
  YamlProblem problem_;
  std::vector<Open> open_;
  std::unordered_map<YAML::anchor_t, uint32_t> anchors_;
};

// Text that no configuration needs, and that libraries disagree about.
YamlProblem checkText(std::string_view text) {
  if (text.size() > kMaxYamlBytes) {
    return {0, 0, "is larger than " + std::to_string(kMaxYamlBytes) + " bytes"};
  }
  uint32_t line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    const size_t length = byte < 0x80 ? 1 : utf8SequenceBytes(text.substr(i, 4));
    const bool control =
        (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7f;
    if (length == 0 || control) {
      return {line, static_cast<uint32_t>(i - line_start + 1),
              control ? "the text has a control character here" : "the text is not UTF-8 here"};
    }
    i += length;
    if (byte == '\n') {
      line++;
      line_start = i;
    }
  }
  return {};
}

YamlProblem parseEvents(std::string_view text, Builder& builder) {
  ViewBuffer buffer(text);
  std::istream stream(&buffer);
  YAML::Parser parser(stream);
  if (!parser.HandleNextDocument(builder) || !builder.problem().message.empty()) {
    return builder.problem();
  }
  YamlTree second;
  Builder rest(second);
  if (parser.HandleNextDocument(rest) && !second.nodes.empty()) {
    return {second.nodes.front().line, second.nodes.front().column,
            "a second document begins here; a configuration is one"};
  }
  return {};
}

}  // namespace

YamlProblem parseYaml(std::string_view text, YamlTree& out) {
  if (YamlProblem problem = checkText(text); !problem.message.empty()) {
    return problem;
  }
  Builder builder(out);
  // The only place where a library's exceptions are met. The parser has a limit of its own on
  // depth, far beyond ours, and may meet it before it tells the builder of any node.
  try {
    return parseEvents(text, builder);
  } catch (const YAML::DeepRecursion&) {
    return builder.problem().message.empty() ? YamlProblem{0, 0, tooDeep()} : builder.problem();
  } catch (const YAML::Exception& exception) {
    const bool known = !exception.mark.is_null();
    return {known ? static_cast<uint32_t>(exception.mark.line + 1) : 0,
            known ? static_cast<uint32_t>(exception.mark.column + 1) : 0,
            "is not YAML: " + exception.msg};
  } catch (const std::exception& exception) {
    return {0, 0, std::string("cannot be read: ") + exception.what()};
  }
}

}  // namespace config
