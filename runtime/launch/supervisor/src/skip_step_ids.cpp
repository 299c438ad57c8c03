#include "skip_step_ids.hpp"

#include <algorithm>
#include <vector>

#include "wait_for_step.hpp"

namespace det::launch::supervisor {
namespace {

constexpr std::uint32_t further_steps_max = 16;
constexpr std::uint32_t at_once_max = 16;
constexpr std::chrono::minutes time_limit{1};

bool is_same_incarnation(RunSlurmSteps const& a, RunSlurmSteps const& b) {
    return a.job == b.job && a.restart_count == b.restart_count;
}

/// Starts and ends `count` steps at the same time.
SkipEnd skip_at_once(std::uint32_t count, StartStep const& start, std::chrono::steady_clock::time_point until,
                     Clock const& clock) {
    std::vector<slurm::StepProcess> started;
    for (std::uint32_t i = 0; i < count; ++i) {
        auto step = start();
        if (!step) return SkipEnd::not_started;
        started.push_back(*std::move(step));
    }
    for (auto& step : started) {
        if (wait_for_step(step, until, clock)) continue;
        return clock.steady_now() >= until ? SkipEnd::out_of_time : SkipEnd::signalled;
    }
    return SkipEnd::all_skipped;
}

}  // namespace

std::uint32_t count_step_ids_to_skip(std::span<RunSlurmSteps const> runs) {
    std::uint32_t used = 0;  // an upper bound of the step numbers of the current incarnation
    RunSlurmSteps const* before = nullptr;
    for (auto const& run : runs) {
        if (before == nullptr || !is_same_incarnation(*before, run)) {
            bool const has_skipped = before != nullptr && before->is_lost && run.restart_count > 0;
            used = has_skipped ? used + further_steps_max : 0;
        }
        used += run.nodes + 2;  // health checks and interpreters that wait are steps too
        before = &run;
    }
    return used + further_steps_max;
}

SkipEnd skip_step_ids(std::uint32_t count, StartStep const& start, Clock const& clock) {
    auto const until = clock.steady_now() + time_limit;
    for (auto left = count; left > 0; left -= std::min(left, at_once_max)) {
        auto const end = skip_at_once(std::min(left, at_once_max), start, until, clock);
        if (end != SkipEnd::all_skipped) return end;
    }
    return SkipEnd::all_skipped;
}

std::string_view describe(SkipEnd end) {
    switch (end) {
        case SkipEnd::all_skipped:
            break;
        case SkipEnd::not_started:
            return "srun could not be started";
        case SkipEnd::out_of_time:
            return "Slurm is too slow";
        case SkipEnd::signalled:
            return "Slurm ends this job";
    }
    return "all were skipped";
}

}  // namespace det::launch::supervisor
