#pragma once
#include <chrono>
#include <optional>

namespace det::transport {

/// Whether every local rank has a core of its own while it waits.
enum class Cores { own, shared };

/// With more ranks on this node than cores, whoever spins keeps the rank it waits for from running.
Cores cores_for(int local_ranks);

/// How to wait for what only polling tells: spin, then let others run, then sleep for a small part of the
/// time already waited. One Backoff is one wait.
class Backoff {
public:
    explicit Backoff(Cores cores) : spins_left_(cores == Cores::own ? spins : 0) {}

    /// To be called after each poll that found nothing.
    void pause();

private:
    static constexpr int spins = 2'000;
    static constexpr int polite_polls = 20'000;
    // What one poll finds MPI shows to the next: to yield after each makes a round of all ranks of it.
    // Measured for 8 bytes on 2 cores: 4 ranks 13 us with 1, 5 us with 8; 8 ranks 42 us with 1, 26 us with 8.
    static constexpr int polls_per_yield = 8;

    int spins_left_;
    int polite_polls_left_ = polite_polls;
    std::optional<std::chrono::steady_clock::time_point> sleeping_since_;
};

}  // namespace det::transport
