#include <det/transport/wait_policy.hpp>

#include <fmt/format.h>

namespace det::transport {

std::string PeerWait::describe(std::chrono::seconds waited) const {
    auto const name = [&](Rank rank) {
        return monitor_ != nullptr ? monitor_->name_of(rank) : fmt::format("rank {}", rank.value);
    };
    return fmt::format("{} has waited for {} for {} s", name(self_), name(peer_), waited.count());
}

Status PeerWait::check() {
    if (monitor_ != nullptr) DET_TRY(monitor_->check());
    if (checks_++ % checks_per_look != 0) return Ok{};
    auto const now = std::chrono::steady_clock::now();
    if (!begin_) begin_ = now;
    auto const waited = now - *begin_;
    auto const seconds = std::chrono::floor<std::chrono::seconds>(waited);
    if (policy_.timeout && waited > *policy_.timeout) return Error{codes::timed_out, describe(seconds)};
    if (!has_warned_ && policy_.on_long_wait && waited > policy_.long_wait) {
        has_warned_ = true;
        policy_.on_long_wait(describe(seconds) + ", which is alive");
    }
    return Ok{};
}

}  // namespace det::transport
