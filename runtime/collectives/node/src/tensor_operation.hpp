#pragma once
#include <det/collectives/rank_group.hpp>

#include "operation.hpp"

namespace det::node_collectives {

/// Elements. What is tiny travels in the line with which ranks arrive; what is small in a buffer beside it;
/// of memory that all can see only its place; the rest goes through an exchange.
class TensorOperation final : public Operation {
public:
    TensorOperation(collectives::TensorCall const& call, Status const& refused);

private:
    void offer(Seat& seat) override;
    bool settle(Seat& seat, Plan& plan) override;

    /// By which way data goes: the same on all ranks, since it follows from what all have offered.
    enum class Way { cells, small_buffers, shared_memory, exchange };
    Way find_way(Seat const& seat) const;

    /// What this rank puts in; nothing where only another one does.
    Bytes contribution(Seat const& seat) const;
    bool offer_shared(Seat& seat, Bytes bytes) const;
    bool is_source(int rank) const;

    /// The whole result of this rank, from what all have put in.
    void take_from(Seat const& seat, std::span<std::byte const* const> inputs,
                   collectives::Store store) const;
    void share_out(Seat const& seat, Plan& plan) const;
    /// Our part of the result of all, written to where each wants it.
    void reduce_slice(Seat const& seat, Plan& plan, collectives::Store store) const;
    void make_plan(Seat const& seat, Plan& plan) const;
    void plan_reduction(Seat const& seat, Plan& plan) const;

    collectives::TensorCall tensors_;
    std::size_t size_bytes_;  // of what each rank puts in
};

}  // namespace det::node_collectives
