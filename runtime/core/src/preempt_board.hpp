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
    /// What voices agree on is passed on to the others of their node, who hear nobody else.
    enum class Role { hears_all, passes_on, hears_one };
    struct Source {
        Rank rank;
        preemption::Agreement::Part part;
        int local_rank = -1;  // on our node; -1: its words come as messages
    };
    std::vector<Source> sources;
    std::size_t own = 0;
    std::vector<Rank> listeners;  // that get ours as messages
    Role role = Role::hears_all;
};

/// Up to so many ranks a word goes to each rank elsewhere; in larger jobs to one of each node.
constexpr std::size_t told_directly_max = 64;

/// `seats` in rank order. On one node all ranks are voices. Else the first of each node speaks for it, since
/// a node has one notice, and tells all ranks of other nodes directly: a message has one step to arrive.
/// Where there are more than `directly_max` ranks it tells the first of each other node only, and these pass
/// it on. Where ranks of a node share no memory all of them are voices, too. Pure.
PreemptRing make_preempt_ring(std::vector<PreemptSeat> const& seats, Rank own,
                              std::size_t directly_max = told_directly_max);

/// Words through the memory of the node, and as messages between nodes.
class PreemptBoard final : public preemption::Board {
public:
    PreemptBoard(collectives::DistributedContext& distributed, PreemptRing ring);

    preemption::Agreement make_agreement() const;
    /// Once, before the first word: all ranks call it. The first message to a rank needs both ranks'
    /// attention to leave, and later either may wait in its node's memory for somebody who waits for that
    /// message.
    Status connect();
    /// One call of should_preempt().
    Result<bool> agree(preemption::Agreement& agreement, bool has_notice);

    Status tell(preemption::Word word) override;
    preemption::Word look(std::size_t part) override;
    Result<preemption::Word> await(preemption::Agreement::Awaited awaited) override;
    Status pass_on(preemption::Word agreed) override;

private:
    struct Sent {
        std::uint64_t value = 0;
        std::vector<transport::Request> requests = {};
    };

    void forget_what_has_arrived();

    collectives::SharedFlags* words_;
    transport::Transport* messages_;
    PreemptRing ring_;
    std::vector<preemption::Word> received_;  // of sources that send messages
    preemption::Word told_;
    std::deque<Sent> sent_;  // the oldest first; its elements stay where they are
};

}  // namespace det::core
