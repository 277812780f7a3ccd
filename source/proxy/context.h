// What a shard lends to its sessions. Everything outlives them.
#pragma once

#include "source/cache/shard_cache.h"
#include "source/http/date.h"
#include "source/net/socket_factory.h"
#include "source/proxy/access_log.h"
#include "source/proxy/config_ref.h"
#include "source/proxy/stats.h"
#include "source/rt/buffer_pool.h"
#include "source/rt/reactor.h"
#include "source/rt/receive_pool.h"
#include "source/upstream/cluster_manager.h"

namespace proxy {

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
};

}  // namespace proxy
