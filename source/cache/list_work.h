// A page of a stripe's objects being read, which may outlive the call that asked for it: a disk
// that hangs has memory of its.
#pragma once

#include <cstdint>

#include "source/base/result.h"
#include "source/rt/wait.h"
#include "source/store/io/stripe_types.h"

namespace cache {

struct ListWork {
  uint64_t number = 0;
  store::ListQuery query;
  base::Result<store::ListPage> page = store::ListPage();
  bool done = false;
  bool left = false;  // nobody waits any more
  rt::WaitQueue end;
};

}  // namespace cache
