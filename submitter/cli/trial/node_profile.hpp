#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>

#include <string>
#include <vector>

#include "trial/profile_summary.hpp"

namespace det::cli {

/// The system metrics of one node of a run.
struct NodeProfile {
    int index = 0;
    std::string host;
    std::vector<SystemMetric> metrics;
};

/// The nodes of a run that were sampled in this period.
Result<std::vector<NodeProfile>> load_node_profiles(RunLayout const& run, ProfiledPeriod const& period);

}  // namespace det::cli
