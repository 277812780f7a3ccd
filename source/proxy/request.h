// One request while it is answered: what was parsed, what was decided, and what the log and the
// counters want to know in the end. The parts that own memory come from a pool, so that a usual
// request allocates nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "source/cache/shard_cache.h"
#include "source/config/model/snapshot.h"
#include "source/http/codec.h"
#include "source/http/uri.h"
#include "source/policy/cache_status.h"
#include "source/policy/request.h"
#include "source/proxy/config_ref.h"
#include "source/proxy/spares.h"

namespace proxy {

// Tables and strings that are reused from request to request.
struct Scratch {
  http::RequestHead head;
  http::AuthorityBuffer authority;
  cache::Keys keys;
  http::ResponseHead stored;  // a stored head, parsed
  http::Fields fields;        // being changed on the way to client or origin
  http::Fields spare;
  std::string text;      // a head being written
  std::string target;    // when path and query are not adjacent in the request
  std::string normal;    // what normalised fields of head view
  std::string raw_head;  // a copy of the request's head, when its buffer must be given up
};

using ScratchPool = Spares<Scratch>;

// What became of a request; for the access log and the counters.
struct Outcome {
  uint16_t status = 0;      // 0: nothing was sent
  uint64_t head_bytes = 0;  // of the response
  uint64_t body_bytes = 0;
  uint64_t received_bytes = 0;  // of the request's body
  std::string sent_head;        // kept only for an access log
  std::string_view flags;       // Envoy's words: NR, UF, UH, UO, URX, UT, UC, DC, DPE
  std::string_view details;
  policy::CacheStatus cache;
  bool cached_route = false;
  std::string_view upstream_cluster;
  std::string upstream_host;  // kept only for an access log
  std::optional<uint64_t> upstream_ns;
  std::optional<uint64_t> age_s;
};

struct Request {
  Request(Scratch& s, ConfigUse c) : scratch(s), config(std::move(c)) {}

  Scratch& scratch;
  ConfigUse config;
  const config::ListenerConfig* listener = nullptr;
  std::string_view raw_head;
  http::Effective uri;
  std::string_view target;  // path and query, as the client wrote them
  const config::VirtualHost* host = nullptr;
  const config::Route* route = nullptr;
  http::Framing framing = http::NoBody{};
  std::optional<store::Entry> note;  // the hit-for-miss note that sent the request past the cache
  bool is_head = false;
  bool keep_alive = false;
  bool reuse = false;  // the connection can carry another request
  base::MonoTime begun;
  base::UnixSeconds begun_wall{0};
  int64_t begun_unix_ms = 0;  // for the access log alone
  Outcome outcome;

  const http::RequestHead& head() const { return scratch.head; }
  const config::ForwardAction& forward() const {
    return std::get<config::ForwardAction>(route->action);
  }
};

}  // namespace proxy
