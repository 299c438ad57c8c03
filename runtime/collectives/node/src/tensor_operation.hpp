#pragma once
#include <det/collectives/rank_group.hpp>

#include "operation.hpp"

namespace det::collectives::node {

/// The location of a rank's buffers, which it publishes in its cell instead of tiny data.
struct BufferLocation {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};    // not shared memory
    static constexpr std::uint64_t in_small_buffer = nowhere - 1;  // copied to the small buffer
    static constexpr std::uint64_t somewhere = 0;  // not written by other ranks, but shared memory
    std::uint64_t in = nowhere;
    std::uint64_t out = nowhere;

    std::size_t write(Payload& payload) const;
};

/// From this size on, reading the memory of other ranks is faster than copying.
inline constexpr std::size_t shared_from_bytes = 4 * 1024;

/// A collective on elements. Tiny data is in the cells; small data in the small buffers; of shared memory
/// only the location is published; all other data goes through an exchange.
class TensorOperation final : public Operation {
public:
    TensorOperation(collectives::TensorCall const& call, Status const& refused);

    enum class DataPath { cells, small_buffers, shared_memory, exchange };
    /// The data path if the buffers of all ranks are located like those of this rank.
    DataPath likely_path(RankSlot const& slot) const;
    bool uses(Bytes memory) const override;

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    /// The data path. It depends only on published data, so it is the same on all ranks.
    DataPath choose_path(RankSlot const& slot) const;

    /// The input of this rank; empty if it has none.
    Bytes contribution(RankSlot const& slot) const;
    bool fits_small_buffer(RankSlot const& slot) const;
    std::optional<BufferLocation> locate_shared(RankSlot const& slot, Bytes bytes) const;
    bool is_source(int rank) const;

    /// Computes the whole result of this rank from the inputs of all ranks.
    void take_from(RankSlot const& slot, std::span<std::byte const* const> inputs,
                   collectives::Store store) const;
    void work_in_shared_memory(RankSlot const& slot, ExchangePlan& plan) const;
    /// Computes this rank's part of the result and writes it to the outputs of all ranks.
    void reduce_slice(RankSlot const& slot, ExchangePlan& plan, collectives::Store store) const;
    void make_plan(RankSlot const& slot, ExchangePlan& plan) const;
    void plan_reduction(RankSlot const& slot, ExchangePlan& plan) const;

    collectives::TensorCall tensors_;
    std::size_t size_bytes_;  // input size of each rank
};

}  // namespace det::collectives::node
