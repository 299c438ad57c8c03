#pragma once
#include <sched.h>

#include "rank_slot.hpp"
#include "relax.hpp"
#include "watch.hpp"

namespace det::collectives::node {

enum class Cores { own, shared };
/// Whether each rank has its own core, from the CPUs that the ranks may use together.
Cores cores_of(Segment const& segment);

/// One wait for other ranks. A rank with its own core spins. Ranks that share cores yield, because a spinning
/// rank keeps another one from running. After a long wait the rank sleeps.
class Wait {
public:
    Wait(RankSlot const& slot, Watch& watch, Cores cores) : slot_(slot), watch_(watch), cores_(cores) {}

    /// Restarts after progress.
    void begin_again() { polls_ = yields_ = 0; }
    /// Called after each unsuccessful poll.
    template <class FindAwaited>
    Status pause(FindAwaited const& find_awaited, WaitingCall const& call) {
        if (cores_ == Cores::own && polls_ < spins) {
            ++polls_;
            relax();
            return Ok{};
        }
        if (!pause_longer()) return Ok{};
        return watch_.look(find_awaited(), call);
    }

private:
    static constexpr int spins = 2'000;

    /// Pauses. Returns whether the liveness of other ranks should be checked now.
    bool pause_longer();

    RankSlot const& slot_;
    Watch& watch_;
    Cores cores_;
    int polls_ = 0;
    int yields_ = 0;
    std::chrono::steady_clock::time_point sleeping_since_;
};

}  // namespace det::collectives::node
