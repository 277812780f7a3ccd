// Cancellation is a request that flows down a tree of scopes. Whatever waits in a scope registers a
// hook; request() calls the hooks once; the waits then end with `cancelled`, and their coroutines
// unwind.
#pragma once

#include "source/base/intrusive_list.h"

namespace rt {

// cancel is called at most once, after the hook has left its scope.
struct CancelHook : base::ListHook {
  void (*cancel)(CancelHook&) = nullptr;
};

class CancelScope : public base::ListHook {
 public:
  CancelScope() = default;
  // A child: cancelled with its parent, which outlives it.
  explicit CancelScope(CancelScope& parent);
  ~CancelScope();

  bool requested() const { return requested_; }
  void request();
  // Registers a wait. The scope is not yet cancelled.
  void add(CancelHook& hook) { hooks_.pushBack(&hook); }

 private:
  base::IntrusiveList<CancelHook> hooks_;
  base::IntrusiveList<CancelScope> children_;
  bool requested_ = false;
};

}  // namespace rt
