#include <det/search/training_length.hpp>
#include <det/tracker/history/progress.hpp>

#include <algorithm>
#include <ranges>

namespace det::tracker::history {
namespace {

/// The step at which the trial is: that of the last report, or of the checkpoint from which a run without
/// reports started.
std::optional<std::uint64_t> find_step(std::span<RunReports const* const> runs) {
    for (auto const* run : std::views::reverse(runs)) {
        if (run->last_step) return run->last_step;
        if (run->beginning.resumed_from) return run->beginning.resumed_from;
    }
    return std::nullopt;
}

}  // namespace

std::optional<double> progress_of_trial(std::span<RunReports const* const> runs, ExperimentSpec const& spec) {
    for (auto const* run : std::views::reverse(runs)) {
        if (run->progress) return std::clamp(*run->progress, 0.0, 1.0);
    }
    auto const length = search::find_training_length(spec.searcher.options);
    if (!length || length->value == 0 || !length->time_metric.empty()) return std::nullopt;
    auto const step = find_step(runs);
    if (!step) return std::nullopt;
    auto const batch_size = search::read_batch_size(spec.config, spec.hyperparameters);
    auto const done = search::to_unit(*step, length->unit, batch_size);
    return std::clamp(done / static_cast<double>(length->value), 0.0, 1.0);
}

std::optional<double> progress_of_trial(std::vector<RunReports> const& runs, ExperimentSpec const& spec) {
    std::vector<RunReports const*> pointers;
    for (auto const& run : runs) pointers.push_back(&run);
    return progress_of_trial(pointers, spec);
}

}  // namespace det::tracker::history
