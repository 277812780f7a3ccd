// What a request asks of the owner of its stripe, when the index had no fresh answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "source/cache/object.h"
#include "source/cache/origin.h"
#include "source/cache/slices.h"
#include "source/store/core/entry.h"

namespace cache {

struct FillRequest {
  const http::RequestHead* head = nullptr;
  std::string_view raw_head;  // the bytes that head's views point into
  const http::Effective* uri = nullptr;
  std::string_view client_address;
  std::string_view via;  // of the snapshot, which the fill keeps; so is the next
  std::string_view cdn_loop;
  const std::shared_ptr<const config::Snapshot>* snapshot = nullptr;
  const config::VirtualHost* host = nullptr;
  const config::Route* route = nullptr;
  policy::RequestDirectives directives;
  std::string_view primary_key;
  std::string_view key;          // of the variant, or the primary key
  std::optional<VaryRule> rule;  // under which `key` was made
  // Where the route heeds No-Vary-Search: the URL's own key, and what made primary_key of it.
  std::string_view asked;
  std::optional<VaryRule> search;
  // For a revalidation: what is stored.
  std::optional<store::Entry> stored_entry;
  std::string_view stored_head;  // StoredHead::text
  bool stored_weakened = false;  // StoredHead::weakened
  // Where the route slices: the size of blocks, else 0, and the block to begin with.
  uint64_t slice_bytes = 0;
  uint64_t first_block = 0;
  std::optional<BlockSpec> block;  // `key` is a block's
};

}  // namespace cache
