#pragma once
#include <det/checkpoint/peers.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace det::checkpoint {

/// What a rank says of its next snapshot, before any rank writes.
struct RankNeeds {
    int node = 0;
    bool is_copying = false;                 // the last one, to its partner
    bool can_keep = true;                    // its own state
    bool is_complete = true;                 // the last one, with its copies
    bool can_copy = true;                    // to and from other nodes
    std::uint64_t size = 0;                  // bytes of the snapshot; 0 if it can't be kept
    std::uint64_t lacks = 0;                 // bytes that its two files lack
    int source = -1;                         // the rank whose snapshots it keeps too; -1: none
    std::array<std::uint64_t, 2> held = {};  // the sizes of the two files for the source
};

/// What all ranks have said: the same on all of them.
class MemoryNeeds {
public:
    explicit MemoryNeeds(std::vector<RankNeeds> ranks) : ranks_(std::move(ranks)) {}
    /// Collective.
    static Result<MemoryNeeds> exchange(Peers& peers, RankNeeds const& own);

    bool is_any_copying() const;
    bool can_all_keep() const;
    bool can_all_copy() const;
    bool are_all_complete() const;
    /// Whether a node needs more memory than its files have.
    bool is_memory_needed() const;
    /// What the files of a node's ranks lack, and those with copies for its ranks' sources, in bytes.
    std::uint64_t own_bytes(int node) const;
    std::uint64_t copies_bytes(int node) const;
    /// The size of this rank's snapshot; 0 if there is no such rank.
    std::uint64_t size_of(int rank) const;

private:
    std::vector<RankNeeds> ranks_;
};

}  // namespace det::checkpoint
