#pragma once
#include <det/checkpoint/rank_messages.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snapshot_files.hpp"

namespace det::checkpoint {

/// Where a rank is.
struct RankPlace {
    int node = 0;
    std::string switch_name = {};  // to which its node is connected; empty: unknown
};

/// Chooses for each rank the rank of another node that keeps copies of its snapshots. Each rank keeps those
/// of one rank. As few ranks as possible have their partner under the switch of their own node.
/// \param ranks by rank
/// \return nullopt if there is only one node, or if nodes have different numbers of ranks
std::optional<std::vector<int>> choose_partners(std::vector<RankPlace> const& ranks);

/// Sends each snapshot of this rank to its partner, and keeps the newest two of the rank whose partner this
/// rank is, its source. prepare() and finish_exchange() are for the thread of the program, exchange() for the
/// thread that completes the snapshot, between them.
class PartnerCopies {
public:
    /// \param messages must outlive this object
    PartnerCopies(RankMessages& messages, MemoryPlace const& place, int to, int from, int ranks)
        : messages_(messages), to_(to), from_(from), files_(place, from, ranks) {}

    int source() const { return from_; }
    /// Of the files for the source.
    std::array<std::uint64_t, 2> held_bytes(std::optional<SnapshotId> const& confirmed) {
        files_.open(confirmed);
        return files_.held_bytes();
    }
    /// Takes memory for the next snapshot of the source. An error is that of the next exchange().
    void prepare(SnapshotId const& id, std::uint64_t size_bytes, std::optional<SnapshotId> const& confirmed);
    /// Exchanges snapshots with the partner and the source.
    /// \param own the complete snapshot; empty if this rank has none
    /// \return false if this rank, its partner or its source has no complete snapshot; an error if copies
    ///     can't be made any more
    Result<bool> exchange(std::span<std::byte const> own);
    /// Notes the result of exchange().
    void finish_exchange(bool is_complete);
    void remove() { files_.remove(); }

private:
    RankMessages& messages_;
    int to_;
    int from_;
    SnapshotFiles files_;
    SnapshotFiles::Slot* slot_ = nullptr;
    std::filesystem::path complete_path_;
    Status prepared_ = Ok{};
};

}  // namespace det::checkpoint
