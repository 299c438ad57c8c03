#pragma once
#include <det/protocol/record.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace det::journal {

// Several ranks may report metrics, also of the same step. Curves, best values and searches take one value of
// a metric for each step: that of the lowest rank that has one.

/// Joins sequences that are in the order of their times. Elements of one sequence keep their order even if
/// their times go back. Of equal times, those of the first sequence come first. Pure.
/// \param time_of returns the time of an element
template <class Element, class TimeOf>
std::vector<Element> merge_by_time(std::vector<std::vector<Element>> sequences, TimeOf const& time_of) {
    if (sequences.size() == 1) return std::move(sequences.front());
    std::vector<std::size_t> next(sequences.size(), 0);
    std::vector<Element> merged;
    for (;;) {
        std::size_t first = sequences.size();
        for (std::size_t i = 0; i < sequences.size(); ++i) {
            if (next[i] == sequences[i].size()) continue;
            if (first == sequences.size() ||
                time_of(sequences[i][next[i]]) < time_of(sequences[first][next[first]]))
                first = i;
        }
        if (first == sequences.size()) return merged;
        merged.push_back(std::move(sequences[first][next[first]++]));
    }
}

/// The journal of a rank other than the chief.
struct RankMetrics {
    std::vector<MetricsReported> reports;
    std::uint64_t dropped = 0;  // reports that the program made and that are not among these
};

/// Joins the reports of the ranks of a run, as merge_by_time() does.
/// \param others those of the ranks other than the chief, in the order of the ranks
std::vector<MetricsReported> merge_ranks(std::vector<MetricsReported> chief, std::vector<RankMetrics> others);

/// The lowest rank that has reported a number, for each metric and step of a run.
class LowestRanks {
public:
    explicit LowestRanks(std::vector<MetricsReported> const& reports);

    /// Whether no lower rank than that of the report has a number for this metric at this step.
    bool counts(MetricsReported const& report, std::string_view metric) const;

private:
    using Key = std::pair<std::string, std::string>;      // group and metric
    std::map<Key, std::map<std::uint64_t, Rank>> ranks_;  // empty if only the chief has reported
};

}  // namespace det::journal
