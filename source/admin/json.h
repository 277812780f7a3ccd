// Writes JSON, indented by one blank a level as Envoy's admin does. The caller pairs begin and end,
// and gives a key before each member of an object; anything else is a fault of ours.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace admin {

class JsonWriter {
 public:
  void beginObject() { open('{'); }
  void endObject() { close('}'); }
  void beginArray() { open('['); }
  void endArray() { close(']'); }
  void key(std::string_view name);

  void string(std::string_view text);
  void number(uint64_t value);
  void number(int64_t value);
  // Not a number and infinities, which JSON does not have, become null.
  void number(double value);
  void boolean(bool value);
  void null();
  // JSON as it is.
  void raw(std::string_view json);

  void member(std::string_view name, std::string_view text) { key(name), string(text); }
  void member(std::string_view name, const char* text) { key(name), string(text); }
  void member(std::string_view name, double value) { key(name), number(value); }
  template <std::same_as<bool> T>
  void member(std::string_view name, T value) {
    key(name), boolean(value);
  }
  template <std::unsigned_integral T>
    requires(!std::same_as<T, bool>)
  void member(std::string_view name, T value) {
    key(name), number(uint64_t{value});
  }
  template <std::signed_integral T>
  void member(std::string_view name, T value) {
    key(name), number(int64_t{value});
  }
  void beginObject(std::string_view name) { key(name), beginObject(); }
  void beginArray(std::string_view name) { key(name), beginArray(); }

  // The text, ended by a line's end. Everything that was begun has been ended.
  std::string take();

 private:
  void open(char bracket);
  void close(char bracket);
  void beforeValue();
  void newLine();

  std::string out_;
  uint32_t depth_ = 0;
  bool first_ = true;  // nothing stands in the open object or array yet
  bool after_key_ = false;
};

// Six significant digits, without a needless exponent or zeros: "0.25", "1.5e-07".
std::string formatNumber(double value);

}  // namespace admin
