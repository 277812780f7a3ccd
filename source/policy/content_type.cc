#include "source/policy/content_type.h"

#include <algorithm>
#include <array>
#include <string>

#include "source/http/grammar.h"
#include "source/http/head.h"
#include "source/http/uri.h"

namespace policy {
namespace {

// The kinds of content that an extension may stand for; several are divided by a comma, and one
// that ends in "/" is a whole top-level type.
struct Kind {
  std::string_view extension;
  std::string_view types;
};

constexpr std::string_view kScript =
    "application/javascript,text/javascript,application/x-javascript,application/ecmascript";
constexpr std::string_view kFont =
    "font/,application/font-,application/x-font-,application/vnd.ms-";

constexpr std::array kKinds = std::to_array<Kind>({
    {"avif", "image/"},
    {"bmp", "image/"},
    {"css", "text/css"},
    {"csv", "text/csv,text/plain"},
    {"eot", kFont},
    {"gif", "image/"},
    {"gz", "application/gzip,application/x-gzip,application/octet-stream"},
    {"ico", "image/"},
    {"jpeg", "image/"},
    {"jpg", "image/"},
    {"js", kScript},
    {"mjs", kScript},
    {"mp3", "audio/"},
    {"mp4", "video/,audio/"},
    {"ogg", "audio/,video/,application/ogg"},
    {"otf", kFont},
    {"pdf", "application/pdf"},
    {"png", "image/"},
    {"svg", "image/"},
    {"ttf", kFont},
    {"wasm", "application/wasm"},
    {"webm", "video/,audio/"},
    {"webp", "image/"},
    {"woff", kFont},
    {"woff2", kFont},
    {"zip", "application/zip,application/x-zip-compressed,application/octet-stream"},
});

// The extension of the last segment in lower case, at most as long as the longest known.
std::string extensionOf(std::string_view path) {
  std::string buffer(path.size(), '\0');
  std::string_view name = http::normalisePercent(path, buffer);  // "%2E" is a dot
  name = name.substr(name.rfind('/') + 1);
  name = name.substr(0, name.find_first_of(";%"));
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) {
    return {};
  }
  std::string extension(name.substr(dot + 1));
  std::transform(extension.begin(), extension.end(), extension.begin(), http::toLower);
  return extension;
}

bool isOneOf(std::string_view type, std::string_view types) {
  while (!types.empty()) {
    const size_t end = std::min(types.find(','), types.size());
    const std::string_view one = types.substr(0, end);
    types.remove_prefix(std::min(end + 1, types.size()));
    const bool family = one.ends_with('/') || one.ends_with('-');
    if (http::equalsIgnoreCase(family ? type.substr(0, one.size()) : type, one)) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool contentTypeFits(std::string_view path, std::string_view content_type) {
  const std::string extension = extensionOf(path);
  const auto* const kind = std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& known) {
    return known.extension == extension;
  });
  if (kind == kKinds.end()) {
    return true;
  }
  return isOneOf(http::trimOws(content_type.substr(0, content_type.find(';'))), kind->types);
}

}  // namespace policy
