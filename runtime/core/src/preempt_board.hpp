#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/collectives/rank_group.hpp>
#include <det/preemption/agreement.hpp>

#include <array>
#include <deque>
#include <map>

namespace det::core {

/// Where a rank sits, and whether it reads the memory of all others there.
struct PreemptSeat {
    collectives::Topology topology;
    bool shares_memory = false;
};

/// Whom a rank hears in should_preempt(), and whom it tells.
struct PreemptRing {
    struct Source {
        Rank rank;
        preemption::Agreement::Part part;
        int local_rank = -1;  // on our node; -1: its words come as messages
    };
    std::vector<Source> sources;
    std::size_t own = 0;
    std::vector<Rank> listeners;  // that get ours as messages
};

/// `seats` in rank order. On one node all ranks are voices. Else the first of each node speaks for it, since
/// a node has one notice, and tells all ranks of other nodes directly: a message has one step to arrive.
/// Where ranks of a node share no memory all of them are voices, too. Pure.
PreemptRing make_preempt_ring(std::vector<PreemptSeat> const& seats, Rank own);

/// Words through the memory of the node, and as messages between nodes.
class PreemptBoard final : public preemption::Board {
public:
    PreemptBoard(collectives::DistributedContext& distributed, PreemptRing ring);

    preemption::Agreement make_agreement() const;
    /// Once, before the first word: all ranks call it. The first message to a rank needs both ranks'
    /// attention to leave, and later either may wait in its node's memory for somebody who waits for that
    /// message.
    Status connect();

    Status tell(preemption::Word word) override;
    preemption::Word look(std::size_t part) override;
    Result<preemption::Word> await(std::size_t part, std::uint64_t call) override;

private:
    struct Sent {
        std::uint64_t value = 0;
        std::vector<transport::Request> requests = {};
    };

    void forget_what_has_arrived();

    collectives::SharedWords* words_;
    transport::Transport* messages_;
    PreemptRing ring_;
    std::vector<preemption::Word> received_;  // of sources that send messages
    preemption::Word told_;
    std::deque<Sent> sent_;  // the oldest first; its elements stay where they are
};

}  // namespace det::core
