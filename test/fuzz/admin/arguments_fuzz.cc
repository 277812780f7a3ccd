// Goal: any bytes are either parameters or refused with one line of text; parameters that are
// written out fully percent-encoded are read back the same. Method: the first byte chooses query or
// form, the rest is the text; what is read is also judged by every command's own check.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "source/admin/arguments.h"
#include "source/admin/command.h"
#include "source/base/check.h"

namespace {

std::string encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    out += '%';
    out += "0123456789abcdef"[byte >> 4];
    out += "0123456789ABCDEF"[byte & 15];
  }
  return out;
}

void checkLine(const std::string& line) {
  CHECK(!line.empty());
  for (const char c : line) {
    CHECK(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  using admin::Arguments;
  const auto source = data[0] % 2 == 0 ? Arguments::Source::query : Arguments::Source::form;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Arguments read;
  if (const std::optional<std::string> wrong = read.append(text, source)) {
    checkLine(*wrong);
    return 0;
  }
  CHECK(read.all().size() <= Arguments::kMax);
  std::string written;
  for (const Arguments::Argument& argument : read.all()) {
    CHECK(read.has(argument.name));
    written +=
        encode(argument.name) + (argument.has_value ? "=" : "") + encode(argument.value) + "&";
  }
  Arguments again;
  CHECK(!again.append(written, source).has_value());
  CHECK(again.all().size() == read.all().size());
  for (size_t i = 0; i < read.all().size(); i++) {
    CHECK(again.all()[i].name == read.all()[i].name);
    CHECK(again.all()[i].value == read.all()[i].value);
    CHECK(again.all()[i].has_value == read.all()[i].has_value);
  }
  for (const admin::Command& command : admin::commands()) {
    if (const std::optional<std::string> wrong = admin::checkArguments(command, read)) {
      checkLine(*wrong);
    }
  }
  return 0;
}
