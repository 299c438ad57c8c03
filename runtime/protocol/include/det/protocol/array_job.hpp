#pragma once
#include <det/protocol/event.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det {

/// One job array of an experiment. Usually task i runs trial first_trial + i. If trials share nodes, task i
/// begins with the `lanes` trials from first_trial + i * lanes on and may claim more later. If task_count is
/// set, there are fewer tasks, and each claims trials until none is left. An experiment has several arrays if
/// MaxArraySize is too small for all trials, or if tasks were submitted again. The array of a user's batch
/// script has the numbers that the script gives its tasks.
struct ArrayJob {
    std::uint32_t job = 0;
    std::uint32_t first_trial = 0;
    std::uint32_t trial_count = 1;
    std::uint32_t lanes = 1;
    std::uint32_t running_max = 0;          // maximum of running tasks; 0: no limit
    std::vector<std::uint32_t> tasks = {};  // the submitted tasks; empty: all
    std::uint32_t task_count = 0;           // 0: one for each `lanes` trials
    /// The numbers of the tasks in the array of a batch script: task_ids[i] runs trial i. Empty: i does.
    std::vector<std::uint32_t> task_ids = {};
    /// No array: a job of one trial that the user has submitted alone (`det-launch script`).
    bool is_plain_job = false;

    /// \pre trial >= first_trial
    std::uint32_t task_of(std::uint32_t trial) const {
        auto const task = (trial - first_trial) / lanes;
        if (task < task_ids.size()) return task_ids[task];
        return task_count == 0 ? task : task % task_count;
    }
    bool runs(std::uint32_t trial) const;
    friend bool operator==(ArrayJob const&, ArrayJob const&) = default;
};

/// The body of events that record submitted jobs.
Json jobs_body(std::vector<ArrayJob> const& arrays);

/// All submitted arrays in order, from the events `created`, `resubmitted` and `continued`. Invalid entries
/// are ignored.
std::vector<ArrayJob> array_jobs_of(std::vector<Event> const& events);

/// The array that was last submitted for the trial.
std::optional<ArrayJob> find_array_of(std::vector<ArrayJob> const& arrays, std::uint32_t trial);

/// Reduces the arrays to the tasks that run `trials`. Arrays without such a task are left out. Several
/// entries for the same array are merged. Pure.
std::vector<ArrayJob> pick_tasks(std::vector<ArrayJob> const& arrays,
                                 std::vector<std::uint32_t> const& trials);

}  // namespace det
