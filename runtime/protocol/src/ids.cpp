#include <det/foundation/text.hpp>
#include <det/protocol/ids.hpp>

#include <fmt/format.h>

namespace det {

std::string to_string(ExperimentId id) { return std::to_string(id.value); }
std::string to_string(TrialId id) { return fmt::format("{}.{}", id.experiment.value, id.index); }
std::string to_string(RunId id) { return fmt::format("{}.{}", to_string(id.trial), id.number); }

std::int64_t to_integer(TrialId id) {
    return std::int64_t{id.experiment.value} * trials_per_experiment_max + id.index;
}

std::optional<ExperimentId> parse_experiment_id(std::string_view text) {
    auto const value = parse_integer<std::uint32_t>(text);
    if (!value || *value == 0) return std::nullopt;
    return ExperimentId{*value};
}

std::optional<TrialId> parse_trial_id(std::string_view text) {
    if (auto const dot = text.find('.'); dot != std::string_view::npos) {
        auto const experiment = parse_experiment_id(text.substr(0, dot));
        auto const index = parse_integer<std::uint32_t>(text.substr(dot + 1));
        if (!experiment || !index || *index >= trials_per_experiment_max) return std::nullopt;
        return TrialId{*experiment, *index};
    }
    auto const number = parse_integer<std::uint64_t>(text);
    if (!number || *number < trials_per_experiment_max) return std::nullopt;
    auto const experiment = *number / trials_per_experiment_max;
    if (experiment > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return TrialId{{static_cast<std::uint32_t>(experiment)},
                   static_cast<std::uint32_t>(*number % trials_per_experiment_max)};
}

}  // namespace det
