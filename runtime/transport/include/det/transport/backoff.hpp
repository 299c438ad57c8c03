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
    static constexpr int yields = 2'000;

    int spins_left_;
    int yields_left_ = yields;
    std::optional<std::chrono::steady_clock::time_point> sleeping_since_;
};

}  // namespace det::transport
