#pragma once
#include <det/experiment/context.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace det::experiment {

/// An experiment that a command is about to show or change.
struct OpenExperiment {
    RootLayout root;
    ExperimentLayout layout;
    tracker::history::ExperimentView view;
    std::shared_ptr<tracker::history::History> history;  // from which it was read

    ExperimentId id() const { return view.record.id; }
};

/// Whose experiments a command shows.
enum class RecordsOf { this_user, another_user };

/// Asks Slurm for the jobs of these experiments. If Slurm does not answer, warns and returns a snapshot
/// without jobs: the states are then computed from the journals only. The same, without a warning, for the
/// experiments of another user if Slurm hides jobs from all but their owner (PrivateData).
tracker::history::QueueSnapshot query_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                            Context& context, RecordsOf whose);
/// The same for the experiments of the root that find_shown_root() returns.
tracker::history::QueueSnapshot query_queue(std::vector<tracker::history::ExperimentRecord> const& records,
                                            Context& context);

/// Parses the id of an experiment as users type it: "7". codes::usage if the text is not such an id.
Result<ExperimentId> require_experiment_id(std::string const& text);
/// Parses the id of a trial: "7.3", the trial's integer, or "7" for 7.0. codes::usage if the text is not such
/// an id.
Result<TrialId> require_trial_id(std::string const& text);
/// Returns this trial of the experiment. codes::no_such_trial if the experiment does not have it.
Result<tracker::history::TrialView> require_trial(tracker::history::ExperimentView const& view, TrialId id);

/// Whether a command can work without Slurm's answer about the jobs of an experiment.
enum class SlurmAnswer {
    optional,  // if Slurm does not answer, warns and uses only the journals
    required,  // fails if Slurm does not answer; finds the jobs of an interrupted creation by their comments
};

/// Reads an experiment and asks Slurm for its jobs. If Slurm's answer is required, the records come from the
/// journals, else from Context::open_history().
Result<OpenExperiment> open_experiment(std::string const& id, SlurmAnswer slurm_answer, Context& context);

/// Appends an event with its author and time to the experiment's events.
Status record_event(OpenExperiment const& experiment, std::string_view kind, Json body, Context& context);
/// The same for something that has been done already: warns if the event can't be written.
void record_done(OpenExperiment const& experiment, std::string_view kind, Json body, Context& context);

/// Reads an experiment repeatedly: its journals at each poll, the queue of slurmctld every 10 s, at once when
/// a trial seems to have ended, and every 2 s at most when a run has begun.
class ExperimentPoller {
public:
    ExperimentPoller(RootLayout root, ExperimentId id, Context& context);

    /// Returns the present state of the experiment. Reads the queue again before it reports that a trial has
    /// ended.
    Result<tracker::history::ExperimentView> poll();
    /// Sleeps until the next poll.
    void sleep_until_next_poll();

private:
    tracker::history::JournalHistory history_;
    ExperimentId id_;
    Context& context_;
    tracker::history::QueueSnapshot queue_;
    std::chrono::steady_clock::time_point asked_;
    std::vector<bool> settled_;   // at the last poll: the experiment, then each trial
    std::size_t known_runs_ = 0;  // of all trials, when the queue was read
};

/// Returns true if the state is terminal or `interrupted`: neither changes without a command of the user.
bool is_settled(lifecycle::State state);

}  // namespace det::experiment
