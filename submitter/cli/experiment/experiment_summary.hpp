#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/rank_failure.hpp>
#include <det/tracker/history/experiment_view.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiment/ranked_trials.hpp"
#include "output/table.hpp"
#include "session.hpp"

namespace det::cli {

/// The number of lines that `experiment describe` prints at most, however many trials there are.
inline constexpr std::size_t summary_lines_max = 20;

/// A run that failed, because of its program or of what it ran on.
struct FailedRun {
    RunId run;
    UtcTime time;
    std::string message;                 // how the supervisor recorded the end
    std::optional<RankFailure> failure;  // of the rank that failed first
};

/// What the summary of an experiment needs besides its view.
struct SummaryFacts {
    std::optional<double> progress;     // 0 to 1
    std::optional<std::uint64_t> step;  // of the only trial
    std::optional<RankedTrial> best;    // points into the view
    std::optional<FailedRun> last_failure;
    bool has_checkpoint = false;                  // looked for once the experiment has ended
    bool has_validated_checkpoint = false;        // one that `experiment download` copies
    std::optional<ExperimentLayout> layout = {};  // where its files are read; nullopt: below the root
};

/// Where the summary is shown.
struct SummaryContext {
    std::size_t columns;      // longer lines are cut or wrapped
    std::string root_option;  // " --root DIR" if the user named the root, for commands
    bool is_foreign = false;  // another user's root: no command changes it
    TimeText time_text = {};
    NumberText number_text = {};
};

/// Reads what the summary needs. Reads the journals of all trials.
Result<SummaryFacts> load_summary_facts(experiment::OpenExperiment const& experiment, Session const& session);

/// The commands that fit the state of an experiment, the most useful one first. Pure.
std::vector<std::string> next_commands(tracker::history::ExperimentView const& view,
                                       SummaryFacts const& facts, SummaryContext const& context);

/// State, progress, best trial, last failure and what to do next: at most summary_lines_max lines. Pure.
std::string summary_text(tracker::history::ExperimentView const& view, SummaryFacts const& facts,
                         SummaryContext const& context);

}  // namespace det::cli
