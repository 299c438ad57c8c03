#pragma once
#include <det/liveness/backoff.hpp>

#include "rank_slot.hpp"
#include "watch.hpp"

namespace det::collectives::node {

using liveness::Cores;
/// Whether each rank has a core to itself: by what the ranks may run on together.
Cores cores_of(Segment const& segment);

/// One wait for other ranks: a Backoff that sleeps on the futex of the group, and asks Watch whether the
/// awaited ranks live.
class Wait {
public:
    Wait(RankSlot const& slot, Watch& watch, Cores cores)
        : slot_(slot), watch_(watch), backoff_(cores, {.polls = 20'000, .polls_per_yield = 1}) {}

    /// Something has come, and the wait for the next begins.
    void begin_again() { backoff_.restart(); }
    /// After each poll that found nothing.
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
    /// Yields or sleeps. \return whether it is time to check that the others live.
    bool pause_longer();

    RankSlot const& slot_;
    Watch& watch_;
    liveness::Backoff backoff_;
};

}  // namespace det::collectives::node
