#include "partner_copies.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace det::checkpoint {

// The nodes stand in a row, those of one switch beside each other. The partner of a node is `shift` places
// further on, cyclically. With the number of nodes of the largest switch as `shift`, no node reaches one of
// its own switch if that switch has at most half of the nodes; otherwise only those do that must. If all
// nodes have one switch, the partner is the next node.
std::optional<std::vector<int>> choose_partners(std::vector<RankPlace> const& ranks) {
    std::map<int, std::vector<int>> of_node;
    std::map<std::string, std::vector<int>> nodes_of_switch;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        auto& members = of_node[ranks[rank].node];
        if (members.empty()) nodes_of_switch[ranks[rank].switch_name].push_back(ranks[rank].node);
        members.push_back(static_cast<int>(rank));
    }
    auto const per_node = of_node.empty() ? 0 : of_node.begin()->second.size();
    bool const is_even =
        std::ranges::all_of(of_node, [&](auto const& node) { return node.second.size() == per_node; });
    if (of_node.size() < 2 || !is_even) return std::nullopt;
    std::vector<int> row;
    std::size_t largest = 1;
    for (auto const& [name, nodes] : nodes_of_switch) {
        row.insert(row.end(), nodes.begin(), nodes.end());
        largest = std::max(largest, nodes.size());
    }
    auto const shift = largest == row.size() ? 1 : largest;
    std::vector<int> partners(ranks.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
        auto const& from = of_node[row[i]];
        auto const& to = of_node[row[(i + shift) % row.size()]];
        for (std::size_t local = 0; local < per_node; ++local)
            partners[static_cast<std::size_t>(from[local])] = to[local];
    }
    return partners;
}

void PartnerCopies::prepare(SnapshotId const& id, std::uint64_t size_bytes,
                            std::optional<SnapshotId> const& confirmed) {
    files_.open(confirmed);
    slot_ = &files_.choose(confirmed);
    auto& other = files_.other_than(*slot_);
    prepared_ = files_.prepare(*slot_, size_bytes);
    // Takes all memory now, while no other rank of the node measures what is left.
    if (prepared_ && !other.id) prepared_ = files_.prepare(other, size_bytes);
    slot_->id = id;
    complete_path_ = slot_->path.parent_path() / to_string(MemoryFileName{id.run, id.steps, from_, id.ranks});
}

// Every message is sent and awaited whatever has failed on a rank, so that its partner and its source do not
// wait for it.
Result<bool> PartnerCopies::exchange(std::span<std::byte const> own) {
    std::uint64_t const own_size = own.size();
    std::uint64_t source_size = 0;
    DET_TRY(messages_.transfer(
        RankMessages::Outgoing{to_, std::as_bytes(std::span(&own_size, 1))},
        RankMessages::Incoming{from_, std::as_writable_bytes(std::span(&source_size, 1))}));
    auto const into = slot_ != nullptr ? slot_->file.bytes() : std::span<std::byte>();
    std::uint64_t const is_ready = prepared_ && source_size == into.size() ? 1 : 0;
    std::uint64_t partner_is_ready = 0;
    DET_TRY(messages_.transfer(
        RankMessages::Outgoing{from_, std::as_bytes(std::span(&is_ready, 1))},
        RankMessages::Incoming{to_, std::as_writable_bytes(std::span(&partner_is_ready, 1))}));
    bool const sends = own_size > 0 && partner_is_ready != 0;
    bool const receives = source_size > 0 && is_ready != 0;
    DET_TRY(messages_.transfer(sends ? std::optional(RankMessages::Outgoing{to_, own}) : std::nullopt,
                               receives ? std::optional(RankMessages::Incoming{from_, into}) : std::nullopt));
    DET_TRY(prepared_);
    if (!sends || !receives || !is_complete_memory_file(into)) return false;
    DET_TRY(rename_file(slot_->path, complete_path_));
    return true;
}

void PartnerCopies::finish_exchange(bool is_complete) {
    if (is_complete && slot_ != nullptr) slot_->path = complete_path_;
}

}  // namespace det::checkpoint
