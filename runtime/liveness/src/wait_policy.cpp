#include <det/liveness/wait_policy.hpp>

namespace det::liveness {
namespace {

std::string render(std::chrono::milliseconds time) {
    bool const is_short = time < std::chrono::seconds(1);
    return std::to_string(is_short ? time.count() : time.count() / 1000) + (is_short ? " ms" : " s");
}

}  // namespace

Status WaitTimer::check(Clock::time_point now, std::function<std::string()> const& describe,
                        std::string_view reassurance) {
    auto const waited = std::chrono::floor<std::chrono::milliseconds>(now - begin_);
    auto const description = [&] { return describe() + " for " + render(waited); };
    if (policy_->timeout && waited > *policy_->timeout) return Error{codes::timed_out, description()};
    if (has_warned_ || !policy_->on_long_wait || waited < policy_->long_wait) return Ok{};
    has_warned_ = true;
    policy_->on_long_wait(description().append(reassurance));
    return Ok{};
}

}  // namespace det::liveness
