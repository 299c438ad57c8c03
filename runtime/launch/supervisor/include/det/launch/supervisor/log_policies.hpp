#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/layout.hpp>

#include <string>
#include <vector>

namespace det::launch::supervisor {

/// What the lines of a run's logs ask for.
struct PolicyMatches {
    std::string cancels_retries;  // the name of the policy; empty: none
    std::vector<int> bad_nodes;   // numbers of nodes in the run, ascending
    std::string bad_nodes_by;     // the name of the first policy that names one
};

/// Reads the log of every node of the run, line by line: text of any size, in time linear in it. A log that
/// is absent asks for nothing.
Result<PolicyMatches> match_log_policies(std::vector<LogPolicySpec> const& policies, RunLayout const& run,
                                         int nodes);

}  // namespace det::launch::supervisor
