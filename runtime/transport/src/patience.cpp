#include <det/transport/patience.hpp>

#include <fmt/format.h>

namespace det::transport {

std::string Patience::describe(std::chrono::seconds waited) const {
    auto const name = [&](Rank rank) {
        return watch_ != nullptr ? watch_->name_of(rank) : fmt::format("rank {}", rank.value);
    };
    return fmt::format("{} has waited for {} for {} s", name(self_), name(peer_), waited.count());
}

Status Patience::check() {
    if (watch_ != nullptr) DET_TRY(watch_->check());
    if (checks_++ % checks_per_look != 0) return Ok{};
    auto const now = std::chrono::steady_clock::now();
    if (!begin_) begin_ = now;
    auto const waited = now - *begin_;
    auto const seconds = std::chrono::floor<std::chrono::seconds>(waited);
    if (rules_.timeout && waited > *rules_.timeout) return Error{codes::timed_out, describe(seconds)};
    if (!has_warned_ && rules_.on_long_wait && waited > rules_.long_wait) {
        has_warned_ = true;
        rules_.on_long_wait(describe(seconds) + ", which is alive");
    }
    return Ok{};
}

}  // namespace det::transport
