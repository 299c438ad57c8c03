#pragma once
#include <det/experiment/context.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/view.hpp>

#include <chrono>

namespace det::experiment {

/// Reads an experiment repeatedly: its journals at each poll, the queue of slurmctld every 10 s.
class ExperimentPoller {
public:
    ExperimentPoller(RootLayout root, ExperimentId id, Context& context);

    /// Returns the present state of the experiment. Reads the queue again before it reports that a trial has
    /// ended.
    Result<tracker::history::ExperimentView> poll();
    /// Sleeps until the next poll.
    void wait();

private:
    tracker::history::JournalHistory history_;
    ExperimentId id_;
    Context& context_;
    tracker::history::QueueSnapshot queue_;
    std::chrono::steady_clock::time_point asked_;
};

/// Returns true if the state is terminal or `interrupted`: neither changes without a command of the user.
bool is_settled(lifecycle::State state);

}  // namespace det::experiment
