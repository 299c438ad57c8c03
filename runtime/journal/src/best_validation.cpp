#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/best_validation.hpp>
#include <det/journal/merge_ranks.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/superseded.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/json_number.hpp>

#include <cmath>

namespace det::journal {
namespace {

constexpr char validation_group[] = "validation";

/// Adds the values of a metric in the reports of a run.
void add_values(std::vector<ValidationValue>& values, std::vector<MetricsReported> const& reports,
                CutOff const& cut_off, std::string const& metric) {
    LowestRanks const lowest(reports);
    for (auto const& report : reports) {
        auto const found = report.metrics->find(metric);
        auto const value = found == report.metrics->end() ? std::nullopt : number_from_json(*found);
        if (!value) continue;
        bool const is_superseded = cut_off.supersedes(validation_group, report.steps_completed);
        if (!is_superseded && lowest.counts(report, metric))
            values.push_back({report.steps_completed, *value});
    }
}

}  // namespace

Result<std::vector<ValidationValue>> load_validations(TrialLayout const& trial, std::uint32_t first_run,
                                                      std::string const& metric) {
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    std::vector<RunBeginning> beginnings;
    std::vector<std::vector<MetricsReported>> reports;  // of each run
    for (auto const run : runs) {
        auto& beginning = beginnings.emplace_back();
        if (run != runs.front()) {  // the first run repeats nothing
            DET_TRY_ASSIGN(auto const life, load_journal(trial.run(run).supervisor_journal()));
            for (auto const& record : life.records) beginning.add(record);
        }
        DET_TRY_ASSIGN(auto journal, load_journal(trial.run(run).chief_journal(), validation_group));
        std::vector<MetricsReported> of_chief;
        for (auto& record : journal.records) {
            beginning.add(record);
            if (auto* const report = std::get_if<MetricsReported>(&record))
                of_chief.push_back(std::move(*report));
        }
        DET_TRY_ASSIGN(auto others, load_other_ranks(trial.run(run), validation_group));
        for (auto const& other : others) beginning.add(other.reports);
        reports.push_back(merge_ranks(std::move(of_chief), std::move(others)));
    }
    auto const cut_offs = find_cut_offs(beginnings);
    std::vector<ValidationValue> values;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i] >= first_run) add_values(values, reports[i], cut_offs[i], metric);
    }
    return values;
}

Result<std::optional<BestValidation>> load_best_validation(TrialLayout const& trial, std::uint32_t first_run,
                                                           Objective const& objective) {
    DET_TRY_ASSIGN(auto const values, load_validations(trial, first_run, objective.metric));
    std::optional<BestValidation> best;
    for (auto const& [steps, value] : values) {
        if (!std::isfinite(value)) continue;
        if (!best || is_better(value, best->value, objective.smaller_is_better))
            best = BestValidation{value, steps};
    }
    return best;
}

}  // namespace det::journal
