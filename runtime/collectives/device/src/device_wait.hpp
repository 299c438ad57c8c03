#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/liveness/backoff.hpp>
#include <det/transport/wait_policy.hpp>

#include <functional>

namespace det::collectives::device {

/// One wait for devices. It polls until the work is done, a rank is lost or the time limit has passed.
class DeviceWait {
public:
    /// \param what for messages, for example "rank 0 waits for devices in allreduce(...), its operation 3".
    DeviceWait(transport::WaitPolicy const& rules, collectives::RankGroup& host, std::string what)
        : rules_(rules), host_(host), what_(std::move(what)) {}

    /// Blocks until `is_over` returns true. Fails if `is_over` fails, a rank is lost or the time limit has
    /// passed.
    Status until(std::function<Result<bool>()> const& is_over);

private:
    Status look();

    static constexpr int polls_per_look = 64;

    transport::WaitPolicy const& rules_;
    collectives::RankGroup& host_;
    std::string what_;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
    bool has_warned_ = false;
};

}  // namespace det::collectives::device
