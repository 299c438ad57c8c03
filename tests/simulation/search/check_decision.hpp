#pragma once
#include <det/search/asha.hpp>

#include <string>

#include "shared_rungs.hpp"

namespace det::simulation {

/// Repeats recorded decisions from their recorded lists of trials and the entries of the rungs.
class DecisionChecker {
public:
    DecisionChecker(SharedRungs const& rungs, search::AshaSearch const& search)
        : rungs_(rungs), search_(search) {}

    /// What is wrong with a decision; empty if it follows from its list.
    std::string objection(SearchDecision const& decision) const;

private:
    SharedRungs const& rungs_;
    search::AshaSearch const& search_;
};

}  // namespace det::simulation
