#include <det/launch/supervisor/step_numbers.hpp>

namespace det::launch::supervisor {
namespace {

constexpr std::uint32_t further_steps_max = 16;

bool is_same_incarnation(RunSteps const& a, RunSteps const& b) {
    return a.job == b.job && a.restart_count == b.restart_count;
}

}  // namespace

std::uint32_t count_steps_to_skip(std::span<RunSteps const> runs) {
    std::uint32_t used = 0;  // an upper bound of the step numbers of the current incarnation
    RunSteps const* before = nullptr;
    for (auto const& run : runs) {
        if (before == nullptr || !is_same_incarnation(*before, run)) {
            bool const has_skipped = before != nullptr && before->is_lost && run.restart_count > 0;
            used = has_skipped ? used + further_steps_max : 0;
        }
        used += run.nodes + 1;  // a health check is a step too
        before = &run;
    }
    return used + further_steps_max;
}

}  // namespace det::launch::supervisor
