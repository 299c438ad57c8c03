#pragma once
#include <det/collectives/tuning.hpp>

#include <span>
#include <string>

namespace det::collectives {

/// Powers of two can be halved; where ranks are left over, halving sends all of the data twice more.
enum class RankCount : std::uint8_t { power_of_two, other };

/// Where an algorithm is the fastest: from this size on, with up to this many ranks.
struct SelectionRow {
    RankCount count;
    int ranks_max;
    std::size_t size_from_bytes;
    Algorithm algorithm;
};

/// By ranks, then by size. What `collectives-crossover` (tests/simulation) computes for Ethernet; a test
/// holds it against the simulator.
std::span<SelectionRow const> selection_table();

/// The row for these ranks and this size, by them alone: the same on all ranks.
SelectionRow const& choose_allreduce(int ranks, std::size_t size_bytes);

/// "the fastest from 256.0 KiB on with up to 4 ranks": for messages.
std::string describe(SelectionRow const& row);

/// In how many pieces a tree passes on its half.
int tree_segments(std::size_t size_bytes, std::size_t segment_bytes);

}  // namespace det::collectives
