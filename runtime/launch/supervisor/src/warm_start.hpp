#pragma once
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/slurm/step_process.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "warm_nodes.hpp"

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

/// The steps in which the interpreters of one trial wait, on all nodes of the job. They live through the
/// restarts of the run. Their processes end when their input does, which this process holds.
class WarmStart {
public:
    WarmStart(BatchJob const& batch_job, SupervisorContext const& context)
        : batch_job_(batch_job), context_(context) {}
    ~WarmStart() { end(false); }
    WarmStart(WarmStart const&) = delete;
    WarmStart& operator=(WarmStart const&) = delete;

    /// Starts a step beside a run that has just started, on the nodes that have no keeper: on all of them in
    /// the first run, later on those whose keeper was killed. Where one lives unknown to this process, that
    /// of the new step ends at once. Does nothing without slurm.warm_start.
    /// \param except nodes that are lost
    void begin(TrialId trial, std::vector<std::string> const& except);
    /// The nodes on which an interpreter waits.
    std::vector<std::string> find_waiting() const;
    /// Ends the interpreters, and removes what the ranks of this execution have asked for.
    /// \param is_node_lost a node of the last run was lost
    void end(bool is_node_lost);

private:
    struct Step {
        std::uint64_t number;
        std::vector<std::string> hosts;
        std::chrono::steady_clock::time_point began;
        slurm::StepProcess srun;
    };
    void forget_ended_steps();
    bool has_lost_keeper() const;

    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    std::list<Step> steps_;
    std::uint64_t steps_begun_ = 0;
    std::unique_ptr<WarmNodes> nodes_;
    std::filesystem::path directory_;
    bool has_lost_node_ = false;  // a step is also on a node that was lost later
};

}  // namespace det::launch::supervisor
