#pragma once
#include "operation.hpp"

namespace det::collectives::node {

/// The location of a rank's buffers. If the data is not tiny, a rank writes this in the payload of its entry.
struct BufferLocation {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};    // in memory that other ranks cannot read
    static constexpr std::uint64_t in_small_buffer = nowhere - 1;  // a copy is in the small buffer
    static constexpr std::uint64_t not_needed =
        0;  // for `out`: the rank can use shared memory, but no other rank writes its output
    std::uint64_t in = nowhere;
    std::uint64_t out = nowhere;

    std::size_t write(Payload& payload) const;
};

/// From this size, reading the memory of other ranks directly is faster than a copy.
inline constexpr std::size_t shared_from_bytes = 4 * 1024;

/// An operation on tensors. Tiny data is sent in the cells of the entry. If the data has at least
/// shared_from_bytes and the buffers of all ranks are in shared memory, ranks send only their locations.
/// Other small data is sent in the small buffers. An Exchange sends all other data.
class TensorOperation final : public Operation {
public:
    TensorOperation(collectives::TensorCall const& call, Status const& refused);

    enum class DataPath { cells, small_buffers, shared_memory, exchange };
    /// The path of the data if the buffers of all ranks are located like those of this rank.
    DataPath path_if_ranks_are_alike(RankSlot const& slot) const;
    bool uses(Bytes memory) const override;

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    /// The path of the data. It is the same on all ranks, because it depends only on the size and on the
    /// locations that the ranks have written.
    DataPath choose_path(RankSlot const& slot) const;

    /// This rank's input; empty if only another rank has one.
    Bytes contribution(RankSlot const& slot) const;
    bool fits_small_buffer(RankSlot const& slot) const;
    std::optional<BufferLocation> locate_shared(RankSlot const& slot, Bytes bytes) const;
    bool is_source(int rank) const;

    /// Computes this rank's whole result from the inputs of all ranks.
    void compute_result(RankSlot const& slot, std::span<std::byte const* const> inputs,
                        collectives::Store store) const;
    void work_in_shared_memory(RankSlot const& slot, ExchangePlan& plan) const;
    /// Reduces this rank's slice and writes it to the output of each rank that gets the result.
    void reduce_slice(RankSlot const& slot, ExchangePlan& plan, collectives::Store store) const;
    void make_plan(RankSlot const& slot, ExchangePlan& plan) const;
    void plan_reduction(RankSlot const& slot, ExchangePlan& plan) const;

    collectives::TensorCall tensors_;
    std::size_t size_bytes_;  // of each rank's input
};

}  // namespace det::collectives::node
