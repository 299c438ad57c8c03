#include "open_experiment.hpp"

#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>
#include <map>

#include "output/views.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

Result<tracker::history::ExperimentRecord> load_record(RootLayout const& root, std::string const& text) {
    DET_TRY_ASSIGN(auto const id, require_experiment_id(text));
    return tracker::history::JournalHistory(root).load_experiment(id);
}

/// The arrays that a creation submitted before it was cut off, as it would have recorded them.
std::vector<ArrayJob> find_arrays(std::vector<slurm::JobStatus> const& jobs, std::string const& comment,
                                  ExperimentSpec const* spec) {
    std::map<std::uint32_t, std::uint32_t> task_counts;
    for (auto const& job : jobs) {
        if (job.comment == comment) ++task_counts[job.ref.job];
    }
    std::vector<ArrayJob> arrays;
    std::uint32_t const lanes = spec != nullptr ? spec->lanes : 1;
    std::uint32_t first_trial = 0;
    for (auto const& [job, tasks] : task_counts) {
        arrays.push_back({job, first_trial, tasks * lanes, lanes});
        first_trial += tasks * lanes;
    }
    return arrays;
}

/// What Slurm has of a creation that was cut off becomes part of the record in memory; activate writes it
/// down.
void add_unrecorded_arrays(tracker::history::ExperimentRecord& record, RootLayout const& root,
                           std::vector<slurm::JobStatus> const& jobs) {
    auto const arrays =
        find_arrays(jobs, job_comment(root, record.id), record.spec ? &*record.spec : nullptr);
    if (arrays.empty()) return;
    record.events.push_back({std::string(event_kinds::created), {}, "", jobs_body(arrays)});
}

}  // namespace

Result<OpenExperiment> open_experiment(std::string const& id, Session& session) {
    DET_TRY_ASSIGN(auto const root, find_root(session.environment));
    DET_TRY_ASSIGN(auto record, load_record(root, id));
    auto const queue = look_at_queue({record}, session);
    auto const layout = ExperimentLayout(root, record.id).at(record.revision());
    return OpenExperiment{root, layout, view_experiment(std::move(record), queue)};
}

Result<OpenExperiment> open_experiment_with_jobs(std::string const& id, Session& session) {
    DET_TRY_ASSIGN(auto const root, find_root(session.environment));
    DET_TRY_ASSIGN(auto record, load_record(root, id));
    auto const arrays = record.arrays();
    slurm::QueueFilter filter{{}, {}, true};
    for (auto const& array : arrays) filter.jobs.push_back(array.job);
    if (arrays.empty()) filter = {user_name(session.environment), {}, false};
    DET_TRY_ASSIGN(auto jobs, session.slurm.queue(filter));
    if (arrays.empty()) add_unrecorded_arrays(record, root, jobs);
    auto const layout = ExperimentLayout(root, record.id).at(record.revision());
    return OpenExperiment{root, layout, view_experiment(std::move(record), {true, std::move(jobs)})};
}

Status record_event(OpenExperiment const& experiment, std::string_view kind, Json body, Session& session) {
    return journal::append_event(experiment.layout.events(),
                                 Event{std::string(kind), session.clock.now(),
                                       user_name(session.environment) + "@" + host_name(), std::move(body)});
}

}  // namespace det::cli
