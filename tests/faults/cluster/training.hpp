#pragma once
#include <det/tracker/history/journal_history.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "site.hpp"

namespace det::faults {

/// What the chief rank of a run has written to the trace file.
struct TracedRun {
    bool is_restoring = false;
    std::optional<std::uint64_t> resumed_at;
    std::uint64_t last_step = 0;                // the last completed step
    std::optional<std::uint64_t> preempted_at;  // the step at which it saved and exited
    std::string weights;                        // checksums at the end of the training
};

/// An experiment with two nodes and four ranks on the site, and access to its journals, processes and job.
class Training {
public:
    /// \param nodes the nodes that its job may use; others are excluded.
    Training(Site& site, std::string name, std::vector<int> nodes)
        : site_(site), name_(std::move(name)), nodes_(std::move(nodes)) {}

    Status create();

    Site& site() const { return site_; }
    ExperimentId id() const { return id_; }
    std::filesystem::path checkpoints() const { return directory() / "checkpoints"; }

    std::map<std::uint32_t, TracedRun> trace() const;
    /// The runs as the supervisors recorded them.
    Result<std::vector<lifecycle::RunView>> runs() const;
    /// The records of the chief rank of a run.
    Result<std::vector<Record>> reports(std::uint32_t run) const;
    Result<std::string> state() const;

    /// Runs `det experiment VERB`, for example "activate".
    Status command(std::string_view verb) const;
    /// The processes of the experiment with that program name.
    std::vector<Process> processes(std::string const& program) const;
    std::vector<Process> supervisors() const;
    /// Checkpoint directories without a manifest: saves in progress and failed saves.
    std::set<std::string> unfinished_checkpoints() const;
    /// Shifts the wall clock of the ranks.
    Status shift_clock(std::chrono::seconds by) const;
    /// The hosts of its last run; empty before the first run.
    std::vector<std::string> hosts() const;
    /// The job id of its last run for Slurm commands; empty before the first run.
    std::string job() const;

private:
    std::filesystem::path directory() const { return site_.home() / name_; }
    std::filesystem::path trace_file() const { return directory() / "trace"; }
    std::filesystem::path clock_file() const { return directory() / "clock"; }  // read by clock_jumper
    std::optional<RunStarted> last_started() const;
    std::string config() const;

    Site& site_;
    std::string name_;
    std::vector<int> nodes_;
    ExperimentId id_;
};

}  // namespace det::faults
