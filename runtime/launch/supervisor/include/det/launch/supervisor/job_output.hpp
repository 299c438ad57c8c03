#pragma once
#include <det/launch/supervisor/batch_job.hpp>

#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

// Slurm's output file of a job, which repeats what the logs of its runs have if all went well. A search of
// many trials would leave a file of each of its jobs.
namespace det::launch::supervisor {

/// What the supervisor logs in a job for which no trial is left.
inline constexpr std::string_view nothing_left_line = "nothing is left to run here";

/// A run that the output says began in the job.
struct RunInOutput {
    std::uint32_t trial = 0;
    std::uint32_t number = 0;
    bool operator==(RunInOutput const&) const = default;
};

/// The runs of the experiment that began according to the supervisor's lines in the output, in their order.
std::vector<RunInOutput> find_runs(std::string_view output, ExperimentId experiment);

/// Different lines of an output, without the newlines.
using OutputLines = std::unordered_set<std::string_view>;

/// The lines of an output that must also be in logs if the output is to be removed: all but the begin and the
/// good end of a run, and those that say nothing about a job that ended well. nullopt if the output is empty,
/// or has a run that has not begun or not ended well there. The result has views of the output.
std::optional<OutputLines> find_other_lines(std::string_view output, ExperimentId experiment);

/// Removes the lines of the log of a node, each with and without the label of its rank.
/// \return false if the log says that lines are missing: they may be in the output only
bool remove_lines_of_log(OutputLines& lines, std::string_view log);

/// Removes Slurm's output file if all runs of the job ended well and the file has nothing that is not also in
/// the journals and logs of these runs. Does nothing if standard output is another file, if the output or a
/// log is larger than 2 MiB or can't be read, if a run began in another incarnation of the job, or if the
/// file has changed since it was read. Must be the last thing that the job's supervisor does: what Slurm
/// writes later is lost. If Slurm runs the job again, it makes a new file.
void remove_repeated_output(BatchJob const& batch_job);

}  // namespace det::launch::supervisor
