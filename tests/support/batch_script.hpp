#pragma once
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "loopback_cluster.hpp"

namespace det::test {

class FileWatch;

/// A line of slurm.conf that makes the ids of jobs different from other numbers in their output.
constexpr char first_job_id[] = "FirstJobId=100001";

/// How a batch script is submitted.
enum class Submission {
    sbatch,      // without det-submit
    det_option,  // by sbatch, with the line `#SBATCH --det`
    requeue,     // by sbatch, with the line `#SBATCH --det-requeue`
    experiment,  // by det-submit experiment create
};

enum class Disturbance { none, preemption };

/// What a batch script has left behind when none of its jobs is in the queue any more. In names and texts
/// "JOB" stands for the ids of its jobs, and labels of ranks are left out.
struct BatchScriptResult {
    std::map<std::string, std::string> files;  // those that were not there at first, or have changed
    int exit_code = 0;            // the highest one of its jobs, or of the last runs of its trials
    int ranks = 0;                // distinct lines "rank R of W" in these files
    int steps = 0;                // lines "step N", also those that a later start of the job has overwritten
    int starts = 0;               // of its jobs, with requeues
    bool is_overwritten = false;  // a file with such lines has lost them
};

/// A batch script and its directory, of which each run gets a copy of its own on the cluster. If the
/// directory has a file login.sh, it is sourced before the submission.
class BatchScript {
public:
    BatchScript(LoopbackCluster const& cluster, std::filesystem::path const& script,
                std::vector<std::string> arguments = {});

    /// Submits the script and waits until none of its jobs, and of those that these have submitted, is left.
    /// A preemption takes all nodes as soon as the files have eight lines "step N", and no sooner than
    /// `silent_time` after the submission if they have none.
    BatchScriptResult run(Submission submission, Disturbance disturbance,
                          std::chrono::milliseconds silent_time = std::chrono::seconds(20)) const;

private:
    std::string submit(Submission submission, std::string const& directory) const;
    void preempt(FileWatch& watch, std::chrono::milliseconds silent_time) const;

    LoopbackCluster const& cluster_;
    std::string name_;
    std::string arguments_;  // quoted, with a leading space
};

/// How a run differs from another one: "exit code 1, not 0", "2 ranks, not 4", "no file x", "x differs at
/// 'a line'".
/// \param varying files whose contents are not compared.
/// \param kind with a preemption, files are only compared if they have no lines "step N".
std::vector<std::string> differences(BatchScriptResult const& expected, BatchScriptResult const& found,
                                     Disturbance kind, std::set<std::string> const& varying = {});

enum class Rows {
    all,
    experiment,  // experiment create only; what two undisturbed runs do not have in common counts as a
                 // difference
};

/// Runs a script in these ways and returns a table with a row for each.
std::string compare_submissions(BatchScript const& script, Rows rows = Rows::all);

}  // namespace det::test
