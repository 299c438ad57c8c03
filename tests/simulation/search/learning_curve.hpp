#pragma once
#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::simulation {

/// How often trials end early.
struct FaultRates {
    double fails = 0;    // the share of trials whose program fails for good
    double invalid = 0;  // the share of trials whose program calls the hyperparameters invalid
};

/// One trial of the synthetic benchmark: the loss that it reports, as a function of its hyperparameters and
/// its seed. Learning curves cross: some optimizers and little dropout learn fast and end high, others learn
/// slowly and end low. A learning rate that is too small or too large is slower and ends higher; with the
/// largest ones the loss becomes NaN. Wide models end lower, and take more time for a report.
class LearningCurve {
public:
    LearningCurve(Json const& hyperparameters, std::uint32_t seed, FaultRates const& rates);

    /// The loss of report number `report`, counted from 1: the curve and noise.
    double loss_at(std::uint64_t report) const;
    /// The time that the training takes from one report to the next.
    double report_interval_s() const { return report_interval_s_; }
    /// The number of reports after which the program fails, or calls its hyperparameters invalid.
    std::optional<std::uint64_t> fails_after() const { return fails_after_; }
    std::optional<std::uint64_t> invalid_after() const { return invalid_after_; }

private:
    double final_loss_ = 0;
    double reports_to_learn_ = 0;  // until the distance to the final loss is 1/e
    double report_interval_s_ = 0;
    std::uint32_t seed_ = 0;
    std::optional<std::uint64_t> nan_after_;
    std::optional<std::uint64_t> fails_after_;
    std::optional<std::uint64_t> invalid_after_;
};

/// The hyperparameters of the benchmark, as in an experiment configuration.
Json search_space();
/// The trials of a search in the order of their draws.
/// \param count the number of trials, including those that replace invalid ones
std::vector<LearningCurve> draw_curves(std::uint32_t seed, std::uint32_t count, FaultRates const& rates);

}  // namespace det::simulation
