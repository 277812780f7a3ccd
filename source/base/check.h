// CHECK states what cannot be false unless our own code is wrong: it is always on and aborts with a
// line. What a peer, a disk or a user can cause is never CHECKed; it is an Error (result.h).
#pragma once

namespace base {

// Prints file, line and the expression that failed on standard error, then aborts.
[[noreturn]] void checkFailed(const char* file, int line, const char* expression);

}  // namespace base

#define CHECK(expression)                                   \
  do {                                                      \
    if (!(expression)) [[unlikely]] {                       \
      ::base::checkFailed(__FILE__, __LINE__, #expression); \
    }                                                       \
  } while (false)

// An expensive invariant: checked in debug builds only.
#ifdef NDEBUG
#define DCHECK(expression) \
  do {                     \
  } while (false)
#else
#define DCHECK(expression) CHECK(expression)
#endif
