// The product's memory tier: store::S3Fifo, with nodes that have no bytes behind them.
#include <algorithm>

#include "source/base/hash.h"
#include "source/store/core/s3fifo.h"
#include "source/tools/cachesim/policy.h"

namespace cachesim {
namespace {

constexpr uint64_t kTypicalObject_bytes = 4096;  // as the memory tier sizes its ghost table
constexpr uint64_t kMinGhost = 1024;
constexpr uint64_t kMaxGhost = 1 << 22;

store::S3FifoOptions optionsFor(uint64_t bytes) {
  store::S3FifoOptions options;
  options.budget_bytes = bytes;
  options.ghost_entries =
      static_cast<uint32_t>(std::clamp(bytes / kTypicalObject_bytes, kMinGhost, kMaxGhost));
  return options;
}

class Memory : public Policy {
 public:
  explicit Memory(const CacheSize& size)
      : size_(size), policy_(optionsFor(size.bytes)), nodes_(size.objects) {}
  ~Memory() override {
    while (store::RamNode* node = policy_.evict()) {
      policy_.freed(node->bytes);
    }
  }

  bool request(const Request& request) override {
    store::RamNode& node = nodes_[request.object];
    if (node.queue != store::RamNode::Queue::none) {
      policy_.hit(&node);
      return true;
    }
    const uint64_t bytes = storedBytes(request.bytes, size_.segment_bytes);
    if (!policy_.accepts(bytes)) {
      return false;
    }
    while (!policy_.hasRoom(bytes)) {
      policy_.freed(policy_.evict()->bytes);
    }
    node.fingerprint =
        base::hash64({reinterpret_cast<const char*>(&request.object), sizeof request.object}, 0);
    node.bytes = bytes;
    policy_.insert(&node);
    stored_ += bytes;
    return false;
  }
  uint64_t storedTotal() const override { return stored_; }
  uint64_t writtenTotal() const override { return 0; }  // it is memory

 private:
  CacheSize size_;
  store::S3Fifo policy_;
  std::vector<store::RamNode> nodes_;
  uint64_t stored_ = 0;
};

}  // namespace

std::unique_ptr<Policy> makeMemory(const CacheSize& size) {
  return std::make_unique<Memory>(size);
}

}  // namespace cachesim
