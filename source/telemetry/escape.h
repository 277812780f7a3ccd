// Writing bytes from outside into logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace telemetry {

// As the inside of a JSON string, valid for any bytes: UTF-8 stays, and a byte that is not part of
// it becomes the character of that number (RFC 9110 section 5.5: field values were once ISO
// 8859-1).
void appendJsonEscaped(std::string_view bytes, std::string& out);
// Printable ASCII but `"` and `\` stays, the rest becomes \xHH, as in nginx's logs.
void appendTextEscaped(std::string_view bytes, std::string& out);
// Control bytes become \xHH, the rest stays: for lines that people read.
void appendControlEscaped(std::string_view bytes, std::string& out);

// How many bytes of the UTF-8 sequence (RFC 3629) that `bytes` begins with; 0 if it begins with
// none.
size_t utf8Length(std::string_view bytes);
// `bytes` cut to at most `limit`, not within a UTF-8 sequence.
std::string_view cutUtf8(std::string_view bytes, size_t limit);

}  // namespace telemetry
