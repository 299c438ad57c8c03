#pragma once
#include <det/collectives/call.hpp>
#include <det/collectives/tuning.hpp>

#include <span>
#include <string>

namespace det::collectives {

/// Of other counts, ranks are left over where steps double, or messages are cut in two.
enum class RankCount : std::uint8_t { power_of_two, other };

/// Where an algorithm is the fastest: from this size on, with up to this many ranks.
struct SelectionRow {
    RankCount count;
    int ranks_max;
    std::size_t size_from_bytes;
    Algorithm algorithm;
};

/// Those that an operation on elements has; the sizes by which one is chosen are what all ranks put in or
/// have in the end.
std::span<Algorithm const> algorithms_of(Kind kind);

/// By ranks, then by size. What `collectives-crossover` (tests/simulation) computes for Ethernet; a test
/// holds it against the simulator.
std::span<SelectionRow const> selection_table(Kind kind);

/// The row for these ranks and this size, by them alone: the same on all ranks.
SelectionRow const& choose(Kind kind, int ranks, std::size_t size_bytes);

/// "the fastest from 256.0 KiB on with up to 4 ranks": for messages.
std::string describe(SelectionRow const& row);

/// In how many pieces (Part::segments) such an amount goes through a tree or a chain.
int segments_for(Algorithm algorithm, std::size_t size_bytes, std::size_t segment_bytes);

}  // namespace det::collectives
