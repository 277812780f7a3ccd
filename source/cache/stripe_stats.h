// What a stripe counts.
#pragma once

#include <cstdint>

namespace cache {

struct StripeStats {
  uint64_t fills = 0;
  uint64_t collapsed = 0;
  uint64_t fills_refused = 0;  // at the limit
  uint64_t hit_for_miss = 0;   // notes published
  uint64_t purges = 0;
  uint64_t purges_late = 0;     // answered before they were durable: the disk took too long
  uint64_t purges_refused = 0;  // at the limit
  uint64_t lists_late = 0;      // given up: the disk took too long
  uint64_t lists_refused = 0;   // at the limit
  uint64_t fills_purged = 0;    // running when what they were to bring was purged
  uint64_t admitted = 0;        // asked of the admission filter, if there is one
  uint64_t not_admitted = 0;
  uint64_t over_write_budget = 0;
  uint64_t invalidations = 0;
  uint64_t invalidations_widened = 0;  // those at the limit, which a note of everything stands for
  uint64_t invalidations_lost = 0;     // the stripe stopped, and the next start may undo them
  uint64_t partials_kept = 0;          // first bytes of responses that did not come whole
  uint64_t partials_refused = 0;       // the log did not take them
  uint64_t partials_resumed = 0;       // of which the origin gave the rest
  uint64_t sliced = 0;                 // objects of which a table was stored
  uint64_t blocks_fetched = 0;
  uint64_t blocks_changed = 0;   // the origin's version was another
  uint64_t slices_unusable = 0;  // answers to a range request of which no object can be made
  uint64_t compressed = 0;       // bodies that were to be
  uint64_t decompressed = 0;
  uint64_t coders_refused = 0;   // at the limit, or without memory
  uint64_t coding_failures = 0;  // bodies that are not what their coding says, or grow too much
};

}  // namespace cache
