#include "lost_runs.hpp"

#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/run_shape.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <optional>

#include "heartbeats.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

struct LostRun {
    RunId id;
    RunLayout layout;
    int task_nodes = 1;  // number of nodes with tasks of det-submit
};

/// The newest run of the trial, if this incarnation of the job has started it and its end is not recorded.
Result<std::optional<LostRun>> find_lost_run(BatchJob const& batch_job, std::uint32_t trial) {
    auto const directory = batch_job.experiment.trial(trial);
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(directory.runs()));
    if (runs.empty()) return std::optional<LostRun>();
    auto const layout = directory.run(runs.back());
    DET_TRY_ASSIGN(auto const life, journal::salvage_journal(layout.supervisor_journal()));
    bool is_own = false, has_ended = false;
    int task_nodes = batch_job.is_script() ? 1 : batch_job.spec.shape.nodes;
    for (auto const& record : life.records) {
        if (auto const* started = std::get_if<RunStarted>(&record)) {
            is_own = started->job == slurm::to_string(batch_job.job) &&
                     started->restart_count == batch_job.incarnation.restart_count &&
                     started->batch_host == batch_job.incarnation.batch_host;
            if (!batch_job.is_script()) task_nodes = shape_of_run(batch_job.spec, *started).nodes;
        }
        has_ended = has_ended || std::holds_alternative<RunEnded>(record);
    }
    if (!is_own || has_ended) return std::optional<LostRun>();
    return std::optional(LostRun{{{batch_job.spec.id, trial}, runs.back()}, layout, task_nodes});
}

/// Whether the tasks of all nodes have ended in order since the supervisor was killed: then no supervisor has
/// confirmed that, so the nodes have left files that say so. Nodes that have left while it still lived have
/// no file, as nodes whose wrappers are killed: nothing shows whether they have ended.
bool have_all_left(LostRun const& run) {
    auto const files = NodeFiles::list(run.layout);
    if (!files) return false;
    for (int node = 0; node < run.task_nodes; ++node) {
        if (!files->has_left(node)) return false;
    }
    return true;
}

/// \return what keeps Slurm from cancelling the step
Status cancel_lost_step(LostRun const& run, BatchJob const& batch_job, SupervisorContext const& context) {
    context.log(fmt::format("run {}: its supervisor was killed: its step is ended", to_string(run.id)));
    return batch_job.is_script() ? context.slurm.cancel_steps(batch_job.job)
                                 : context.slurm.cancel_step(batch_job.job, to_string(run.id));
}

Status record_lost_end(LostRun const& run, Status const& cancelled, SupervisorContext const& context) {
    std::string message = "its supervisor was killed and started again";
    if (!cancelled) {
        // The next run then uses other files: tasks of this one may still write.
        DET_TRY(write_file(run.layout.abandoned(), ""));
        message += "; its step could not be cancelled: " + cancelled.error().message;
    }
    DET_TRY_ASSIGN(auto life, journal::JournalWriter::open(run.layout.supervisor_journal()));
    return life.append(RunEnded{context.clock.now(), Cause::interrupted, NextAction::restart_in_place,
                                128 + SIGKILL, message, ""},
                       Durability::power_loss);
}

}  // namespace

Status end_lost_runs(BatchJob const& batch_job, SupervisorContext const& context,
                     std::vector<std::uint32_t> const& trials) {
    std::vector<LostRun> lost;
    for (auto const trial : trials) {
        DET_TRY_ASSIGN(auto const run, find_lost_run(batch_job, trial));
        if (run) lost.push_back(*run);
    }
    std::vector<Status> cancelled;
    for (auto const& run : lost) cancelled.push_back(cancel_lost_step(run, batch_job, context));
    // Slurm starts the next steps when it has the resources of these back. Wrappers that still end by
    // themselves get a moment, those of all runs the same one.
    auto const give_up_at = context.clock.steady_now() + 5s;
    for (std::size_t i = 0; i < lost.size(); ++i) {
        while (cancelled[i] && !have_all_left(lost[i]) && context.clock.steady_now() < give_up_at)
            context.clock.sleep_for(200ms);
    }
    for (std::size_t i = 0; i < lost.size(); ++i) DET_TRY(record_lost_end(lost[i], cancelled[i], context));
    return Ok{};
}

}  // namespace det::launch::supervisor
