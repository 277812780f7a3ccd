// Texts that must match: literals and regular expressions. Immutable once compiled; matching
// literals allocates nothing, and a regular expression only while its automaton grows.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace config {

inline constexpr size_t kMaxRegexBytes = 4096;
// Instructions of the compiled program: what a match may cost a byte, and a bound on its memory.
inline constexpr int kMaxRegexProgram = 4000;
inline constexpr int64_t kMaxRegexMemoryBytes = int64_t{2} << 20;

// A compiled expression in RE2's syntax. Linear in the text, whatever the expression.
class Regex {
 public:
  // nullopt with the reason in `problem`: bad syntax, or larger than the limits above.
  static std::optional<Regex> compile(std::string_view pattern, std::string& problem);

  Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  // The whole text matches. False for a default-constructed expression.
  bool matches(std::string_view text) const;
  std::string_view pattern() const { return pattern_; }
  friend bool operator==(const Regex& a, const Regex& b) { return a.pattern_ == b.pattern_; }

 private:
  std::string pattern_;
  std::unique_ptr<const re2::RE2> program_;
};

struct TextMatcher {
  enum class Kind : uint8_t { exact, prefix, suffix, contains, regex };
  Kind kind = Kind::exact;
  bool ignore_case = false;  // ASCII; then `text` is in lower case
  std::string text;
  Regex regex;

  bool matches(std::string_view value) const;
  friend bool operator==(const TextMatcher&, const TextMatcher&) = default;
};

// ASCII lower case, for texts that are compared without regard to case.
std::string lowerCase(std::string_view text);

}  // namespace config
