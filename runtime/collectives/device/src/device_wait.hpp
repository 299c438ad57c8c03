#pragma once
#include <det/collectives/rank_group.hpp>
#include <det/liveness/backoff.hpp>
#include <det/transport/wait_policy.hpp>

#include <functional>

namespace det::collectives::device {

/// One wait for devices. It polls as long as all ranks live.
class DeviceWait {
public:
    /// `what`: for messages, "rank 0 waits for devices in allreduce(...), its operation 3".
    DeviceWait(transport::WaitPolicy const& rules, collectives::RankGroup& host, std::string what)
        : rules_(rules), host_(host), what_(std::move(what)) {}

    /// Blocks until `is_over` returns true, or an Error.
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
