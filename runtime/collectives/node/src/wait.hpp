#pragma once
#include <det/liveness/backoff.hpp>

#include "rank_slot.hpp"
#include "watch.hpp"

namespace det::collectives::node {

using liveness::Cores;
/// Whether each rank can have a core of its own: whether the cores of all ranks together are at least as many
/// as the ranks.
Cores cores_of(Segment const& segment);

/// One wait for other ranks: a Backoff that sleeps on the futex of the group, and asks Watch whether the
/// awaited ranks live.
class Wait {
public:
    Wait(RankSlot const& slot, Watch& watch, Cores cores)
        : slot_(slot), watch_(watch), backoff_(cores, {.polls = 20'000, .polls_per_yield = 1}) {}

    /// Begins the next wait, after the awaited event has happened.
    void begin_again() { backoff_.restart(); }
    /// Called after each poll that found nothing. Fails if an awaited rank is lost.
    template <class FindAwaited>
    Status pause(FindAwaited const& find_awaited, WaitingCall const& call) {
        if (backoff_.spin()) {
            liveness::cpu_relax();
            return Ok{};
        }
        if (!pause_longer()) return Ok{};
        return watch_.look(find_awaited(), call);
    }

private:
    /// Yields or sleeps.
    /// \return whether it is time to check that the awaited ranks live.
    bool pause_longer();

    RankSlot const& slot_;
    Watch& watch_;
    liveness::Backoff backoff_;
};

}  // namespace det::collectives::node
