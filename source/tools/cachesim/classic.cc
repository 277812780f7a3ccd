// FIFO, LRU, SIEVE and S3-FIFO, object by object, with a capacity in bytes.
#include <algorithm>

#include "source/tools/cachesim/policy.h"
#include "source/tools/cachesim/queue.h"

namespace cachesim {
namespace {

class Fifo : public Policy {
 public:
  Fifo(const CacheSize& size, bool lru)
      : size_(size), lru_(lru), queue_(size.objects), cached_(size.objects) {}

  bool request(const Request& request) override {
    if (cached_[request.object]) {
      if (lru_) {
        queue_.moveToBack(request.object);
      }
      return true;
    }
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (bytes > size_.bytes) {
      return false;
    }
    while (queue_.bytes() + bytes > size_.bytes) {
      cached_[queue_.front()] = false;
      queue_.remove(queue_.front());
    }
    queue_.pushBack(request.object, bytes);
    cached_[request.object] = true;
    stored_ += bytes;
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }

 private:
  CacheSize size_;
  bool lru_;
  Queue queue_;
  std::vector<bool> cached_;
  uint64_t stored_ = 0;
};

// The hand goes from the oldest to the newest, spares who was visited, and stays where it evicted.
class Sieve : public Policy {
 public:
  explicit Sieve(const CacheSize& size)
      : size_(size), queue_(size.objects), cached_(size.objects), visited_(size.objects) {}

  bool request(const Request& request) override {
    if (cached_[request.object]) {
      visited_[request.object] = true;
      return true;
    }
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (bytes > size_.bytes) {
      return false;
    }
    while (queue_.bytes() + bytes > size_.bytes) {
      evict();
    }
    queue_.pushBack(request.object, bytes);
    cached_[request.object] = true;
    stored_ += bytes;
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }

 private:
  void evict() {
    uint32_t at = hand_ == kNone ? queue_.front() : hand_;
    while (visited_[at]) {
      visited_[at] = false;
      at = queue_.after(at) == kNone ? queue_.front() : queue_.after(at);
    }
    hand_ = queue_.after(at);
    queue_.remove(at);
    cached_[at] = false;
  }

  CacheSize size_;
  Queue queue_;
  std::vector<bool> cached_;
  std::vector<bool> visited_;
  uint32_t hand_ = kNone;
  uint64_t stored_ = 0;
};

class S3Fifo : public Policy {
 public:
  explicit S3Fifo(const CacheSize& size)
      : size_(size),
        small_(size.objects),
        main_(size.objects),
        ghost_(size.objects),
        where_(size.objects),
        frequency_(size.objects) {}

  bool request(const Request& request) override {
    const uint32_t object = request.object;
    if (where_[object] == Where::small || where_[object] == Where::main) {
      frequency_[object] = static_cast<uint8_t>(std::min(frequency_[object] + 1, 3));
      return true;
    }
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (bytes > size_.bytes) {
      return false;
    }
    const bool known = where_[object] == Where::ghost;
    if (known) {
      ghost_.remove(object);
      where_[object] = Where::nowhere;
    }
    while (small_.bytes() + main_.bytes() + bytes > size_.bytes) {
      if (small_.bytes() >= size_.bytes / 10 || main_.empty()) {
        evictSmall();
      } else {
        evictMain();
      }
    }
    frequency_[object] = 0;
    where_[object] = known ? Where::main : Where::small;
    (known ? main_ : small_).pushBack(object, bytes);
    stored_ += bytes;
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }

 private:
  enum class Where : uint8_t { nowhere, small, main, ghost };

  // Moves who was hit more than once to main, until one goes.
  void evictSmall() {
    while (!small_.empty()) {
      const uint32_t object = small_.front();
      const uint64_t bytes = small_.remove(object);
      if (frequency_[object] > 1) {
        frequency_[object] = 0;
        where_[object] = Where::main;
        main_.pushBack(object, bytes);
        continue;
      }
      where_[object] = Where::ghost;
      ghost_.pushBack(object, bytes);
      while (ghost_.bytes() > size_.bytes / 10 * 9) {
        where_[ghost_.front()] = Where::nowhere;
        ghost_.remove(ghost_.front());
      }
      return;
    }
  }

  void evictMain() {
    while (true) {
      const uint32_t object = main_.front();
      if (frequency_[object] == 0) {
        main_.remove(object);
        where_[object] = Where::nowhere;
        return;
      }
      frequency_[object]--;
      main_.moveToBack(object);
    }
  }

  CacheSize size_;
  Queue small_;
  Queue main_;
  Queue ghost_;
  std::vector<Where> where_;
  std::vector<uint8_t> frequency_;
  uint64_t stored_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeFifo(const CacheSize& size) {
  return std::make_unique<Fifo>(size, false);
}
std::unique_ptr<Policy> makeLru(const CacheSize& size) {
  return std::make_unique<Fifo>(size, true);
}
std::unique_ptr<Policy> makeSieve(const CacheSize& size) {
  return std::make_unique<Sieve>(size);
}
std::unique_ptr<Policy> makeS3Fifo(const CacheSize& size) {
  return std::make_unique<S3Fifo>(size);
}

}  // namespace cachesim
