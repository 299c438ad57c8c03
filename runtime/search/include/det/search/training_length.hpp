#pragma once
#include <det/protocol/document.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace det::search {

/// What a training length counts. `steps`: whatever the program counts as steps_completed.
enum class LengthUnit : std::uint8_t { steps, batches, records, epochs };

std::string_view to_string(LengthUnit unit);

/// How long one trial trains, as the searcher section of the configuration says it.
struct TrainingLength {
    std::uint64_t value = 0;  // at least 1
    LengthUnit unit = LengthUnit::steps;
    /// The validation metric that counts instead of steps_completed. Empty: none.
    std::string time_metric = {};

    /// "1000 batches", or "1000 of 'hours'" for a time_metric.
    std::string describe() const;
    friend bool operator==(TrainingLength const&, TrainingLength const&) = default;
};

/// Reads max_time and time_metric of the searcher section, or if one of them is absent max_length: an
/// integer, or a map with `batches`, `records` or `epochs`. A time_metric with the name of a unit is that
/// unit: a program need not report it. nullopt if neither is configured.
std::optional<TrainingLength> find_training_length(Json const& searcher_options);

/// How many records a batch and an epoch have. 0: unknown.
struct BatchSize {
    std::uint64_t global_batch_size = 0;
    std::uint64_t records_per_epoch = 0;
    friend bool operator==(BatchSize const&, BatchSize const&) = default;
};

/// Reads records_per_epoch of a configuration and global_batch_size of a trial's hyperparameters. A value
/// that is no integer of at least 1 is unknown.
BatchSize read_batch_size(Json const& config, Json const& hyperparameters);

/// Converts steps_completed, which counts batches, to the unit. If the batch size that the conversion needs
/// is unknown, returns steps_completed: the program then counts in the unit itself.
double to_unit(std::uint64_t steps_completed, LengthUnit unit, BatchSize const& batch_size);

/// Number of batches that a trial trains to reach `length` units, rounded up. If the batch size that the
/// conversion needs is unknown, returns `length`. At most the maximum of 64 bits.
std::uint64_t to_batches(std::uint64_t length, LengthUnit unit, BatchSize const& batch_size);

/// Whether `batch_size` has the numbers that to_unit() and to_batches() need for the conversion.
bool can_convert(LengthUnit unit, BatchSize const& batch_size);

}  // namespace det::search
