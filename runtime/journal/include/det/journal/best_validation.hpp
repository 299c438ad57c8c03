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

/// Reads the validations that a trial's runs from `first_run` on reported, in order. Leaves out superseded
/// reports (superseded.hpp).
Result<std::vector<MetricsReported>> load_validations(TrialLayout const& trial, std::uint32_t first_run);

/// Finds the best of the validations that load_validations() reads. Of equal values the earlier one is the
/// best; NaN and infinities are left out.
/// \return nullopt if no validation has a finite number of this name
Result<std::optional<BestValidation>> load_best_validation(TrialLayout const& trial, std::uint32_t first_run,
                                                           Objective const& objective);

}  // namespace det::journal
