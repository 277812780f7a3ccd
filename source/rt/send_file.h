// The system calls of OpKind::send_file, for engines of the real kernel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "source/rt/op.h"

namespace rt {

// The most that is looked at, and sent, at once.
inline constexpr uint32_t kMaxSendFile_bytes = 1 << 20;

// Whether the page cache has all of these bytes of a mapping, at most kMaxSendFile_bytes. Touches
// none of them. The caller's user owns the file, or may write it: to others Linux says yes.
bool inMemory(void* mapped, size_t bytes);

// Tries a send_file; its result. Reads the disk only if a page was dropped since it was looked for,
// a moment ago. SIGPIPE must be ignored: the call has no flag against it.
int32_t trySendFile(const Op& op);

}  // namespace rt
