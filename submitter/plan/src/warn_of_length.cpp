#include <det/protocol/json.hpp>
#include <det/protocol/trial_class.hpp>
#include <det/search/training_length.hpp>

#include <fmt/format.h>

#include "plan_steps.hpp"

namespace det::plan {
namespace {

using search::BatchSize;
using search::LengthUnit;

struct Missing {
    std::string names;  // with their verb
    std::string hint;
};

Missing find_missing(LengthUnit unit, BatchSize const& batch_size) {
    bool const needs_epoch = unit == LengthUnit::epochs && batch_size.records_per_epoch == 0;
    constexpr char batch_hint[] = "the hyperparameter 'global_batch_size'";
    if (batch_size.global_batch_size > 0) return {"records_per_epoch is", "add 'records_per_epoch: ...'"};
    if (!needs_epoch) return {"global_batch_size is", fmt::format("add {}", batch_hint)};
    return {"records_per_epoch and global_batch_size are",
            fmt::format("add 'records_per_epoch: ...' and {}", batch_hint)};
}

bool starts_trial_class(config::Entrypoint const& entrypoint) {
    auto const* command = std::get_if<std::string>(&entrypoint);
    auto const items =
        command != nullptr ? std::vector{*command} : std::get<std::vector<std::string>>(entrypoint);
    return find_trial_class_launch(items) != TrialClassLaunch::none;
}

}  // namespace

void warn_of_length(config::ExperimentConfig const& config, search::Search const& search,
                    Diagnostics& found) {
    auto const length = search::find_training_length(search_input(config).searcher.options);
    if (!length) return;
    auto const batch_size = search::read_batch_size(Json{{"records_per_epoch", config.records_per_epoch}},
                                                    search.draw(0).hyperparameters);
    if (search::can_convert(length->unit, batch_size)) return;
    // A trial class takes the length of an epoch from its data loader, and reports epochs.
    if (length->unit == LengthUnit::epochs && starts_trial_class(config.entrypoint)) return;
    auto const missing = find_missing(length->unit, batch_size);
    auto const unit = search::to_string(length->unit);
    found.warn(with_location(
        config, "searcher.max_length",
        Error{
            codes::missing_key,
            fmt::format("searcher.max_length is in {}, and {} not configured: steps_completed is taken as {}",
                        unit, missing.names, unit),
            fmt::format("{}, so that steps_completed can count batches", missing.hint)}));
}

}  // namespace det::plan
