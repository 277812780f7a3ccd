// Objects that own memory, kept for the next user when one is done: after warm-up their strings and
// tables are long enough, and nothing is allocated. What the last user left in one is still there.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace proxy {

template <class T>
class Spares {
 public:
  static constexpr size_t kSpares = 256;

  // Has one until it is destroyed. The pool outlives it.
  class Lease {
   public:
    explicit Lease(Spares& pool) : pool_(pool), object_(pool.take()) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() { pool_.give(std::move(object_)); }
    T& operator*() { return *object_; }
    T* operator->() { return object_.get(); }

   private:
    Spares& pool_;
    std::unique_ptr<T> object_;
  };

 private:
  std::unique_ptr<T> take() {
    if (spares_.empty()) {
      return std::make_unique<T>();
    }
    std::unique_ptr<T> object = std::move(spares_.back());
    spares_.pop_back();
    return object;
  }
  void give(std::unique_ptr<T> object) {
    if (spares_.size() < kSpares) {
      spares_.push_back(std::move(object));
    }
  }

  std::vector<std::unique_ptr<T>> spares_;
};

}  // namespace proxy
