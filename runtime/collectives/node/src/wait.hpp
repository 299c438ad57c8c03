#pragma once
#include <sched.h>

#include "rank_slot.hpp"
#include "relax.hpp"
#include "watch.hpp"

namespace det::collectives::node {

enum class Cores { own, shared };
/// Whether each rank has a core to itself: by what the ranks may run on together.
Cores cores_of(Segment const& segment);

/// One wait for others. With a core of its own a rank spins; where ranks share cores each one that spins
/// keeps another from running, so they yield. Who has waited long sleeps.
class Wait {
public:
    Wait(RankSlot const& slot, Watch& watch, Cores cores) : slot_(slot), watch_(watch), cores_(cores) {}

    /// Something has come, and the next is awaited.
    void begin_again() { polls_ = yields_ = 0; }
    /// After each poll that found nothing.
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

    /// Whether it is time to see what the others do.
    bool pause_longer();

    RankSlot const& slot_;
    Watch& watch_;
    Cores cores_;
    int polls_ = 0;
    int yields_ = 0;
    std::chrono::steady_clock::time_point sleeping_since_;
};

}  // namespace det::collectives::node
