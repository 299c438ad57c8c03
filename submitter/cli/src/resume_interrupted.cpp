#include "resume_interrupted.hpp"

#include <det/foundation/files.hpp>
#include <det/slurm/submit_array.hpp>

namespace det::cli {
namespace {

bool is_interrupted(tracker::history::TrialView const& trial) {
    return trial.state == lifecycle::State::interrupted && trial.record.desired == Desired::run;
}

/// Where trials share nodes: the task that had claimed it runs no more.
Status free_claims(OpenExperiment const& experiment) {
    if (!experiment.view.record.is_packed()) return Ok{};
    for (auto const& trial : experiment.view.trials) {
        if (is_interrupted(trial))
            DET_TRY(remove_tree(experiment.layout.trial(trial.record.id.index).claimed()));
    }
    return Ok{};
}

}  // namespace

std::vector<ArrayJob> plan_resubmission(tracker::history::ExperimentView const& experiment) {
    std::vector<std::uint32_t> interrupted;
    for (auto const& trial : experiment.trials) {
        if (is_interrupted(trial)) interrupted.push_back(trial.record.id.index);
    }
    return pick_tasks(experiment.record.arrays(), interrupted);
}

Result<std::vector<ArrayJob>> resubmit(OpenExperiment const& experiment, std::vector<ArrayJob> const& arrays,
                                       Session& session) {
    DET_TRY(free_claims(experiment));
    slurm::SubmitContext const context{user_name(session.environment) + "@" + host_name(),
                                       session.environment, session.clock};
    std::vector<ArrayJob> submitted;
    for (auto const& array : arrays) {
        DET_TRY_ASSIGN(auto job, slurm::resubmit_tasks(experiment.layout, *experiment.view.record.spec,
                                                       {array, {}}, context, session.slurm));
        submitted.push_back(std::move(job));
    }
    return submitted;
}

}  // namespace det::cli
