#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace det::simulation {

/// A bracket as Determined's adaptive_asha makes it.
struct ReferenceBracket {
    std::vector<double> rung_lengths;
    std::uint32_t trials = 0;
    std::uint32_t concurrent_trials = 0;
};

/// Determined's makeBrackets. \param mode aggressive, standard or conservative
std::vector<ReferenceBracket> make_reference_brackets(std::string const& mode, double max_length,
                                                      std::uint32_t max_trials, std::uint32_t max_concurrent,
                                                      double divisor, std::uint32_t max_rungs);

enum class ReferenceAnswer : std::uint8_t { trains_on, stops };

/// Determined's stopping ASHA for one bracket, which handles one event after another in a server. Written
/// from its description, without the code that it is compared with. Smaller metrics are better.
class ReferenceAsha {
public:
    ReferenceAsha(std::vector<double> rung_lengths, double divisor)
        : divisor_(divisor), rungs_(rung_lengths.size()) {
        for (std::size_t i = 0; i < rungs_.size(); ++i) rungs_[i].length = rung_lengths[i];
    }

    /// A trial has validated. \param metric NaN: the worst
    ReferenceAnswer on_validation(std::uint32_t trial, double time, double metric);
    /// The trial has failed for good: the worst entry in its current rung.
    void on_failure(std::uint32_t trial);
    /// The hyperparameters are invalid: the metrics of the trial leave all rungs.
    void on_invalid(std::uint32_t trial);

private:
    struct Metric {
        double value = 0;
        std::uint32_t trial = 0;
    };
    struct Rung {
        double length = 0;
        std::vector<Metric> metrics;  // best first
    };

    double divisor_;
    std::vector<Rung> rungs_;
    std::map<std::uint32_t, std::size_t> current_rungs_;  // by trial
};

}  // namespace det::simulation
