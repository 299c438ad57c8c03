#pragma once
#include <det/protocol/desired.hpp>
#include <det/protocol/record.hpp>
#include <det/slurm/job.hpp>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace det::lifecycle {

/// States as Determined names them, computed from journals and Slurm each time: nobody stores them.
enum class State {
    submitting,  // being created; `experiment create` may have died on the way
    queued,
    starting,  // the job runs, the first step has not begun
    running,
    stopping_canceled,  // the user asked for its end, and it still runs
    stopping_killed,
    paused,
    completed,
    canceled,
    error,
    interrupted,  // its supervisor died without a word
};

std::string_view to_string(State state);
bool is_terminal(State state);

struct RunView {
    std::optional<RunStarted> started;
    std::optional<RunEnded> ended;
    std::optional<UtcTime> queued_again = {};  // when Slurm took its job back into the queue
};

/// What is known of a trial.
struct TrialFacts {
    std::span<RunView const> runs;  // in order
    Desired desired = Desired::run;
    bool slurm_answered = true;
    std::optional<slurm::JobStatus> job;  // nothing where Slurm does not know it (any more)
    std::size_t first_run = 0;            // of those before it the experiment was continued: they are history
    bool waits_for_lane = false;          // no task has claimed it yet: `job` is any that may
};

State state_of_trial(TrialFacts const& facts);

/// created: whether the `created` event is there. An experiment succeeds if one of its trials does.
State state_of_experiment(bool created, Desired desired, std::span<State const> trials);

}  // namespace det::lifecycle
