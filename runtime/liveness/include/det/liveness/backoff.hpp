#pragma once
#include <chrono>
#include <optional>
#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace det::liveness {

/// One step of a spin loop. On x86 the core pauses for a few to some tens of nanoseconds; elsewhere this does
/// nothing.
inline void cpu_relax() {
#ifdef __SSE2__
    _mm_pause();
#endif
}

/// Whether every rank of the node has a core of its own.
enum class Cores { own, shared };

/// \param local_ranks number of ranks on this node
/// \return Cores::shared if the node has fewer logical cores than ranks: a spinning rank could then occupy
/// the
///   core that the awaited rank needs
Cores cores_for(int local_ranks);

/// Decides what a thread does between two polls: it spins, then yields the core, then sleeps. A sleep takes
/// 1/16 of the time since the first sleep, from 20 us to 1 ms. Not thread-safe.
class Backoff {
public:
    /// Applies to the polls between spinning and sleeping.
    struct Yields {
        int polls = 20'000;
        // A yield lets all other ranks on the core run before the next poll, so a yield after each poll is
        // slow. Measured for 8 bytes over MPI on 2 cores: 4 ranks take 13 us with polls_per_yield 1 and 5 us
        // with 8; 8 ranks take 42 us with 1 and 26 us with 8.
        int polls_per_yield = 8;
    };

    explicit Backoff(Cores cores) : Backoff(cores, Yields{}) {}
    Backoff(Cores cores, Yields yields) : spins_(cores == Cores::own ? spins_max : 0), yields_(yields) {
        restart();
    }

    /// Begins a new wait. To be called after the previous wait has ended.
    void restart() {
        spins_left_ = spins_;
        yields_left_ = yields_.polls;
    }

    /// Must be called after each poll that found nothing, before yield_or_sleep_time().
    /// \return false when it is time to stop spinning
    bool spin() {
        if (spins_left_ == 0) return false;
        --spins_left_;
        return true;
    }
    /// To be called if spin() returned false. Yields and returns nullopt, or returns how long the caller
    /// should sleep.
    std::optional<std::chrono::microseconds> yield_or_sleep_time();
    /// Number of calls of yield_or_sleep_time() since restart() that returned nullopt.
    int yields() const { return yields_.polls - yields_left_; }

    /// Spins, yields or sleeps, for a caller whose sleep no event can end.
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
