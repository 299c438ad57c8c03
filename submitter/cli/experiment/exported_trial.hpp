#pragma once
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/clock.hpp>
#include <det/foundation/result.hpp>
#include <det/lifecycle/state.hpp>
#include <det/protocol/ids.hpp>
#include <det/protocol/json.hpp>

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace det::cli {

/// The metric of one rank. Metrics of other ranks than 0 are apart, as in event files.
struct ExportedMetric {
    std::string group, name;
    Rank rank;
    friend auto operator<=>(ExportedMetric const&, ExportedMetric const&) = default;
};

struct ExportedValue {
    std::uint64_t steps_completed = 0;
    UtcTime time;
    double value = 0;
};

/// A trial as other programs store it: one run with parameters and series of numbers.
struct ExportedTrial {
    TrialId id;
    std::string run_id;  // 32 hexadecimal digits, the same at each export
    lifecycle::State state = lifecycle::State::queued;
    UtcTime started;                    // of a trial that has not begun: the experiment's creation
    std::optional<UtcTime> ended = {};  // nullopt while it is not over
    std::map<std::string, Json> hyperparameters = {};                   // by path: "optimizer.lr"
    std::map<ExportedMetric, std::vector<ExportedValue>> metrics = {};  // in the order of the reports
};

/// The numbers of the reports that no later run superseded. Booleans are 0 and 1. Pure.
std::map<ExportedMetric, std::vector<ExportedValue>> collect_numbers(
    std::vector<tracker::history::RunReports> const& runs);

/// \param root that root_id() returns for the root of the experiment
std::string render_run_id(std::string const& root, TrialId trial);

/// \pre the experiment has a specification
Result<ExportedTrial> load_exported_trial(experiment::OpenExperiment const& experiment,
                                          tracker::history::TrialView const& trial);

}  // namespace det::cli
