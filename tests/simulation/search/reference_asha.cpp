#include "reference_asha.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace det::simulation {
namespace {

constexpr double worst = std::numeric_limits<double>::max();

double rung_length(double max_length, double divisor, std::uint32_t divisions) {
    return std::max(std::floor(max_length / std::pow(divisor, divisions)), 1.0);
}

/// How many times `value` can be divided by `divisor` and stay at least 1, plus one.
std::uint32_t levels(double value, double divisor) {
    return static_cast<std::uint32_t>(std::floor(std::log(value) / std::log(divisor))) + 1;
}

void share_trials(std::vector<ReferenceBracket>& brackets, std::uint32_t max_trials, double divisor) {
    double sum = 0;
    std::vector<double> weights;
    for (auto const& bracket : brackets) {
        auto const rungs = static_cast<double>(bracket.rung_lengths.size());
        weights.push_back(std::pow(divisor, rungs - 1) / rungs);
        sum += weights.back();
    }
    std::uint32_t total = 0;
    for (std::size_t i = 0; i < brackets.size(); ++i) {
        brackets[i].trials = std::max(static_cast<std::uint32_t>(weights[i] / sum * max_trials), 1U);
        total += brackets[i].trials;
    }
    if (total < max_trials) brackets[0].trials += max_trials - total;
}

void share_concurrency(std::vector<ReferenceBracket>& brackets, std::uint32_t max_concurrent,
                       double divisor) {
    auto const count = static_cast<std::uint32_t>(brackets.size());
    for (std::uint32_t i = 0; i < count; ++i) {
        auto const limit = std::max(max_concurrent, count);
        brackets[i].concurrent_trials =
            max_concurrent == 0 ? std::max(brackets.back().trials, static_cast<std::uint32_t>(divisor))
                                : limit / count + (i < limit % count ? 1 : 0);
    }
}

}  // namespace

std::vector<ReferenceBracket> make_reference_brackets(std::string const& mode, double max_length,
                                                      std::uint32_t max_trials, std::uint32_t max_concurrent,
                                                      double divisor, std::uint32_t max_rungs) {
    auto const most = std::min({max_rungs, levels(max_length, divisor), levels(max_trials, divisor)});
    auto const fewest = mode == "aggressive" ? most : mode == "standard" ? (most - 1) / 2 + 1 : 1;
    std::vector<ReferenceBracket> brackets;
    for (auto rungs = most; rungs >= fewest; --rungs) {
        ReferenceBracket bracket;
        for (auto divisions = rungs; divisions-- > 0;)
            bracket.rung_lengths.push_back(rung_length(max_length, divisor, divisions));
        brackets.push_back(bracket);
    }
    share_trials(brackets, max_trials, divisor);
    share_concurrency(brackets, max_concurrent, divisor);
    return brackets;
}

ReferenceAnswer ReferenceAsha::on_validation(std::uint32_t trial, double time, double metric) {
    auto const value = std::isnan(metric) ? worst : metric;
    auto& current = current_rungs_[trial];
    for (; current < rungs_.size(); ++current) {
        auto& rung = rungs_[current];
        if (time < rung.length) return ReferenceAnswer::trains_on;
        auto const place = std::ranges::lower_bound(rung.metrics, value, {}, &Metric::value);
        auto const index = static_cast<std::size_t>(place - rung.metrics.begin());
        rung.metrics.insert(place, {value, trial});
        if (current + 1 == rungs_.size()) break;
        auto const keep = std::max(
            static_cast<std::size_t>(std::floor(static_cast<double>(rung.metrics.size()) / divisor_)),
            std::size_t{1});
        if (index >= keep) break;
    }
    return ReferenceAnswer::stops;
}

void ReferenceAsha::on_failure(std::uint32_t trial) {
    rungs_.at(current_rungs_[trial]).metrics.push_back({worst, trial});
}

void ReferenceAsha::on_invalid(std::uint32_t trial) {
    for (auto& rung : rungs_)
        std::erase_if(rung.metrics, [&](auto const& metric) { return metric.trial == trial; });
}

}  // namespace det::simulation
