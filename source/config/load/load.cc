#include "source/config/load/load.h"

#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "source/base/check.h"
#include "source/base/hash.h"
#include "source/config/load/compile.h"
#include "source/config/load/proto_reader.h"
#include "source/config/load/yaml_tree.h"

namespace config {
namespace {

using ::ringfence::config::v1::Bootstrap;

// The file's bytes; a word on what failed, or an empty one. One byte beyond the limit is read, so
// that the parser sees that there are too many.
std::string readFile(const std::string& path, std::string& out) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return std::string("cannot be opened: ") + std::strerror(errno);
  }
  struct stat status{};
  std::string problem;
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = "is not a file";
  }
  out.resize(problem.empty() ? kMaxYamlBytes + 1 : 0);
  size_t size = 0;
  while (problem.empty() && size < out.size()) {
    const ssize_t got = read(fd, out.data() + size, out.size() - size);
    if (got < 0 && errno != EINTR) {
      problem = std::string("cannot be read: ") + std::strerror(errno);
    }
    if (got == 0) {
      break;
    }
    size += got > 0 ? static_cast<size_t>(got) : 0;
  }
  out.resize(size);
  close(fd);
  return problem;
}

// Reads one text into its messages, and the places of their fields into the reporter's positions.
// False if it is no tree at all.
bool readText(std::string_view text, std::string_view file, Reporter& reporter, Bootstrap& out) {
  YamlTree tree;
  const YamlProblem problem = parseYaml(text, tree);
  if (!problem.message.empty()) {
    reporter.error(Position{file, problem.line, problem.column}, "", problem.message);
    return false;
  }
  readMessage(tree, file, reporter, out);
  return true;
}

// The same content has the same version, whatever its spelling.
uint64_t versionOf(const Bootstrap& bootstrap) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    CHECK(bootstrap.SerializeToCodedStream(&coded));
  }
  return base::hash64(bytes, 0);
}

std::string toJson(const Bootstrap& bootstrap) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  options.add_whitespace = true;
  std::string json;
  CHECK(google::protobuf::util::MessageToJsonString(bootstrap, &json, options).ok());
  return json;
}

}  // namespace

std::optional<LoadedConfig> load(const Sources& sources, LoadReport& report) {
  PositionMap positions;
  Reporter reporter(report, positions);
  const std::string_view name =
      sources.path.empty() ? std::string_view(kOverlayName) : std::string_view(sources.path);
  positions.set("", Position{name, 0, 0});
  std::string content;
  if (sources.text.has_value()) {
    content = *sources.text;
  } else if (!sources.path.empty()) {
    if (std::string problem = readFile(sources.path, content); !problem.empty()) {
      reporter.error("", std::move(problem));
      return std::nullopt;
    }
  }
  Bootstrap bootstrap;
  bool readable = true;
  if (sources.text.has_value() || !sources.path.empty()) {
    readable = readText(content, sources.path, reporter, bootstrap);
  }
  if (!sources.overlay_yaml.empty()) {
    Bootstrap overlay;
    PositionMap overlay_positions;
    Reporter overlay_reporter(report, overlay_positions);
    readable = readText(sources.overlay_yaml, kOverlayName, overlay_reporter, overlay) && readable;
    positions.merge(overlay_positions);
    reporter.adoptBroken(overlay_reporter);
    bootstrap.MergeFrom(overlay);
  }
  auto snapshot = std::make_shared<Snapshot>();
  if (readable) {
    compile(bootstrap, reporter, *snapshot);
  }
  if (!report.ok()) {
    return std::nullopt;
  }
  snapshot->version = versionOf(bootstrap);
  return LoadedConfig{std::move(snapshot), toJson(bootstrap)};
}

std::shared_ptr<const Snapshot> loadSnapshot(const Sources& sources, LoadReport& report) {
  std::optional<LoadedConfig> loaded = load(sources, report);
  return loaded.has_value() ? std::move(loaded->snapshot) : nullptr;
}

}  // namespace config
