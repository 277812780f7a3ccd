// The objects that a start on these files would find: of every key the newest record, less what the
// purge journal has dropped.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "source/base/hash.h"
#include "source/base/types.h"
#include "source/tools/inspect/directory.h"
#include "source/tools/inspect/walk.h"

namespace inspect {

struct Object {
  std::string key;
  store::RecordKind kind = store::RecordKind::object;
  uint32_t stripe = 0;
  store::Location at;
  uint64_t length = 0;     // of the body
  uint16_t status = 0;     // 0: the record has no response head that this version knows
  uint32_t stored_s = 0;   // Unix seconds, like the next two
  uint32_t birth_s = 0;    // what its Age counts from
  uint32_t expires_s = 0;  // fresh until
  // What purges can name it by, and what each stands for: "tag:NAME", "directory:URL", or its
  // sixteen digits when it is neither.
  std::vector<store::Label> labels;
  std::vector<std::string> label_names;
  bool purged_softly = false;

  std::string_view freshness(base::UnixSeconds now) const;
};

class Collector : public RecordVisitor {
 public:
  void seen(const Stripe& stripe, const FoundRecord& record) override;
  // Applies the stripe's purges to what was seen of it.
  void purge(const Stripe& stripe, const store::JournalRead& journal);
  // In the order of their keys.
  std::vector<Object> take();

 private:
  std::map<std::pair<uint32_t, base::Hash128>, Object> newest_;
};

struct Extracted {
  std::string head;  // status line, fields, blank line
  std::vector<std::byte> body;
  std::string error;  // a sentence, if it failed
};
// `all`, in the order of their keys: where the blocks of a sliced object are looked for.
Extracted extract(const Stripe& stripe, const Object& object, std::span<const Object> all);

// Everything at once: walks all stripes.
struct Inventory {
  std::vector<Object> objects;
  Findings findings;
};
Inventory takeInventory(const Directory& directory);

}  // namespace inspect
