#include <det/protocol/json.hpp>
#include <det/search/training_length.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "json_integers.hpp"

namespace det::search {
namespace {

constexpr std::array<std::string_view, 4> unit_names{"steps", "batches", "records", "epochs"};

std::optional<TrainingLength> find_max_time(Json const& options) {
    auto const metric = options.find("time_metric");
    auto const value = find_positive(options, "max_time");
    if (!value || metric == options.end() || !metric->is_string()) return std::nullopt;
    auto name = metric->get<std::string>();
    auto const unit = std::ranges::find(unit_names, name);
    if (unit != unit_names.end())
        return TrainingLength{*value, static_cast<LengthUnit>(unit - unit_names.begin())};
    return TrainingLength{*value, LengthUnit::steps, std::move(name)};
}

}  // namespace

std::string_view to_string(LengthUnit unit) { return unit_names.at(static_cast<std::size_t>(unit)); }

std::string TrainingLength::describe() const {
    return time_metric.empty() ? fmt::format("{} {}", value, to_string(unit))
                               : fmt::format("{} of '{}'", value, time_metric);
}

std::optional<TrainingLength> find_training_length(Json const& searcher_options) {
    if (!searcher_options.is_object()) return std::nullopt;
    if (auto const time = find_max_time(searcher_options)) return time;
    if (auto const steps = find_positive(searcher_options, "max_length")) return TrainingLength{*steps};
    auto const length = searcher_options.find("max_length");
    if (length == searcher_options.end() || !length->is_object()) return std::nullopt;
    for (auto const unit : {LengthUnit::batches, LengthUnit::records, LengthUnit::epochs}) {
        auto const value = find_positive(*length, to_string(unit).data());
        if (value) return TrainingLength{*value, unit};
    }
    return std::nullopt;
}

BatchSize read_batch_size(Json const& config, Json const& hyperparameters) {
    return {find_positive(hyperparameters, "global_batch_size").value_or(0),
            find_positive(config, "records_per_epoch").value_or(0)};
}

bool can_convert(LengthUnit unit, BatchSize const& batch_size) {
    switch (unit) {
        case LengthUnit::steps:
        case LengthUnit::batches:
            return true;
        case LengthUnit::records:
            return batch_size.global_batch_size > 0;
        case LengthUnit::epochs:
            return batch_size.global_batch_size > 0 && batch_size.records_per_epoch > 0;
    }
    return false;
}

double to_unit(std::uint64_t steps_completed, LengthUnit unit, BatchSize const& batch_size) {
    auto const steps = static_cast<double>(steps_completed);
    if (!can_convert(unit, batch_size)) return steps;
    auto const records = steps * static_cast<double>(batch_size.global_batch_size);
    if (unit == LengthUnit::records) return records;
    if (unit == LengthUnit::epochs) return records / static_cast<double>(batch_size.records_per_epoch);
    return steps;
}

std::uint64_t to_batches(std::uint64_t length, LengthUnit unit, BatchSize const& batch_size) {
    bool const is_count_of_batches = unit == LengthUnit::steps || unit == LengthUnit::batches;
    if (is_count_of_batches || !can_convert(unit, batch_size)) return length;
    auto const per_unit = unit == LengthUnit::epochs ? batch_size.records_per_epoch : 1;
    constexpr auto max = std::numeric_limits<std::uint64_t>::max();
    if (length > max / per_unit) return max;
    auto const records = length * per_unit;
    return records / batch_size.global_batch_size + (records % batch_size.global_batch_size != 0 ? 1 : 0);
}

}  // namespace det::search
