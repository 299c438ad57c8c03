#pragma once
#include <det/collectives/distributed_context.hpp>
#include <det/preemption/agreement.hpp>

#include <deque>

namespace det::preemption {

/// Where a rank runs, and whether it shares memory with all other ranks of its node.
struct RankPlacement {
    collectives::Topology topology;
    bool shares_memory = false;
};

/// The ranks whose states a rank reads, and the ranks to which it sends its own.
struct PreemptRoutes {
    enum class Role {
        direct,  // reads all leaders and the ranks in its shared memory
        relay,   // a leader: reads the other leaders and its followers, and relays the leaders' decision to
                 // these
        leaf,    // a follower: reads its leader only
    };
    struct Source {
        Rank rank;
        Agreement::Role role;
        int local_rank = -1;  // of a source in shared memory; -1: the source sends its states as messages
    };
    std::vector<Source> sources;  // this rank included
    std::size_t own = 0;          // index of this rank in `sources`
    std::vector<Rank> targets;    // the ranks to which this rank sends its states as messages
    Role role = Role::direct;
};

/// With at most this many ranks, a leader sends its state to each rank of the other nodes; with more, only to
/// the leader of each other node. If all ranks are leaders there is no limit.
constexpr std::size_t direct_ranks_max = 64;

/// Plans whose states the rank `own` reads and to which ranks it sends its own. Pure.
///
/// On one node all ranks are leaders. On several nodes the first rank of each node is its leader, because the
/// ranks of a node share one notice page. If the ranks of any node share no memory, all ranks are leaders.
/// \param placements of all ranks, in rank order.
PreemptRoutes plan_routes(std::vector<RankPlacement> const& placements, Rank own,
                          std::size_t direct_max = direct_ranks_max);

/// Carries preempt states by the control channel of a DistributedContext: through shared flags between ranks
/// that share memory, as messages of 8 bytes between all others. The context must outlive it. Not
/// thread-safe.
class PreemptChannel final : public Channel {
public:
    /// Collective. Gathers where all ranks run, plans the routes and connects them.
    static Result<PreemptChannel> open(collectives::DistributedContext& distributed);
    PreemptChannel(collectives::DistributedContext& distributed, PreemptRoutes routes);

    Agreement make_agreement() const;
    /// Exchanges one message with each peer. Collective; called before the first post. The first message
    /// between two ranks needs progress on both of them. Later, one of them may be waiting in shared memory,
    /// where it makes no progress.
    Status exchange_first_messages();
    /// One call of should_preempt().
    Result<bool> agree(Agreement& agreement, bool has_notice);

    Status post(PreemptState state) override;
    PreemptState peek(std::size_t member) override;
    Result<PreemptState> wait(Agreement::Awaited awaited) override;
    Status relay(PreemptState agreed) override;

private:
    struct Sent {
        std::uint64_t value = 0;
        std::vector<transport::Request> requests = {};
    };

    void release_finished_sends();

    collectives::ControlChannel control_;
    PreemptRoutes routes_;
    std::vector<PreemptState> received_;  // by source, for sources that send messages
    PreemptState posted_;
    std::deque<Sent> sent_;  // oldest first; a deque, because elements must not move while they are sent
};

}  // namespace det::preemption
