#pragma once
#include <det/tracker/history/journal_history.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../cluster/site.hpp"
#include "shared_nfs.hpp"
#include "training_kind.hpp"

namespace det::faults {

/// What a training's root is, and which libraries are loaded into its programs.
enum class Seam {
    none,
    own_file_system,  // the root is a small ext4 file system, which can be filled and frozen
    failing_writes,   // write_failure() makes writes below the root fail
    clock,            // shift_clock() shifts the wall clock of all processes except the static det-wrap-rank
    nfs,              // its hosts have mounted its directory from an NFS server: nfs()
};

/// A process of a training, wherever it runs.
struct TrainingProcess {
    pid_t pid = 0;
    pid_t parent = 0;
    std::string program;
    std::string host;  // the node; empty: the login node
};

/// What all journals of an experiment contain, and the programs' own traces.
struct Snapshot {
    tracker::history::ExperimentRecord record;
    std::vector<std::vector<tracker::history::RunReports>> reports;  // [trial][run]

    /// The last step that is visible in a trial's reports.
    std::uint64_t last_step(std::uint32_t trial) const;
};

/// An experiment with a root of its own, whose only experiment has the number 1.
class LiveTraining {
public:
    /// \param nodes the nodes that its jobs may use; others are excluded
    LiveTraining(Site& site, TrainingKind const& kind, std::string name, std::vector<int> nodes, Seam seam)
        : site_(site), kind_(kind), name_(std::move(name)), nodes_(std::move(nodes)), seam_(seam) {}
    /// Unmounts its file system.
    ~LiveTraining();
    LiveTraining(LiveTraining const&) = delete;
    LiveTraining& operator=(LiveTraining const&) = delete;

    Status create();

    Site& site() const { return site_; }
    TrainingKind const& kind() const { return kind_; }
    std::vector<int> const& nodes() const { return nodes_; }
    std::filesystem::path directory() const { return site_.home() / name_; }
    std::filesystem::path root() const { return directory() / "root"; }

    Result<Snapshot> snapshot() const;
    /// The runs, by trial and run, that have recorded that they went on from a state in memory.
    Result<std::set<std::pair<std::uint32_t, std::uint32_t>>> runs_from_memory(
        Snapshot const& snapshot) const;
    /// The steps in the trace of a batch script or of the C++ program, by run.
    struct Trace {
        std::optional<std::uint64_t> resumed, last, saved;
        std::string weights;
    };
    std::map<std::uint32_t, Trace> trace() const;
    /// The last step of a trial that is visible outside.
    Result<std::uint64_t> last_step(std::uint32_t trial) const;

    Result<std::string> state() const;
    /// Runs `det-submit ARGUMENTS` as the user, with its root.
    Result<std::string> run_command(std::string const& arguments) const;
    Result<std::string> shell(std::string const& script) const;
    /// The processes that have its DET_ROOT in their environment.
    std::vector<TrainingProcess> processes() const;
    std::vector<TrainingProcess> processes(std::string_view program) const;
    /// The slurmstepds that are parents of one of `children`.
    static std::vector<TrainingProcess> parents_of(std::vector<TrainingProcess> const& children);
    /// The jobs of the experiment in Slurm's queue, with their states; empty: none.
    Result<std::string> queued_jobs() const;

    /// Whether Slurm holds a waiting job of the experiment, as after a start that slurmctld has forgotten.
    Result<bool> is_held() const;

    Status write_failure(std::string_view error) const;  // "EIO"; empty: writes succeed again
    Status shift_clock(std::chrono::seconds by) const;
    Status fill_disk() const;
    Status free_disk() const;
    Status freeze(bool on) const;
    /// Only with Seam::nfs, after create().
    SharedNfs& nfs() const { return *nfs_; }

    /// Adds to what the results say about the fault.
    void note(std::string const& text) const { notes_ += (notes_.empty() ? "" : ", ") + text; }
    std::string const& notes() const { return notes_; }

private:
    Status make_files() const;
    Status mount_own_file_system() const;
    std::filesystem::path trace_file() const;
    std::string variables() const;

    Site& site_;
    TrainingKind const& kind_;
    std::string name_;
    std::vector<int> nodes_;
    Seam seam_;
    std::unique_ptr<SharedNfs> nfs_;
    mutable bool is_mounted_ = false;
    mutable std::string notes_;
};

/// Runs a program as root on this machine. A non-zero exit code is an error.
Status run_program(std::vector<std::string> argv);

}  // namespace det::faults
