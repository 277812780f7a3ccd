// W-TinyLFU, which weighs a newcomer against who would have to go, and Belady's offline policy.
#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "source/base/hash.h"
#include "source/store/core/admission.h"
#include "source/tools/cachesim/policy.h"
#include "source/tools/cachesim/queue.h"

namespace cachesim {
namespace {

// A window of 1 % before a segmented LRU, whose protected part takes 80 %. Who leaves the window is
// kept only if it was asked for more often than who would have to go.
class WTinyLfu : public Policy {
 public:
  explicit WTinyLfu(const CacheSize& size)
      : size_(size),
        window_(size.objects),
        probation_(size.objects),
        protected_(size.objects),
        where_(size.objects),
        sketch_(std::max(size.objects, 1u)) {}

  bool request(const Request& request) override {
    const uint32_t object = request.object;
    sketch_.add(hashOf(object));
    switch (where_[object]) {
      case Where::window:
        window_.moveToBack(object);
        return true;
      case Where::probation:
        promote(object);
        return true;
      case Where::protect:
        protected_.moveToBack(object);
        return true;
      case Where::nowhere:
        break;
    }
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (bytes > size_.bytes) {
      return false;
    }
    window_.pushBack(object, bytes);
    where_[object] = Where::window;
    stored_ += bytes;
    while (window_.bytes() > size_.bytes / 100 && !window_.empty()) {
      leaveWindow();
    }
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }

 private:
  enum class Where : uint8_t { nowhere, window, probation, protect };

  static base::Hash128 hashOf(uint32_t object) {
    return base::hash128({reinterpret_cast<const char*>(&object), sizeof object}, 0);
  }

  void promote(uint32_t object) {
    protected_.pushBack(object, probation_.remove(object));
    where_[object] = Where::protect;
    while (protected_.bytes() > size_.bytes / 100 * 99 / 10 * 8) {
      const uint32_t oldest = protected_.front();
      probation_.pushBack(oldest, protected_.remove(oldest));
      where_[oldest] = Where::probation;
    }
  }

  void leaveWindow() {
    const uint32_t candidate = window_.front();
    const uint64_t bytes = window_.remove(candidate);
    where_[candidate] = Where::nowhere;
    const uint64_t room = size_.bytes / 100 * 99;
    const uint32_t wanted = sketch_.estimate(hashOf(candidate));
    while (probation_.bytes() + protected_.bytes() + bytes > room) {
      Queue& from = probation_.empty() ? protected_ : probation_;
      if (from.empty() || sketch_.estimate(hashOf(from.front())) >= wanted) {
        return;
      }
      where_[from.front()] = Where::nowhere;
      from.remove(from.front());
    }
    probation_.pushBack(candidate, bytes);
    where_[candidate] = Where::probation;
  }

  CacheSize size_;
  Queue window_;
  Queue probation_;
  Queue protected_;
  std::vector<Where> where_;
  store::FrequencySketch sketch_;
  uint64_t stored_ = 0;
};

class Belady : public Policy {
 public:
  explicit Belady(const CacheSize& size) : size_(size), cached_(size.objects) {}

  bool request(const Request& request) override {
    Cached& cached = cached_[request.object];
    const bool hit = cached.bytes > 0;
    if (hit) {
      by_next_.erase({cached.next, request.object});
      used_ -= cached.bytes;
    }
    const uint64_t bytes = hit ? cached.bytes : storedBytes(request.bytes, size_.segment_bytes);
    cached = Cached{};
    if (request.next == kNeverAgain || bytes > size_.bytes) {
      return hit;
    }
    cached = Cached{request.next, bytes};
    by_next_.insert({request.next, request.object});
    used_ += bytes;
    stored_ += hit ? 0 : bytes;
    while (used_ > size_.bytes) {
      const auto latest = std::prev(by_next_.end());
      Cached& victim = cached_[latest->second];
      stored_ -= latest->second == request.object && !hit ? bytes : 0;
      used_ -= victim.bytes;
      victim = Cached{};
      by_next_.erase(latest);
    }
    return hit;
  }
  uint64_t storedTotal() const override { return stored_; }

 private:
  struct Cached {
    uint64_t next = 0;
    uint64_t bytes = 0;  // 0: not cached
  };
  CacheSize size_;
  std::vector<Cached> cached_;
  std::set<std::pair<uint64_t, uint32_t>> by_next_;
  uint64_t used_ = 0;
  uint64_t stored_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeWTinyLfu(const CacheSize& size) {
  return std::make_unique<WTinyLfu>(size);
}
std::unique_ptr<Policy> makeBelady(const CacheSize& size) {
  return std::make_unique<Belady>(size);
}

}  // namespace cachesim
