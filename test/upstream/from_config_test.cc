// Goal: every setting of a configured cluster reaches the data plane.
// Method: a configuration in which each value differs from its default.
#include "source/upstream/from_config.h"

#include <gtest/gtest.h>

namespace upstream {
namespace {

TEST(FromConfig, CarriesEverySetting) {
  config::ClusterConfig config;
  config.name = "c";
  config.discovery = config::Discovery::strict_dns;
  config.balancing = config::Balancing::least_request;
  config.connect_timeout_ms = 1;
  config.endpoints = {{{"a.test", 81}, 7}, {{"b.test", 82}, 1}};
  config.dns_refresh_ms = 2;
  config.max_connections = 3;
  config.max_pending_requests = 4;
  config.max_requests = 5;
  config.idle_timeout_ms = 6;
  config.max_requests_per_connection = 8;

  ClusterSpec spec;
  spec.name = "c";
  spec.discovery = Discovery::strict_dns;
  spec.lb_policy = LbPolicy::least_request;
  spec.connect_timeout_ms = 1;
  spec.endpoints = {{"a.test", 81, 7}, {"b.test", 82, 1}};
  spec.dns_refresh_ms = 2;
  spec.max_connections = 3;
  spec.max_pending = 4;
  spec.max_requests = 5;
  spec.idle_timeout_ms = 6;
  spec.max_requests_per_connection = 8;
  EXPECT_EQ(fromConfig(config), spec);
}

TEST(FromConfig, DefaultsAreTheSame) {
  EXPECT_EQ(fromConfig(config::ClusterConfig()), ClusterSpec());
  EXPECT_EQ(fromConfig(std::vector<config::ClusterConfig>(3)).size(), 3U);
}

}  // namespace
}  // namespace upstream
