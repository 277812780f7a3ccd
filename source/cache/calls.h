// The calls that cross shards on behalf of the cache. Each lives in its caller's frame; the callee
// copies what it needs beyond the reply. Callers are sessions and the control thread, callees are
// owners of stripes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "source/cache/fill_request.h"
#include "source/cache/object.h"
#include "source/rt/peers.h"
#include "source/store/core/entry.h"
#include "source/store/core/extents.h"
#include "source/store/core/selector.h"

namespace cache {

class Fill;

// A hit-for-miss note says in its serial number why the response was not stored, so that whoever
// asks about the key can be told.
inline constexpr uint64_t kReasonsInNote = 32;
static_assert(policy::kNoStoreReasonCount <= kReasonsInNote);
constexpr uint64_t noteSerial(uint64_t number, policy::NoStoreReason why) {
  return number * kReasonsInNote + static_cast<uint64_t>(why);
}
constexpr policy::NoStoreReason reasonOfNote(const store::Entry& note) {
  return static_cast<policy::NoStoreReason>(note.serial() % kReasonsInNote);
}

enum class Verb : rt::Verb {
  acquire,
  await_head,
  pull,
  leave,
  await_flush,
  purge,
  invalidate,
  list,
  keep,
  resize,
};
inline constexpr rt::Verb kVerbCount = 10;
constexpr rt::Verb verb(Verb v) {
  return static_cast<rt::Verb>(v);
}

// One client's place in a fill. It lives in the client's frame; the owner's shard alone touches it
// between a call and its reply.
struct Subscription {
  Fill* fill = nullptr;             // nullptr: left
  uint64_t position = 0;            // bytes of the body that were handed out
  struct FillPart* held = nullptr;  // memory lent with the last pull
  bool leader = false;              // an answer that is not stored is for this one
  bool awaited = false;             // of the crowd, its first bytes not sent (crowd.h)
  uint8_t interims = 0;             // interim responses that it was given
  bool sliced = false;              // joined before there was a table of slices
};

enum class AcquireHow : uint8_t {
  joined,        // subscribed to a fill (new or running)
  look_again,    // something newer than what the caller saw is in the index
  hit_for_miss,  // fetch alone
  busy,          // the limit of fills or waiters is reached: fetch alone
  started,       // background only: a fill runs
};

struct AcquireCall : rt::CallHeader {
  AcquireCall() { rt::CallHeader::verb = cache::verb(Verb::acquire); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  const FillRequest* request = nullptr;
  std::optional<store::Entry> seen;  // what the caller found in the index and could not use
  bool broken = false;               // its record could not be read: it is to be dropped
  bool background = false;           // refresh; do not subscribe
  Subscription* subscription = nullptr;
  // Reply.
  AcquireHow how = AcquireHow::busy;
  bool collapsed = false;  // joined somebody else's fill
};

enum class FillHead : uint8_t {
  response,   // a response streams: info is set
  validated,  // the stored object was found current: look again and serve it
  sliced,     // it is stored now as a table of slices: look again and serve it
  changed,    // of a block: its version is not the origin's any more
  released,   // fetch alone: the response is for others (not stored, another variant)
  interim,    // an interim response (RFC 9110 15.2) for the leader: interim is set; ask again
  failed,     // no response: failure is set
  timed_out,  // waited too long: fetch alone
};

// A fill's response as a subscriber sees it; head.text stays valid while it is subscribed.
struct FillInfo {
  StoredHead head;  // text has no Age
  std::optional<uint64_t> length;
  uint16_t fwd_status = 0;
  bool firsthand = false;  // the origin's own: it has no Age
  bool stored = false;     // it is being stored
  policy::NoStoreReason why_not = policy::NoStoreReason::disabled;
};

struct AwaitHeadCall : rt::CallHeader {
  AwaitHeadCall() { rt::CallHeader::verb = cache::verb(Verb::await_head); }
  Subscription* subscription = nullptr;
  const http::Fields* request_fields =
      nullptr;  // to see whether a response of several variants fits
  uint64_t deadline_ns = UINT64_MAX;
  // Reply.
  FillHead how = FillHead::failed;
  std::string_view interim;  // a whole head; valid while subscribed
  FillInfo info;
  policy::UpstreamFailure failure = policy::UpstreamFailure::connect;
};

enum class PullHow : uint8_t { bytes, extent, end, failed };

// The next bytes from the subscription's position. Bytes are lent until the next pull or leave.
struct PullCall : rt::CallHeader {
  PullCall() { rt::CallHeader::verb = cache::verb(Verb::pull); }
  Subscription* subscription = nullptr;
  // Reply.
  PullHow how = PullHow::failed;
  std::span<const std::byte> bytes;
  store::Extent extent;  // the caller reads it from the disk itself
  uint64_t object_id = 0;
  uint32_t chunk_number = 0;
  base::Hash128 hash;
};

struct LeaveCall : rt::CallHeader {
  LeaveCall() { rt::CallHeader::verb = cache::verb(Verb::leave); }
  Subscription* subscription = nullptr;
};

// Replies once what the owner's write buffers held has been written, or cannot be.
struct AwaitFlushCall : rt::CallHeader {
  AwaitFlushCall() { rt::CallHeader::verb = cache::verb(Verb::await_flush); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  // Reply.
  bool written = false;
};

// Durable and in force everywhere when the reply comes.
// Later it is answered that it is in force and not durable, and goes on.
inline constexpr uint64_t kPurgePatience_ns = 30 * base::kSecond_ns;
inline constexpr uint64_t kGroupPurgePatience_ns = 5 * base::kSecond_ns;  // a response waits for it
struct PurgeCall : rt::CallHeader {
  PurgeCall() { rt::CallHeader::verb = cache::verb(Verb::purge); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  bool everything = false;
  bool soft = false;
  bool by_path = false;  // with No-Vary-Search: the key's equivalents go with it
  const store::Selector* selector = nullptr;  // by tag or prefix; else by hash and key
  base::Hash128 hash;
  std::string_view key;
  uint64_t patience_ns = kPurgePatience_ns;
  // Reply.
  uint64_t purged = 0;
  base::Error error;     // code ok: done and durable; timeout: the disk did not answer in time
  bool in_force = true;  // else it was refused
};

// One object as it is listed.
struct ListedObject {
  std::string key;      // the primary key
  std::string variant;  // what makes it a variant; else empty
  uint16_t status = 0;
  uint64_t body_bytes = 0;
  policy::Times times;
  uint8_t hits = 0;  // since it was written or written again, 3 at most
  bool stale_now = false;
  std::string tags;  // joined by line feeds
};

// A page of a stripe's objects, in the order of its log. After this time it is given up.
inline constexpr uint64_t kListPatience_ns = 30 * base::kSecond_ns;
struct ListCall : rt::CallHeader {
  ListCall() { rt::CallHeader::verb = cache::verb(Verb::list); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  const store::Selector* selector = nullptr;
  store::LogPosition after;
  uint32_t limit = 0;
  // Reply.
  std::vector<ListedObject> objects;
  std::optional<store::LogPosition> next;  // none: the stripe has no more
  // code ok: done; timeout: the disk did not answer in time; no_capacity: too many wait for it
  base::Error error;
};

// After an unsafe request: in force everywhere when the reply comes, durable soon after.
struct InvalidateCall : rt::CallHeader {
  InvalidateCall() { rt::CallHeader::verb = cache::verb(Verb::invalidate); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  base::Hash128 hash;
  std::string_view key;
  std::optional<store::Entry> only;  // nothing but this entry, which is of no use
  // Reply.
  bool found = false;
  uint64_t epoch = 0;  // of the stripe: each purge and invalidation begins another
};

// Stores a whole response that came past the cache, unless something was purged or invalidated in
// the stripe since `epoch`. Everything is borrowed until the reply.
struct KeepCall : rt::CallHeader {
  KeepCall() { rt::CallHeader::verb = cache::verb(Verb::keep); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  std::string_view key;
  const StoredHead* head = nullptr;
  std::span<const store::Label> groups;  // of its cache groups
  std::span<const std::byte> body;       // at most store::kMaxObjectBody
  uint64_t epoch = 0;
  bool stored = false;  // reply
};

// A log is to be longer or shorter; replied when nothing is behind its end. cut: the disk knows.
struct ResizeCall : rt::CallHeader {
  ResizeCall() { rt::CallHeader::verb = cache::verb(Verb::resize); }
  uint16_t cache = 0;
  uint16_t stripe = 0;
  uint32_t segments = 0;
  bool cut = false;
  bool done = false;  // reply; false: the stripe ended before
};

}  // namespace cache
