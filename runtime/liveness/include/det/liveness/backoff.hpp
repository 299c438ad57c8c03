#pragma once
#include <chrono>
#include <optional>

namespace det::liveness {

/// Whether every rank of the node has a core of its own.
enum class Cores { own, shared };

/// \param local_ranks number of ranks on this node
/// \return Cores::shared if the node has fewer cores: a spinning rank would then keep the rank that it waits
/// for from
///   running
Cores cores_for(int local_ranks);

/// How one wait by polling proceeds: it spins, then yields the core, then sleeps for 1/16 of the time already
/// slept, from 20 us to 1 ms. One object is one wait of one thread.
class Backoff {
public:
    /// Applies to the polls between spinning and sleeping.
    struct Yields {
        int polls = 20'000;
        // In MPI, what one rank's poll finds is visible to the next: a yield after each poll makes a round
        // through all ranks of it. Measured for 8 bytes on 2 cores: 4 ranks 13 us with 1, 5 us with 8; 8
        // ranks 42 us with 1, 26 us with 8.
        int polls_per_yield = 8;
    };

    explicit Backoff(Cores cores) : Backoff(cores, Yields{}) {}
    Backoff(Cores cores, Yields yields) : spins_(cores == Cores::own ? spins_max : 0), yields_(yields) {
        restart();
    }

    /// What was awaited has come: the wait for the next begins.
    void restart() {
        spins_left_ = spins_;
        yields_left_ = yields_.polls;
    }

    /// First after each poll that found nothing. \return false once it is time to stop spinning.
    bool spin() {
        if (spins_left_ == 0) return false;
        --spins_left_;
        return true;
    }
    /// Then, if spin() returned false: yields, or returns how long to sleep.
    std::optional<std::chrono::microseconds> yield_or_sleep();
    /// Number of calls of yield_or_sleep since restart that did not ask to sleep.
    int yields() const { return yields_.polls - yields_left_; }

    /// All of it, for a caller that nothing wakes: spins, yields or sleeps.
    void pause();

private:
    static constexpr int spins_max = 2'000;

    int spins_;
    Yields yields_;
    int spins_left_ = 0;
    int yields_left_ = 0;
    std::optional<std::chrono::steady_clock::time_point> sleeping_since_;
};

}  // namespace det::liveness
