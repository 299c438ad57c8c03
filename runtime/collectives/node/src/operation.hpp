#pragma once
#include <string>

#include "collective_entry.hpp"
#include "exchange.hpp"

namespace det::collectives::node {

/// One operation of this rank, as a state machine. advance() makes as much progress as the other ranks allow,
/// and never blocks.
class Operation {
public:
    virtual ~Operation() = default;
    Operation(Operation const&) = delete;
    Operation& operator=(Operation const&) = delete;

    /// Enters the operation. The previous one must be complete.
    void begin(RankSlot& slot);
    bool has_begun() const { return has_begun_; }
    /// Returns whether the operation is complete.
    bool advance(RankSlot& slot);

    collectives::Call const& call() const { return call_; }
    /// The call as ranks compare it, once the operation has begun.
    collectives::Call const& reported_call() const { return reported_call_; }
    /// The ranks that have to enter or to make progress before this one can continue.
    std::vector<int> awaited(RankSlot const& slot) const {
        return has_entered_ ? exchange_.awaited(slot) : entry_.awaited(slot);
    }
    /// Changes with each step of progress.
    std::uint64_t moves() const { return exchange_.moves(); }
    /// The result of the operation, after it is complete.
    Status result() const;
    /// Whether the operation reads or writes any of this memory.
    virtual bool uses(Bytes) const { return false; }

protected:
    Operation(collectives::Call const& call, Status const& refused) : call_(call) {
        if (!refused) refusal_ = refused.error();
    }

    /// Writes this rank's input, or its location, to where the other ranks read it after the entry. Returns
    /// the number of payload bytes that are used.
    virtual std::size_t location(RankSlot&, Payload&) { return 0; }
    /// Called when all ranks have entered with the same call. Either completes the operation and returns
    /// false, or makes the plan of the exchange that must follow and returns true.
    virtual bool on_all_entered(RankSlot&, ExchangePlan&) { return false; }

private:
    collectives::Call call_;
    collectives::Call reported_call_;
    std::optional<Error> refusal_;
    bool has_begun_ = false;
    bool has_entered_ = false;
    CollectiveEntry entry_;
    Exchange exchange_;
};

/// An operation on byte strings of unequal size: from all ranks or one rank, to all ranks or one rank.
class ObjectOperation final : public Operation {
public:
    ObjectOperation(collectives::Call call, std::string value, Status const& refused);

    /// Returns the values by rank, after the operation is complete. Values that this rank does not receive
    /// are empty.
    std::vector<std::string> take_values(RankSlot const& slot);

private:
    std::size_t location(RankSlot& slot, Payload& payload) override;
    bool on_all_entered(RankSlot& slot, ExchangePlan& plan) override;

    bool is_source(int rank) const;
    bool is_target(int rank) const;
    /// Copies the value of `rank` if it is small enough that the rank wrote it when it entered. Returns
    /// whether it is.
    bool take_small(RankSlot const& slot, int rank, std::size_t size);

    std::string own_;
    std::vector<std::string> values_;
};

/// The location of a rank's buffers. If the data is not tiny, a rank writes this in the payload of its entry.
struct BufferLocation {
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};    // in memory that other ranks cannot read
    static constexpr std::uint64_t in_small_buffer = nowhere - 1;  // a copy is in the small buffer
    static constexpr std::uint64_t somewhere =
        0;  // for `out`: the rank can use shared memory, but no other rank writes its output
    std::uint64_t in = nowhere;
    std::uint64_t out = nowhere;

    std::size_t write(Payload& payload) const;
};

/// From this size, reading the memory of other ranks directly is faster than a copy.
inline constexpr std::size_t shared_from_bytes = 4 * 1024;

/// An operation on tensors. Tiny data is sent in the cells of the entry, small data in the small buffers. If
/// the buffers of all ranks are in shared memory, ranks send only their locations. An Exchange sends all
/// other data.
class TensorOperation final : public Operation {
public:
    TensorOperation(collectives::TensorCall const& call, Status const& refused);

    enum class DataPath { cells, small_buffers, shared_memory, exchange };
    /// The path of the data if the buffers of all ranks are located like those of this rank.
    DataPath likely_path(RankSlot const& slot) const;
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
    void take_from(RankSlot const& slot, std::span<std::byte const* const> inputs,
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
