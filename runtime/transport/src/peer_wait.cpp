#include <det/transport/peer_wait.hpp>

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
    if (checks_until_look_-- > 0) return Ok{};
    auto const now = liveness::WaitTimer::Clock::now();
    is_slow_ = is_slow_ || (timer_ && now - looked_at_ > slow_polls);
    checks_until_look_ = is_slow_ ? 0 : checks_per_look - 1;
    looked_at_ = now;
    if (!timer_) {
        timer_.emplace(policy_, now);
        began_ = now;
    } else if (recorded_.is_wanted()) {
        recorded_.waits_for(policy_.recorder->operation(), peer_.value, began_, now);
    }
    return timer_->check(
        now, [this] { return describe(); }, ", which is alive");
}

}  // namespace det::transport
