// Field lines, as they stand in heads and in trailer sections (RFC 9112 section 5). Internal to
// this module.
#pragma once

#include <cstdint>

#include "source/http/head.h"
#include "source/http/scan.h"

namespace http::internal {

struct FieldLineLimits {
  uint16_t fields;
  uint32_t line_bytes;
};

// Reads field lines from p up to and with the blank line and appends them to out. Returns the
// position behind the blank line, or nullptr when the bytes end before it, break the grammar or
// exceed a limit: the caller finds out which, off the fast path.
const char* parseFieldLines(const char* p, Readable in, FieldLineLimits limits, Fields& out);

}  // namespace http::internal
