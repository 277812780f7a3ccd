// What a shard lends to its sessions. Everything outlives them.
#pragma once

#include <string>

#include "source/cache/shard_cache.h"
#include "source/http/date.h"
#include "source/http/head.h"
#include "source/net/socket_factory.h"
#include "source/proxy/access_log.h"
#include "source/proxy/config_ref.h"
#include "source/proxy/spares.h"
#include "source/proxy/stats.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/reactor.h"
#include "source/rt/receive_pool.h"
#include "source/upstream/cluster_manager.h"

namespace proxy {

// What the head of a request to an origin is made of, and the head.
struct OriginScratch {
  http::Fields fields;
  http::Fields spare;
  std::string values;  // that fields view
  std::string path;    // and query
  std::string target;
  std::string head;
};

struct Context {
  rt::Reactor& reactor;
  rt::ReceivePool& receive;
  rt::BufferPool& buffers;
  net::SocketFactory& sockets;
  upstream::ClusterManager& clusters;
  ConfigHolder& config;
  AccessLog& access_log;
  ProxyStats& stats;
  http::DateCache& date;
  base::ShardId shard;
  bool draining = false;  // answers carry Connection: close, idle connections are closed
  Spares<OriginScratch> origin_scratch{};
};

}  // namespace proxy
