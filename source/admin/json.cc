#include "source/admin/json.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "source/base/check.h"
#include "source/telemetry/escape.h"

namespace admin {

void JsonWriter::newLine() {
  out_ += '\n';
  out_.append(depth_, ' ');
}

void JsonWriter::beforeValue() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (depth_ > 0) {
    if (!first_) {
      out_ += ',';
    }
    newLine();
  }
  first_ = false;
}

void JsonWriter::open(char bracket) {
  beforeValue();
  out_ += bracket;
  depth_++;
  first_ = true;
}

void JsonWriter::close(char bracket) {
  CHECK(depth_ > 0 && !after_key_);
  depth_--;
  if (!first_) {
    newLine();
  }
  out_ += bracket;
  first_ = false;
}

void JsonWriter::key(std::string_view name) {
  CHECK(depth_ > 0 && !after_key_);
  beforeValue();
  out_ += '"';
  telemetry::appendJsonEscaped(name, out_);
  out_ += "\": ";
  after_key_ = true;
}

void JsonWriter::string(std::string_view text) {
  beforeValue();
  out_ += '"';
  telemetry::appendJsonEscaped(text, out_);
  out_ += '"';
}

void JsonWriter::number(uint64_t value) {
  beforeValue();
  out_ += std::to_string(value);
}

void JsonWriter::number(int64_t value) {
  beforeValue();
  out_ += std::to_string(value);
}

void JsonWriter::number(double value) {
  beforeValue();
  out_ += std::isfinite(value) ? formatNumber(value) : "null";
}

void JsonWriter::boolean(bool value) {
  beforeValue();
  out_ += value ? "true" : "false";
}

void JsonWriter::null() {
  beforeValue();
  out_ += "null";
}

void JsonWriter::raw(std::string_view json) {
  beforeValue();
  out_ += json;
}

std::string JsonWriter::take() {
  CHECK(depth_ == 0);
  out_ += '\n';
  return std::move(out_);
}

std::string formatNumber(double value) {
  char text[32];
  const int length = snprintf(text, sizeof(text), "%.6g", value);
  return std::string(text, static_cast<size_t>(length));
}

}  // namespace admin
