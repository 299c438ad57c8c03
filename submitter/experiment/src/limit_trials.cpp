// The limits of slots and of trials that run at the same time: both are the throttle of the job arrays.
#include <det/experiment/control_experiment.hpp>
#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <limits>

namespace det::experiment {
namespace {

using tracker::history::Attributes;
using tracker::history::ExperimentRecord;

/// Returns the number of tasks of an array that may run at the same time: the array's share of `running_max`,
/// proportional to its number of trials, at least one.
std::uint32_t share_of(ArrayJob const& array, std::uint32_t running_max, std::uint32_t trial_count) {
    auto const size = std::min(array.trial_count, trial_count);
    auto const share = std::uint64_t{running_max} * size / std::max(1u, trial_count);
    return std::max(1u, static_cast<std::uint32_t>(share));
}

/// Sets how many tasks of all arrays run at the same time.
Status limit_arrays(tracker::history::ExperimentRecord const& record, std::uint32_t running_max,
                    slurm::SlurmClient& slurm) {
    for (auto const& array : record.arrays()) {
        auto done = slurm.update_job(
            {array.job, {}}, {.running_tasks_max = share_of(array, running_max, record.spec->trial_count)});
        if (done || is_job_ended(done.error())) continue;
        auto error = std::move(done).error();
        // Since Slurm 23.02 only operators may change the limit of running tasks (ArrayTaskThrottle).
        if (error.code == codes::slurm_refused) {
            error.hint =
                "a Slurm operator can change it; or cancel it and create it again with "
                "searcher.max_concurrent_trials or resources.max_slots; 'scontrol hold' keeps single trials "
                "from starting";
        }
        return error;
    }
    return Ok{};
}

/// The number of tasks that may run at the same time under both limits.
std::uint32_t running_tasks_max(ExperimentSpec const& spec, Attributes const& limits) {
    std::int64_t tasks = std::numeric_limits<std::uint32_t>::max();
    auto const slots_per_task = std::int64_t{spec.shape.ranks()} * spec.lanes;
    if (limits.max_slots) tasks = std::min(tasks, *limits.max_slots / slots_per_task);
    if (limits.max_concurrent_trials) tasks = std::min(tasks, *limits.max_concurrent_trials / spec.lanes);
    return static_cast<std::uint32_t>(std::max<std::int64_t>(tasks, 1));
}

/// codes::wrong_state if no trial of the experiment will start any more.
Status check_limitable(OpenExperiment const& experiment) {
    if (!lifecycle::is_terminal(experiment.view.state) && experiment.view.record.spec) return Ok{};
    return Error{codes::wrong_state, fmt::format("experiment {} is {}: nothing is left to limit",
                                                 experiment.id().value, to_string(experiment.view.state))};
}

/// Sets the throttle of the arrays by these limits, and records the change that led to them.
Status apply_limits(OpenExperiment const& experiment, Attributes const& limits,
                    tracker::history::changes::Change change, Context& context) {
    auto const& record = experiment.view.record;
    DET_TRY(limit_arrays(record, running_tasks_max(*record.spec, limits), context.slurm));
    return record_event(experiment, change.first, std::move(change.second), context);
}

}  // namespace

Result<ExperimentId> limit_slots(std::string const& id, std::uint32_t slots, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    DET_TRY(check_limitable(experiment));
    auto const& record = experiment.view.record;
    auto const lanes = record.spec->lanes;
    auto const per_job = static_cast<std::uint32_t>(record.spec->shape.ranks()) * lanes;
    if (slots < per_job) {
        auto const what =
            lanes == 1 ? "one trial has" : fmt::format("{} trials that share a node have", lanes);
        return Error{
            codes::usage,
            fmt::format("{} {}: nothing runs with at most {}", what, count_text(per_job, "slot"), slots),
            fmt::format("use at least {}", per_job)};
    }
    auto limits = tracker::history::attributes_of(record);
    limits.max_slots = slots;
    DET_TRY(apply_limits(experiment, limits, tracker::history::changes::set_max_slots(slots), context));
    return experiment.id();
}

Result<ExperimentId> limit_concurrent_trials(std::string const& id, std::uint32_t trials, Context& context) {
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    DET_TRY(check_limitable(experiment));
    auto const& record = experiment.view.record;
    auto const lanes = record.spec->lanes;
    if (trials < lanes) {
        return Error{codes::usage,
                     lanes == 1 ? std::string("0 trials at the same time: nothing runs")
                                : fmt::format("{} trials share a node and run at the same time", lanes),
                     fmt::format("use at least {}", lanes)};
    }
    auto limits = tracker::history::attributes_of(record);
    limits.max_concurrent_trials = trials;
    DET_TRY(apply_limits(experiment, limits, tracker::history::changes::set_max_concurrent_trials(trials),
                         context));
    return experiment.id();
}

}  // namespace det::experiment
