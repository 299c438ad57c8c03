#include <det/transport/wait_policy.hpp>

#include <fmt/format.h>

namespace det::transport {

std::string PeerWait::describe() const {
    auto const name = [&](Rank rank) {
        return monitor_ != nullptr ? monitor_->name_of(rank) : fmt::format("rank {}", rank.value);
    };
    return fmt::format("{} has waited for {}", name(self_), name(peer_));
}

Status PeerWait::check() {
    if (monitor_ != nullptr) DET_TRY(monitor_->check());
    if (checks_++ % checks_per_look != 0) return Ok{};
    auto const now = liveness::WaitTimer::Clock::now();
    if (!timer_) timer_.emplace(policy_, now);
    return timer_->check(
        now, [this] { return describe(); }, ", which is alive");
}

}  // namespace det::transport
