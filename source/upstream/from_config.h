// A cluster of the configuration as the data plane wants it.
#pragma once

#include "source/config/model/snapshot.h"
#include "source/upstream/cluster_spec.h"

namespace upstream {

ClusterSpec fromConfig(const config::ClusterConfig& config);
std::vector<ClusterSpec> fromConfig(const std::vector<config::ClusterConfig>& configs);

}  // namespace upstream
