#pragma once
#include <det/protocol/directory_layout.hpp>
#include <det/tracker/history/experiment_view.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "experiment/live_line.hpp"
#include "session.hpp"

namespace det::cli {

/// Shows on stderr how an experiment is, while a command waits for it. On a terminal that shows escape
/// sequences this is one line, which is redrawn: the place in the queue, then the progress. Elsewhere, and
/// with NO_COLOR, a line is printed for each change.
class LiveStatus {
public:
    enum class Answer {
        none,      // the command prints nothing while it waits
        log_lines  // the command prints log lines to stdout: a live line needs stdout to be the terminal too
    };
    LiveStatus(RootLayout const& root, ExperimentId id, Answer answer, Session& session);
    LiveStatus(LiveStatus const&) = delete;
    LiveStatus& operator=(LiveStatus const&) = delete;
    ~LiveStatus();

    /// Draws or prints the line. Reads the whole queue every half minute at most while the experiment waits,
    /// and the reports of its trials so often that a tenth of the time is spent on it at most. If something
    /// can't be read, the line has less.
    void update(tracker::history::ExperimentView const& view);
    /// Removes the line, so that other text can be printed. The next update() draws it again.
    void clear();
    /// Prints the result of an experiment that has ended; of a failed one, also the failure of the trial that
    /// failed first.
    void print_result(tracker::history::ExperimentView const& view);
    /// Prints how the last run of a failed trial ended, and the end of the output of the rank that failed
    /// first.
    void print_failure(tracker::history::TrialView const& trial);

private:
    void read_place(tracker::history::ExperimentView const& view);
    void read_training(tracker::history::ExperimentView const& view);
    void read_only_trial(tracker::history::TrialView const& trial, ExperimentSpec const& spec);
    void read_search(tracker::history::ExperimentView const& view, ExperimentSpec const& spec);
    LiveFacts facts_of(tracker::history::ExperimentView const& view) const;

    RootLayout root_;
    Session& session_;
    bool is_live_;
    tracker::history::JournalHistory history_;
    LiveFacts facts_;
    std::map<std::uint32_t, std::optional<journal::BestValidation>> ended_bests_;  // of ended trials
    std::optional<std::chrono::steady_clock::time_point> place_read_at_, next_training_read_;
    std::string drawn_;   // the line on the terminal; empty: none
    std::string change_;  // the state and the reasons that were printed last
};

}  // namespace det::cli
