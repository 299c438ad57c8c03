#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>

#include <string>
#include <vector>

namespace det::launch::supervisor {

/// The log policies that matched a line of a run's logs.
struct PolicyMatches {
    std::string cancel_retries_policy;  // name of the policy that forbids a restart; empty: none
    std::vector<int> bad_nodes;         // indices of the run's nodes, ascending
    std::string bad_nodes_policy;       // name of the first policy that excluded a node
    std::vector<std::string> labels;    // names of the matching policies without an action, each once
};

/// Matches the policies against each line of the logs of the run's nodes. Memory is bounded, and time is
/// linear in the size of the text. A missing log matches nothing.
Result<PolicyMatches> match_log_policies(std::vector<LogPolicySpec> const& policies, RunLayout const& run,
                                         int nodes);

}  // namespace det::launch::supervisor
