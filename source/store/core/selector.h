// What a purge by tag or by prefix selects: records with a label, and of those the ones whose key
// begins with a text.
#pragma once

#include <string>

#include "source/store/core/labels.h"
#include "source/store/core/record.h"

namespace store {

struct Selector {
  Label label = 0;
  // Empty: the label says all. Else the label is that of a directory that the text begins with.
  std::string key_prefix;

  bool selects(const RecordView& record) const {
    return hasLabel(record.labels, label) && record.key.starts_with(key_prefix);
  }
};

}  // namespace store
