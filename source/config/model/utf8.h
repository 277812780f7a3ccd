// Recognising UTF-8, without decoding it.
#pragma once

#include <cstddef>
#include <string_view>

namespace config {

// Bytes of the well-formed sequence at the beginning of a text that is not empty; 0 if there is
// none (RFC 3629 section 4: overlong forms, surrogates and what is above U+10FFFF are not
// well-formed).
size_t utf8SequenceBytes(std::string_view text);

}  // namespace config
