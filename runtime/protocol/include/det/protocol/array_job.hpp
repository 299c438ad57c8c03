#pragma once
#include <det/protocol/event.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det {

/// One job array of an experiment: its task i runs trial first_trial + i, or, where trials share nodes,
/// begins with those from first_trial + i * lanes on. There are several where Slurm's MaxArraySize is too
/// small for all trials, and where tasks were submitted once more.
struct ArrayJob {
    std::uint32_t job = 0;
    std::uint32_t first_trial = 0;
    std::uint32_t trial_count = 1;
    std::uint32_t lanes = 1;
    std::uint32_t running_max = 0;          // tasks at once; 0: as many as there are
    std::vector<std::uint32_t> tasks = {};  // those of them that it has; empty: all

    std::uint32_t task_of(std::uint32_t trial) const { return (trial - first_trial) / lanes; }
    bool runs(std::uint32_t trial) const;
};

/// The body of the events that tell of jobs.
Json jobs_body(std::vector<ArrayJob> const& arrays);

/// All that were submitted, the first ones first: what `created`, `resubmitted` and `continued` say. What
/// can't be read is passed over.
std::vector<ArrayJob> array_jobs_of(std::vector<Event> const& events);

/// The last one that was submitted for that trial.
std::optional<ArrayJob> find_array_of(std::vector<ArrayJob> const& arrays, std::uint32_t trial);

/// Of these arrays the tasks that run those trials; one that runs none of them is left out. Pure.
std::vector<ArrayJob> pick_tasks(std::vector<ArrayJob> const& arrays,
                                 std::vector<std::uint32_t> const& trials);

}  // namespace det
