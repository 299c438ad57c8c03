#pragma once
#include <det/protocol/metric_frames.hpp>
#include <det/tracker/index/database.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace det::tracker::index {

/// One metric of one journal, in the order of the reports.
struct Series {
    std::vector<std::uint64_t> steps;
    std::vector<UtcTime> times;
    std::vector<double> values;

    std::size_t size() const { return values.size(); }
    void clear() {
        steps.clear();
        times.clear();
        values.clear();
    }
};

struct SeriesName {
    std::string group;
    std::string name;
    friend auto operator<=>(SeriesName const&, SeriesName const&) = default;
};

struct StepRange {
    std::uint64_t first = 0;
    std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
    bool contains(std::uint64_t step) const { return step >= first && step <= last; }
};

/// The metrics of a journal that have numbers, sorted.
Result<std::vector<SeriesName>> list_series(Database& index, std::int64_t journal);
/// The numbers of a metric, NaN and infinities among them; booleans and other texts are left out. Empty if
/// the journal has none of this name.
Result<Series> load_series(Database& index, std::int64_t journal, SeriesName const& name,
                           StepRange const& range = {});
/// Visits the numbers of a metric in parts of up to reports_per_block points, without holding all of them in
/// memory. If the points come from several schemas or from other_reports, all of them are one part.
Status visit_series(Database& index, std::int64_t journal, SeriesName const& name,
                    std::function<void(history::SeriesPart const&)> const& visit);
/// The lowest and the highest step of a metric; nullopt if it has no points. Reads all reports that are in no
/// block; of a block only the lowest and the highest step.
Result<std::optional<StepRange>> find_step_range(Database& index, std::int64_t journal,
                                                 SeriesName const& name);
/// All reports of a journal in their order.
Result<std::vector<MetricsReported>> load_reports(Database& index, std::int64_t journal);

}  // namespace det::tracker::index
