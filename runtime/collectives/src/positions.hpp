#pragma once
#include <det/protocol/ids.hpp>

#include <bit>

namespace det::collectives {

/// The ranks as a power of two of positions: of the first 2 * paired ranks, each even one speaks for the odd
/// one above it too. Positions are in the order of the ranks.
class Positions {
public:
    explicit Positions(int ranks)
        : count_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), paired_(ranks - count_) {}

    int count() const { return count_; }
    bool is_paired(Rank rank) const { return rank.value < 2 * paired_; }
    bool has_position(Rank rank) const { return !is_paired(rank) || rank.value % 2 == 0; }
    int of(Rank rank) const { return is_paired(rank) ? rank.value / 2 : rank.value - paired_; }
    Rank at(int position) const { return {position < paired_ ? 2 * position : position + paired_}; }

private:
    int count_;
    int paired_;
};

}  // namespace det::collectives
