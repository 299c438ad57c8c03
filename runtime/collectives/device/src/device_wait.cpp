#include "device_wait.hpp"

#include <fmt/format.h>

namespace det::collectives::device {

Status DeviceWait::until(std::function<Result<bool>()> const& is_over) {
    liveness::Backoff backoff(liveness::Cores::own);
    for (int polls = 0;; ++polls) {
        DET_TRY_ASSIGN(bool const is_done, is_over());
        if (is_done) return Ok{};
        if (polls % polls_per_look == 0) {
            if (auto all_well = look(); !all_well) {
                // A rank may end after it has done its part.
                DET_TRY_ASSIGN(bool const is_done_after_all, is_over());
                if (is_done_after_all) return Ok{};
                return all_well;
            }
        }
        backoff.pause();
    }
}

Status DeviceWait::look() {
    DET_TRY(host_.check_ranks());
    auto const waited = std::chrono::steady_clock::now() - begin_;
    auto const seconds = std::chrono::floor<std::chrono::seconds>(waited).count();
    if (rules_.timeout && waited > *rules_.timeout)
        return Error{codes::timed_out, fmt::format("{} for {} s", what_, seconds)};
    if (!has_warned_ && rules_.on_long_wait && waited > rules_.long_wait) {
        has_warned_ = true;
        rules_.on_long_wait(fmt::format("{} for {} s; all ranks are alive", what_, seconds));
    }
    return Ok{};
}

}  // namespace det::collectives::device
