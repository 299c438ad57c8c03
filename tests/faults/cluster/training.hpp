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

/// What the chief of a run told in the trace.
struct TracedRun {
    bool is_restoring = false;
    std::optional<std::uint64_t> resumed_at;
    std::uint64_t last_step = 0;                // that it took
    std::optional<std::uint64_t> preempted_at;  // it saved there, and left
    std::string weights;                        // checksums, at the end of the training
};

/// An experiment of two nodes and four ranks on the site, as somebody sees it who stands outside.
class Training {
public:
    /// nodes: those that it may have; others are not given to it.
    Training(Site& site, std::string name, std::vector<int> nodes)
        : site_(site), name_(std::move(name)), nodes_(std::move(nodes)) {}

    Status create();

    Site& site() const { return site_; }
    ExperimentId id() const { return id_; }
    std::filesystem::path checkpoints() const { return directory() / "checkpoints"; }

    std::map<std::uint32_t, TracedRun> trace() const;
    /// As its supervisors recorded them.
    Result<std::vector<lifecycle::RunView>> runs() const;
    /// Of that run, by its chief.
    Result<std::vector<Record>> reports(std::uint32_t run) const;
    Result<std::string> state() const;

    /// As its user does: "activate".
    Status command(std::string_view verb) const;
    /// Its processes with that name.
    std::vector<Process> processes(std::string const& program) const;
    std::vector<Process> supervisors() const;
    /// Directories of its store without a manifest: of saves that go on, and of those that came to nothing.
    std::set<std::string> unfinished_checkpoints() const;
    /// From now on the wall clock of its ranks is wrong by so much.
    Status shift_clock(std::chrono::seconds by) const;
    /// The hosts of its last run; empty before the first.
    std::vector<std::string> hosts() const;
    /// The job of its last run, as Slurm's commands want it; empty before the first.
    std::string job() const;

private:
    std::filesystem::path directory() const { return site_.home() / name_; }
    std::filesystem::path trace_file() const { return directory() / "trace"; }
    std::filesystem::path clock_file() const { return directory() / "clock"; }  // as clock_jumper reads it
    std::optional<RunStarted> last_started() const;
    std::string config() const;

    Site& site_;
    std::string name_;
    std::vector<int> nodes_;
    ExperimentId id_;
};

}  // namespace det::faults
