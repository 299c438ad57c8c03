#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/slurm/step_process.hpp>

#include <filesystem>
#include <list>
#include <string>
#include <vector>

// slurm.warm_start: interpreters that wait on the nodes of the job for the next run
// (launchers/warm_start.hpp).
namespace det::launch::supervisor {

/// Whether slurm.warm_start is set and has an effect.
bool is_warm_started(ExperimentSpec const& spec);

/// What DET_WARM_START says in the runs of a trial.
struct WarmPlace {
    std::string name;
    std::filesystem::path directory;
    std::string to_text() const { return name + ":" + directory.string(); }
};
WarmPlace warm_start_place(BatchJob const& batch_job, TrialId trial);

/// The step in which the interpreters of one trial wait, on all nodes of the job. It lives through the
/// restarts of the run. Its processes end when their input does, which this process holds.
class WarmStart {
public:
    WarmStart(BatchJob const& batch_job, SupervisorContext const& context)
        : batch_job_(batch_job), context_(context) {}
    ~WarmStart() { end(false); }
    WarmStart(WarmStart const&) = delete;
    WarmStart& operator=(WarmStart const&) = delete;

    /// Starts the step beside a run that has just started. In each run a further one: on nodes where the
    /// processes of the former ones live, those of the new one end at once. Does nothing without
    /// slurm.warm_start.
    /// \param except nodes that are lost
    void begin(TrialId trial, std::vector<std::string> const& except);
    /// Ends the interpreters, and removes what the ranks of this execution have asked for.
    /// \param is_node_lost a node of the last run was lost
    void end(bool is_node_lost);

private:
    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    std::list<slurm::StepProcess> steps_;
    std::filesystem::path directory_;
    bool has_lost_node_ = false;  // a step is also on a node that was lost later
};

}  // namespace det::launch::supervisor
