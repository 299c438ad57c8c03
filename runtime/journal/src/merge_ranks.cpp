#include <det/journal/merge_ranks.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>

#include <algorithm>

namespace det::journal {

std::vector<MetricsReported> merge_ranks(std::vector<MetricsReported> chief,
                                         std::vector<RankMetrics> others) {
    std::vector<std::vector<MetricsReported>> of_ranks;
    of_ranks.push_back(std::move(chief));
    for (auto& other : others) of_ranks.push_back(std::move(other.reports));
    return merge_by_time(std::move(of_ranks), [](MetricsReported const& report) { return report.time; });
}

LowestRanks::LowestRanks(std::vector<MetricsReported> const& reports) {
    if (std::ranges::all_of(reports, [](auto const& report) { return report.rank == Rank{}; })) return;
    for (auto const& report : reports) {
        if (!report.metrics->is_object()) continue;
        for (auto const& [name, value] : report.metrics->items()) {
            if (!number_from_json(value)) continue;
            auto& rank =
                ranks_[{report.group, name}].try_emplace(report.steps_completed, report.rank).first->second;
            rank = std::min(rank, report.rank);
        }
    }
}

bool LowestRanks::counts(MetricsReported const& report, std::string_view metric) const {
    if (report.rank == Rank{}) return true;
    auto const steps = ranks_.find({report.group, std::string(metric)});
    if (steps == ranks_.end()) return true;
    auto const lowest = steps->second.find(report.steps_completed);
    return lowest == steps->second.end() || lowest->second == report.rank;
}

}  // namespace det::journal
