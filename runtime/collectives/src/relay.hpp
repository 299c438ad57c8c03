#pragma once
#include <optional>

#include "agreement.hpp"

namespace det::collectives {

/// Whom a rank hears from and whom it tells, when one rank tells all.
struct Relay {
    std::optional<Rank> parent;
    std::vector<Rank> children;
};

/// Fewest steps: for what fits few segments.
Relay binomial_tree(Rank rank, Rank root, int ranks);
/// Fewest bytes per rank: for what has at least as many segments as there are ranks.
Relay chain(Rank rank, Rank root, int ranks);

/// `bytes` of the rank without a parent to all, segment by segment, through whichever relays were planned.
Status relay(Channel channel, Relay const& plan, transport::MutableBytes bytes, std::size_t segment_bytes);

}  // namespace det::collectives
