#include <det/protocol/run_shape.hpp>
#include <det/tracker/usage/allocations.hpp>

#include <algorithm>

#include "run_phases.hpp"

namespace det::tracker::usage {
namespace {

std::optional<UtcTime> later(std::optional<UtcTime> a, std::optional<UtcTime> b) { return std::max(a, b); }

std::optional<UtcTime> last_report(history::RunReports const& run) {
    auto last = run.first_step;
    if (!run.metrics.empty()) last = later(last, run.metrics.back().time);
    if (!run.checkpoints.empty()) last = later(last, run.checkpoints.back().time);
    return last;
}

/// \return The job that Slurm shows with the job id and the restart count of the allocation; nullptr if there
/// is none.
slurm::JobStatus const* find_job(std::vector<slurm::JobStatus> const& jobs, Allocation const& allocation) {
    auto const ref = slurm::parse_job_ref(allocation.job);
    auto const found = std::ranges::find_if(jobs, [&](slurm::JobStatus const& job) {
        return ref && job.ref == *ref && job.restarts == allocation.restart_count;
    });
    return found == jobs.end() ? nullptr : &*found;
}

/// The execution of a job during which the supervisor of an allocation began, if Slurm's accounting knows it
/// and its end; else nullptr. Job numbers may have been used before, and accounting may lack executions, so
/// only one that contains the beginning counts. It has whole seconds, so the execution before, if it ended in
/// the second in which this one began, contains the beginning too: the one that started last counts.
///
/// Accounting may lack the start of an execution that was requeued soon after it. Then one counts that ended
/// between the beginning and the end that is known otherwise, which is never long before Slurm's.
slurm::JobExecution const* find_execution(std::vector<slurm::JobExecution> const& executions,
                                          Allocation const& allocation) {
    constexpr std::int64_t second_us = 1'000'000;
    auto const ref = slurm::parse_job_ref(allocation.job);
    auto const begun = allocation.started.microseconds, ended = allocation.ended.microseconds;
    slurm::JobExecution const *found = nullptr, *without_start = nullptr;
    for (auto const& each : executions) {
        if (!ref || each.job != *ref || !each.ended || each.ended->microseconds < begun - second_us) continue;
        bool const has_begun = each.started && each.started->microseconds <= begun + second_us;
        if (has_begun && (found == nullptr || *each.started > *found->started)) found = &each;
        if (!each.started && each.ended->microseconds <= ended + second_us) without_start = &each;
    }
    return found != nullptr ? found : without_start;
}

void apply_accounting(std::vector<slurm::JobExecution> const& executions, Allocation& allocation) {
    auto const* const found = find_execution(executions, allocation);
    if (found == nullptr) return;
    allocation.started = found->started.value_or(allocation.started);
    allocation.ended = *found->ended;
    allocation.end_source = EndSource::accounting;
    if (found->nodes > 0) allocation.nodes = found->nodes;
}

bool is_running(slurm::JobState state) {
    return state == slurm::JobState::running || state == slurm::JobState::suspended;
}

}  // namespace

AllocationFinder::AllocationFinder(ExperimentSpec const& spec)
    : spec_(spec), slots_per_node_(static_cast<std::uint32_t>(spec.shape.ranks_per_node()) * spec.lanes) {}

void AllocationFinder::add(history::TrialRecord const& trial, std::span<history::RunReports const> reports,
                           std::span<std::int64_t const> waited_slot_us) {
    for (auto& phases : run_phases(trial, reports)) {
        auto const& started = *trial.runs[phases.run].started;
        phases.slots = static_cast<std::uint32_t>(shape_of_run(spec_, started).ranks());
        if (phases.run < waited_slot_us.size()) phases.waited_slot_us = waited_slot_us[phases.run];
        auto const last = phases.run < reports.size() ? last_report(reports[phases.run]) : std::nullopt;
        add_run(trial.runs[phases.run], std::move(phases), last);
    }
}

void AllocationFinder::add_run(lifecycle::RunView const& run, RunPhases phases,
                               std::optional<UtcTime> last_report) {
    auto const& started = *run.started;
    auto const [at, is_new] = seen_.try_emplace({started.job, started.restart_count});
    auto& seen = at->second;
    auto& allocation = seen.allocation;
    if (is_new) {
        allocation.job = started.job;
        allocation.restart_count = started.restart_count;
        allocation.nodes = static_cast<std::uint32_t>(shape_of_run(spec_, started).nodes) + spec_.spare_nodes;
        allocation.started = started.time;
    }
    if (!seen.has_slurm_start) allocation.started = std::min(allocation.started, started.time);
    if (run.allocation) {
        seen.has_slurm_start = true;
        allocation.started = run.allocation->started;
        allocation.submitted = run.allocation->submitted;
        if (run.allocation->nodes > 0) allocation.nodes = run.allocation->nodes;
        seen.slurm_end = later(seen.slurm_end, run.allocation->ended);
    }
    seen.last_sign = later(seen.last_sign, phases.ended ? phases.ended : later(phases.begun, last_report));
    allocation.runs.push_back(std::move(phases));
}

std::vector<Allocation> AllocationFinder::find(std::vector<slurm::JobStatus> const& jobs,
                                               std::vector<slurm::JobExecution> const& executions,
                                               UtcTime now) const {
    std::vector<Allocation> found;
    for (auto at = seen_.begin(); at != seen_.end(); ++at) {
        auto const& seen = at->second;
        auto allocation = seen.allocation;
        auto const next = std::next(at);
        bool const was_requeued = next != seen_.end() && next->first.first == at->first.first;
        auto const* const job = find_job(jobs, allocation);
        allocation.ended = *seen.last_sign;
        if (job != nullptr && is_running(job->state)) {
            allocation.ended = now;
            allocation.end_source = EndSource::running;
        } else if (job != nullptr && job->state != slurm::JobState::pending && job->end_time) {
            allocation.ended = *job->end_time;
            allocation.end_source = EndSource::slurm;
        } else if (seen.slurm_end) {
            allocation.ended = *seen.slurm_end;
            allocation.end_source = EndSource::slurm;
        } else if (was_requeued && next->second.allocation.submitted &&
                   *next->second.allocation.submitted > allocation.started) {
            allocation.ended = *next->second.allocation.submitted;
            allocation.end_source = EndSource::requeue;
        }
        if (allocation.end_source != EndSource::running) apply_accounting(executions, allocation);
        allocation.slots = allocation.nodes * slots_per_node_;
        allocation.ended = std::max(allocation.ended, allocation.started);
        found.push_back(std::move(allocation));
    }
    std::ranges::stable_sort(found, {}, [](Allocation const& a) { return a.started; });
    return found;
}

}  // namespace det::tracker::usage
