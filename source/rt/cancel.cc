#include "source/rt/cancel.h"

namespace rt {

CancelScope::CancelScope(CancelScope& parent) {
  requested_ = parent.requested_;
  parent.children_.pushBack(this);
}

CancelScope::~CancelScope() = default;  // the lists check that nothing waits here any more

void CancelScope::request() {
  if (requested_) {
    return;
  }
  requested_ = true;
  // A hook may make coroutines ready but never resumes one, so the lists only shrink here.
  while (CancelHook* hook = hooks_.popFront()) {
    hook->cancel(*hook);
  }
  for (CancelScope* child = children_.front(); child != nullptr; child = children_.next(child)) {
    child->request();
  }
}

}  // namespace rt
