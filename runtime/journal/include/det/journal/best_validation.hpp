#pragma once
#include <det/foundation/result.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/record.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace det::journal {

/// The metric by which validations are compared.
struct Objective {
    std::string metric;
    bool smaller_is_better = true;
};

struct BestValidation {
    double value = 0;
    std::uint64_t steps_completed = 0;
    friend bool operator==(BestValidation const&, BestValidation const&) = default;
};

/// One metric of a trial's validations, in the order of the runs and of their reports.
struct ValidationValue {
    std::uint64_t steps_completed = 0;
    double value = 0;
};

/// Reads the values of a metric in the validations that a trial has reported in its runs with the number
/// `first_run` and higher. Leaves out reports that a later run supersedes (superseded.hpp), and values of
/// ranks where a lower rank has one for the step (merge_ranks.hpp).
Result<std::vector<ValidationValue>> load_validations(TrialLayout const& trial, std::uint32_t first_run,
                                                      std::string const& metric);

/// Finds the best of the validations that load_validations() reads. Of equal values the earliest counts. NaN
/// and infinities are ignored.
/// \return nullopt if no validation has a finite value of objective.metric
Result<std::optional<BestValidation>> load_best_validation(TrialLayout const& trial, std::uint32_t first_run,
                                                           Objective const& objective);

}  // namespace det::journal
