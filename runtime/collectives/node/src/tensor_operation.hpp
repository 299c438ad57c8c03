#pragma once
#include <det/collectives/rank_group.hpp>

#include "operation.hpp"

namespace det::collectives::node {

/// Where the memory of a rank lies: what arrives in place of tiny data.
struct BufferLocation {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};    // it cannot be seen
    static constexpr std::uint64_t in_small_buffer = nowhere - 1;  // it was copied
    static constexpr std::uint64_t somewhere = 0;  // nobody writes there, but this rank sees memory
    std::uint64_t in = nowhere;
    std::uint64_t out = nowhere;

    std::size_t write(Payload& payload) const;
};

/// From here on looking into each other's memory is faster than leaving a copy.
inline constexpr std::size_t shared_from_bytes = 4 * 1024;

/// Elements. What is tiny travels in the line with which ranks arrive; what is small in a buffer beside it;
/// of memory that all can see only its place; the rest goes through an exchange.
class TensorOperation final : public Operation {
public:
    TensorOperation(collectives::TensorCall const& call, Status const& refused);

    enum class DataPath { cells, small_buffers, shared_memory, exchange };
    /// By which way data goes where the buffers of all ranks lie as ours do.
    DataPath likely_path(RankSlot const& slot) const;
    bool uses(Bytes memory) const override;

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    /// The same on all ranks, since it follows from what all have offered.
    DataPath choose_path(RankSlot const& slot) const;

    /// What this rank puts in; nothing where only another one does.
    Bytes contribution(RankSlot const& slot) const;
    bool fits_small_buffer(RankSlot const& slot) const;
    std::optional<BufferLocation> locate_shared(RankSlot const& slot, Bytes bytes) const;
    bool is_source(int rank) const;

    /// The whole result of this rank, from what all have put in.
    void take_from(RankSlot const& slot, std::span<std::byte const* const> inputs,
                   collectives::Store store) const;
    void work_in_shared_memory(RankSlot const& slot, ExchangePlan& plan) const;
    /// Our part of the result of all, written to where each wants it.
    void reduce_slice(RankSlot const& slot, ExchangePlan& plan, collectives::Store store) const;
    void make_plan(RankSlot const& slot, ExchangePlan& plan) const;
    void plan_reduction(RankSlot const& slot, ExchangePlan& plan) const;

    collectives::TensorCall tensors_;
    std::size_t size_bytes_;  // of what each rank puts in
};

}  // namespace det::collectives::node
