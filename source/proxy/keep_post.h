// A response to POST that a later GET may be answered with (RFC 9110 9.3.3). It passes the cache by
// like every answer to a POST, and is handed to the owner of its key when it has arrived whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "source/cache/shard_cache.h"
#include "source/http/head.h"
#include "source/policy/response.h"

namespace proxy {

struct KeptPost {
  // Longer bodies are passed on and not kept: they are collected in memory.
  static constexpr size_t kMaxBody = store::kMaxObjectBody;

  cache::Keys keys;  // of the GET
  policy::Store store;
  std::string tags;  // joined, as cache::StoredHead has them
  std::vector<store::Label> groups;
  policy::Exchange exchange;
  uint64_t epoch = 0;  // of the key's stripe, after what was stored before has been invalidated
  std::vector<std::byte> body;
  bool whole = false;

  // False: it has become too long, and the response is not kept.
  bool add(std::span<const std::byte> bytes);
};

}  // namespace proxy
