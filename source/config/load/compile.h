// From messages to the snapshot: every value checked, every default filled in, every name resolved.
#pragma once

#include "api/ringfence/config/v1/bootstrap.pb.h"
#include "source/config/load/report.h"
#include "source/config/model/snapshot.h"

namespace config {

// What was found is in the reporter; the snapshot is whole only if there was no error. Its version
// is left at 0.
void compile(const ::ringfence::config::v1::Bootstrap& from, Reporter& reporter, Snapshot& out);

}  // namespace config
