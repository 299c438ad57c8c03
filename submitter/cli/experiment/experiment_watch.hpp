#pragma once
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/history/view.hpp>

#include <chrono>

#include "session.hpp"

namespace det::cli {

/// An experiment looked at again and again: its journals each time, slurmctld rarely.
class ExperimentWatch {
public:
    ExperimentWatch(RootLayout root, ExperimentId id, Session& session);

    /// The states in it. That something has ended is believed only with a fresh look at the queue.
    Result<tracker::history::ExperimentView> look();
    /// Until it is worth looking again.
    void pause();

private:
    tracker::history::JournalHistory history_;
    ExperimentId id_;
    Session& session_;
    tracker::history::QueueSnapshot queue_;
    std::chrono::steady_clock::time_point asked_;
};

/// It goes on no more by itself.
bool is_settled(lifecycle::State state);

}  // namespace det::cli
