#include <algorithm>
#include <sys/eventfd.h>

#include "monitored_nodes.hpp"

namespace det::transport {
namespace {

using namespace node_messages;

/// A node that waits in the queue of the kernel for longer than it takes to give up is a connection without a
/// proof when its turn comes. After a pause of this process the whole queue may consist of such ones: it must
/// be emptied within a few seconds, before the nodes come back.
liveness::PendingLimits pending_limits(int nodes) {
    constexpr int nodes_of_failure_per_s = 4;
    auto limits = liveness::PendingLimits::for_ranks(nodes);
    limits.failures_per_s = std::max(limits.failures_per_s, nodes / nodes_of_failure_per_s);
    return limits;
}

class RunningMonitor final : public NodeMonitor {
public:
    RunningMonitor(std::unique_ptr<FrameServer> server, MonitoredNodes& monitored)
        : monitored_(monitored), server_(std::move(server)) {}

    std::uint16_t port() const override { return server_->endpoint().port; }
    std::vector<Node> nodes() const override { return monitored_.copy(); }
    void request(NodeRequests requests) override { monitored_.request(requests); }
    void confirm_newest_run(std::chrono::milliseconds valid_for) override {
        monitored_.confirm_newest_run(valid_for);
    }
    int fd() const override { return monitored_.fd(); }
    void clear_event() override { monitored_.clear_event(); }

private:
    MonitoredNodes& monitored_;  // belongs to the server
    std::unique_ptr<FrameServer> server_;
};

}  // namespace

Result<std::unique_ptr<NodeMonitor>> NodeMonitor::start(std::string secret, int nodes,
                                                        std::optional<int> own) {
    SessionKey const key{std::move(secret), purpose, nodes};
    auto const start_at = [&](char const* address) -> Result<std::unique_ptr<NodeMonitor>> {
        UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!event) return os_error("make an eventfd", errno);
        auto handler =
            std::make_unique<MonitoredNodes>(nodes, own, std::move(event), MonitoredNodes::World::real());
        auto& monitored = *handler;
        DET_TRY_ASSIGN(auto server, FrameServer::start(address, key, frame_limit_bytes, std::move(handler),
                                                       pending_limits(nodes)));
        return Result<std::unique_ptr<NodeMonitor>>(
            std::make_unique<RunningMonitor>(std::move(server), monitored));
    };
    auto started = start_at("::");
    return started ? std::move(started) : start_at("0.0.0.0");  // a host without IPv6
}

}  // namespace det::transport
