#pragma once
#include <det/foundation/result.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace det::liveness {

class WaitRecorder;

/// Limits how long a rank waits for other ranks or for its device. By default a wait has no time limit,
/// because a chief may validate for minutes: it ends when the awaited event happens or a rank is lost.
struct WaitPolicy {
    /// Called once per wait after `long_wait`. May be empty.
    std::function<void(std::string const& warning)> on_long_wait = {};
    std::chrono::milliseconds long_wait = std::chrono::seconds(60);
    /// A longer wait fails with codes::timed_out. nullopt: no limit.
    std::optional<std::chrono::milliseconds> timeout = {};
    /// Records how long this rank waits. May be null.
    std::shared_ptr<WaitRecorder> recorder = {};
};

/// The time of one wait under a WaitPolicy. Not thread-safe.
class WaitTimer {
public:
    using Clock = std::chrono::steady_clock;

    /// \param policy must outlive this object
    explicit WaitTimer(WaitPolicy const& policy, Clock::time_point begin = Clock::now())
        : policy_(&policy), begin_(begin) {}

    /// Warns once if the wait is long. Must be called repeatedly during the wait.
    /// \param describe returns which rank waits for what, for example "rank 0 has waited for rank 1"
    /// \param reassurance the end of the warning, for example ", which is alive"
    /// \return codes::timed_out if the time limit has passed
    Status check(Clock::time_point now, std::function<std::string()> const& describe,
                 std::string_view reassurance = {});

private:
    WaitPolicy const* policy_;
    Clock::time_point begin_;
    bool has_warned_ = false;
};

}  // namespace det::liveness
