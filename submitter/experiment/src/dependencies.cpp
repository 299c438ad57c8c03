#include "dependencies.hpp"

#include <det/foundation/text.hpp>
#include <det/journal/dependencies.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/trial_replacements.hpp>
#include <det/protocol/array_job.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::experiment {
namespace {

using journal::Dependency;
using journal::DependencyState;

/// The jobs that run the experiment or trial, as sbatch --dependency names them.
Result<std::vector<slurm::JobRef>> jobs_of(Dependency const& dependency, RootLayout const& root) {
    ExperimentLayout const layout(root, dependency.experiment);
    DET_TRY_ASSIGN(auto const spec, journal::load_spec(layout));
    DET_TRY_ASSIGN(auto const events, journal::load_events(layout.events()));
    auto const arrays = array_jobs_of(events_in_force(events, spec));
    std::vector<slurm::JobRef> jobs;
    if (!dependency.trial || spec.claims_trials()) {  // any task may run a trial that tasks claim
        for (auto const& array : arrays) jobs.push_back({array.job, {}});
        return jobs;
    }
    DET_TRY_ASSIGN(auto const replacements, journal::load_replacements(layout, spec.trial_count));
    auto const planned = journal::find_planned_trial(replacements, *dependency.trial);
    if (auto const array = find_array_of(arrays, planned))
        jobs.push_back({array->job, array->task_of(planned)});
    return jobs;
}

/// Whether a job of the queue is this one, or a task of this array.
bool is_part_of(slurm::JobRef const& queued, slurm::JobRef const& awaited) {
    return awaited.task ? queued == awaited : queued.job == awaited.job;
}

/// Adds the jobs of a dependency that are in Slurm's queue: sbatch refuses jobs that slurmctld has forgotten.
Status add_jobs(Dependency const& dependency, RootLayout const& root, Context& context,
                std::vector<std::string>& names) {
    DET_TRY_ASSIGN(auto const jobs, jobs_of(dependency, root));
    if (jobs.empty()) return Ok{};
    slurm::QueueFilter filter;
    for (auto const& job : jobs) filter.jobs.push_back(job.job);
    DET_TRY_ASSIGN(auto const queue, context.slurm.query_queue(filter));
    for (auto const& job : jobs) {
        auto const name = slurm::to_string(job);
        bool const is_queued =
            std::ranges::any_of(queue, [&](auto const& queued) { return is_part_of(queued.ref, job); });
        if (is_queued && std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return Ok{};
}

class DependencySearch {
public:
    DependencySearch(config::ExperimentConfig const& config, RootLayout const& root, Context& context)
        : config_(config), root_(root), context_(context) {}

    void look_at(std::vector<std::string> const& names, std::string_view key, bool needs_good_end) {
        for (auto const& name : names) {
            if (auto const found = look_at(name, needs_good_end); !found) {
                auto error = found.error();
                error.where = config_.where(key);
                problems_.report(std::move(error));
            }
        }
    }

    Result<std::string, Diagnostics> result() && {
        if (problems_.has_errors()) return std::move(problems_);
        return jobs_.empty() ? std::string() : "afterany:" + join(jobs_, ":");
    }

private:
    Status look_at(std::string const& name, bool needs_good_end) {
        auto const dependency = journal::parse_dependency(name);
        if (!dependency) return Error{codes::bad_value, fmt::format("'{}' is no experiment or trial", name)};
        DET_TRY_ASSIGN(auto const state, journal::load_dependency_state(root_, *dependency));
        if (needs_good_end && state == DependencyState::ended_badly) {
            return Error{codes::wrong_state,
                         fmt::format("{} did not end well, so this experiment would never start",
                                     journal::describe(*dependency)),
                         "use slurm.after_any to start it anyway"};
        }
        if (state != DependencyState::open) return Ok{};
        return add_jobs(*dependency, root_, context_, jobs_);
    }

    config::ExperimentConfig const& config_;
    RootLayout const& root_;
    Context& context_;
    std::vector<std::string> jobs_;
    Diagnostics problems_;
};

}  // namespace

Result<std::string, Diagnostics> find_dependency(config::ExperimentConfig const& config,
                                                 RootLayout const& root, Context& context) {
    DependencySearch search(config, root, context);
    search.look_at(config.slurm.after, "slurm.after", true);
    search.look_at(config.slurm.after_any, "slurm.after_any", false);
    return std::move(search).result();
}

}  // namespace det::experiment
