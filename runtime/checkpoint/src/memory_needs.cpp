#include "memory_needs.hpp"

#include <det/foundation/text.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "snapshot_files.hpp"

namespace det::checkpoint {
namespace {

std::string render_needs(RankNeeds const& needs) {
    return fmt::format("{} {:d} {:d} {:d} {:d} {} {} {} {} {}", needs.node, needs.is_copying, needs.can_keep,
                       needs.is_complete, needs.can_copy, needs.size, needs.lacks, needs.source,
                       needs.held[0], needs.held[1]);
}

/// A text that is not complete is that of a rank that can't keep its state.
RankNeeds parse_needs(std::string_view text) {
    std::vector<std::int64_t> n;
    for (auto const word : split(text, ' ')) {
        auto const number = parse_integer<std::int64_t>(word);
        if (!number) break;
        n.push_back(*number);
    }
    RankNeeds needs;
    needs.can_keep = false;
    if (n.size() != 10) return needs;
    auto const bytes = [&](std::size_t i) {
        return static_cast<std::uint64_t>(std::max<std::int64_t>(n[i], 0));
    };
    return {static_cast<int>(n[0]), n[1] != 0,           n[2] != 0, n[3] != 0, n[4] != 0, bytes(5), bytes(6),
            static_cast<int>(n[7]), {bytes(8), bytes(9)}};
}

}  // namespace

Result<MemoryNeeds> MemoryNeeds::exchange(Peers& peers, RankNeeds const& own) {
    DET_TRY_ASSIGN(auto const texts, peers.allgather(render_needs(own)));
    std::vector<RankNeeds> ranks;
    for (auto const& text : texts) ranks.push_back(parse_needs(text));
    return MemoryNeeds(std::move(ranks));
}

bool MemoryNeeds::is_any_copying() const { return std::ranges::any_of(ranks_, &RankNeeds::is_copying); }
bool MemoryNeeds::can_all_keep() const { return std::ranges::all_of(ranks_, &RankNeeds::can_keep); }
bool MemoryNeeds::can_all_copy() const { return std::ranges::all_of(ranks_, &RankNeeds::can_copy); }
bool MemoryNeeds::are_all_complete() const { return std::ranges::all_of(ranks_, &RankNeeds::is_complete); }

bool MemoryNeeds::is_memory_needed() const {
    return std::ranges::any_of(
        ranks_, [&](auto const& rank) { return own_bytes(rank.node) != 0 || copies_bytes(rank.node) != 0; });
}

std::uint64_t MemoryNeeds::own_bytes(int node) const {
    std::uint64_t sum = 0;
    for (auto const& rank : ranks_) sum += rank.node == node ? rank.lacks : 0;
    return sum;
}

std::uint64_t MemoryNeeds::copies_bytes(int node) const {
    std::uint64_t sum = 0;
    for (auto const& rank : ranks_) {
        if (rank.node == node && rank.source >= 0) sum += lacking_bytes(rank.held, size_of(rank.source));
    }
    return sum;
}

std::uint64_t MemoryNeeds::size_of(int rank) const {
    return rank >= 0 && rank < std::ssize(ranks_) ? ranks_[static_cast<std::size_t>(rank)].size : 0;
}

}  // namespace det::checkpoint
