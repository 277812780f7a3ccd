// The parameters of one admin request: `name=value` pairs from the query and from a form in the
// body, percent-decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace admin {

class Arguments {
 public:
  static constexpr size_t kMax = 100;

  struct Argument {
    std::string name;
    std::string value;
    bool has_value = false;  // whether there was a "="
  };

  // Appends what `text` holds; nullopt, or a sentence that says what is wrong with it. In a query
  // (RFC 3986)
  // "+" is a plus, in a form (application/x-www-form-urlencoded) it is a blank.
  enum class Source : uint8_t { query, form };
  std::optional<std::string> append(std::string_view text, Source source);

  const std::vector<Argument>& all() const { return all_; }
  bool has(std::string_view name) const { return find(name) != nullptr; }
  const Argument* find(std::string_view name) const;
  // The first value of that name, or `otherwise`.
  std::string_view value(std::string_view name, std::string_view otherwise = {}) const;
  // Whether a flag is set: `name`, `name=1` or `name=true`.
  bool flag(std::string_view name) const;

 private:
  std::vector<Argument> all_;
};

// Text from outside for a sentence of ours: quoted, cut, and without control bytes.
std::string inTicks(std::string_view text);

}  // namespace admin
