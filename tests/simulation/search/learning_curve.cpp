#include "learning_curve.hpp"

#include <cassert>
#include <cmath>
#include <limits>
#include <numbers>

namespace det::simulation {
namespace {

constexpr double noise = 0.005;  // standard deviation of a reported loss
constexpr double initial_loss = 1;
constexpr double best_rate = -2.5;  // the logarithm of the learning rate

/// What an optimizer adds to the final loss, and by which factor it is slower.
struct Optimizer {
    char const* name;
    double loss;
    double slowness;
};
constexpr Optimizer optimizers[] = {{"sgd", 0, 1.6}, {"adam", 0.03, 1}, {"rmsprop", 0.05, 0.85}};

Optimizer const& find_optimizer(std::string const& name) {
    for (auto const& optimizer : optimizers) {
        if (optimizer.name == name) return optimizer;
    }
    assert(false);
    return optimizers[0];
}

std::uint64_t mix(std::uint64_t value) {  // splitmix64
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
    return value ^ (value >> 31);
}

/// Number `index` of the uniform random numbers in (0, 1) of a seed.
double uniform(std::uint32_t seed, std::uint64_t index) {
    return (static_cast<double>(mix(mix(seed) + index) >> 11) + 0.5) * 0x1p-53;
}

double normal(std::uint32_t seed, std::uint64_t index) {
    return std::sqrt(-2 * std::log(uniform(seed, 2 * index))) *
           std::cos(2 * std::numbers::pi * uniform(seed, 2 * index + 1));
}

constexpr std::uint64_t fault_index = std::uint64_t{1} << 40;  // of the random numbers that are no noise

/// A number of reports, small ones more often.
std::uint64_t few_reports(std::uint32_t seed, std::uint64_t index) {
    return static_cast<std::uint64_t>(std::pow(300, uniform(seed, index)));
}

}  // namespace

LearningCurve::LearningCurve(Json const& hyperparameters, std::uint32_t seed, FaultRates const& rates)
    : seed_(seed) {
    auto const rate = std::log10(hyperparameters.at("learning_rate").get<double>());
    auto const doublings = std::log2(hyperparameters.at("width").get<double>() / 16);  // 0 to 5
    auto const dropout = hyperparameters.at("dropout").get<double>();
    auto const& optimizer = find_optimizer(hyperparameters.at("optimizer"));
    auto const distance = std::abs(rate - best_rate);
    final_loss_ = 0.05 + 0.04 * distance * distance + 0.03 * (5 - doublings) +
                  0.5 * std::pow(dropout - 0.2, 2) + optimizer.loss;
    reports_to_learn_ = 8 * std::pow(10, 0.4 * distance) * (1 + dropout) * optimizer.slowness;
    report_interval_s_ = 20 + 10 * doublings;
    if (rate > -0.15) nan_after_ = few_reports(seed, fault_index);
    if (uniform(seed, fault_index + 1) < rates.fails) fails_after_ = few_reports(seed, fault_index + 2);
    if (uniform(seed, fault_index + 3) < rates.invalid)
        invalid_after_ = few_reports(seed, fault_index + 4) - 1;
}

double LearningCurve::loss_at(std::uint64_t report) const {
    if (nan_after_ && report > *nan_after_) return std::numeric_limits<double>::quiet_NaN();
    auto const distance = std::exp(-static_cast<double>(report) / reports_to_learn_);
    return final_loss_ + (initial_loss - final_loss_) * distance + noise * normal(seed_, report);
}

Json search_space() {
    return {{"learning_rate", {{"type", "log"}, {"base", 10}, {"minval", -5}, {"maxval", 0}}},
            {"width", {{"type", "int"}, {"minval", 16}, {"maxval", 512}}},
            {"dropout", {{"type", "double"}, {"minval", 0}, {"maxval", 0.6}}},
            {"optimizer", {{"type", "categorical"}, {"vals", {"sgd", "adam", "rmsprop"}}}}};
}

std::vector<LearningCurve> draw_curves(std::uint32_t seed, std::uint32_t count, FaultRates const& rates) {
    SearcherSpec const random{"random", "loss", true, Json{{"max_trials", count}}};
    auto const search = search::Search::parse(random, search_space(), seed);
    assert(search);
    std::vector<LearningCurve> curves;
    curves.reserve(count);
    for (auto const& draw : search->draw_first(count))
        curves.emplace_back(draw.hyperparameters, draw.seed, rates);
    return curves;
}

}  // namespace det::simulation
