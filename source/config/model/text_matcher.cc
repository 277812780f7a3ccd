#include "source/config/model/text_matcher.h"

#include <re2/re2.h>

#include <algorithm>
#include <utility>

#include "source/http/grammar.h"

namespace config {
namespace {

bool equalFolded(char lower, char any) {
  return lower == http::toLower(any);
}

bool equal(std::string_view pattern, std::string_view value, bool ignore_case) {
  if (!ignore_case) {
    return pattern == value;
  }
  return pattern.size() == value.size() &&
         std::equal(pattern.begin(), pattern.end(), value.begin(), equalFolded);
}

bool contains(std::string_view pattern, std::string_view value, bool ignore_case) {
  if (!ignore_case) {
    return value.find(pattern) != value.npos;
  }
  return std::search(value.begin(), value.end(), pattern.begin(), pattern.end(),
                     [](char any, char lower) { return equalFolded(lower, any); }) != value.end() ||
         pattern.empty();
}

}  // namespace

Regex::Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

std::optional<Regex> Regex::compile(std::string_view pattern, std::string& problem) {
  if (pattern.size() > kMaxRegexBytes) {
    problem = "is longer than " + std::to_string(kMaxRegexBytes) + " bytes";
    return std::nullopt;
  }
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxRegexMemoryBytes);
  auto program =
      std::make_unique<re2::RE2>(re2::StringPiece(pattern.data(), pattern.size()), options);
  if (!program->ok()) {
    problem = "is not a regular expression: " + program->error();
    return std::nullopt;
  }
  if (program->ProgramSize() > kMaxRegexProgram) {
    problem = "needs " + std::to_string(program->ProgramSize()) +
              " instructions when compiled, more than " + std::to_string(kMaxRegexProgram);
    return std::nullopt;
  }
  Regex regex;
  regex.pattern_ = pattern;
  regex.program_ = std::move(program);
  return regex;
}

bool Regex::matches(std::string_view text) const {
  return program_ != nullptr &&
         re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *program_);
}

bool TextMatcher::matches(std::string_view value) const {
  switch (kind) {
    case Kind::exact:
      return equal(text, value, ignore_case);
    case Kind::prefix:
      return equal(text, value.substr(0, text.size()), ignore_case);
    case Kind::suffix:
      return value.size() >= text.size() &&
             equal(text, value.substr(value.size() - text.size()), ignore_case);
    case Kind::contains:
      return contains(text, value, ignore_case);
    case Kind::regex:
      return regex.matches(value);
  }
  return false;
}

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), http::toLower);
  return lower;
}

}  // namespace config
