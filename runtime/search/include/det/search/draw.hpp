#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>

namespace det::search {

/// What the searcher gives a trial.
struct TrialDraw {
    nlohmann::json hyperparameters = nlohmann::json::object();
    std::uint32_t seed = 0;
};

/// The index-th trial of an experiment: a pure function of its hyperparameters as configured (explicit form,
/// {"lr": {"type": "const", "val": 0.1}}, nested ones as plain maps) and its seed. Hyperparameters that are
/// not const are codes::not_supported.
Result<TrialDraw> draw_trial(nlohmann::json const& hyperparameters, std::uint32_t experiment_seed,
                             std::uint32_t index);

}  // namespace det::search
