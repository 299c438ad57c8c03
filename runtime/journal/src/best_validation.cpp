#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/best_validation.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/superseded.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json.hpp>

#include <cmath>

namespace det::journal {
namespace {

constexpr char validation_group[] = "validation";

std::optional<BestValidation> find_value(MetricsReported const& report, std::string const& metric) {
    auto const found = report.metrics->find(metric);
    if (found == report.metrics->end() || !found->is_number()) return std::nullopt;
    BestValidation const value{found->get<double>(), report.steps_completed};
    return std::isfinite(value.value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::vector<MetricsReported>> load_validations(TrialLayout const& trial, std::uint32_t first_run) {
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    std::vector<RunBeginning> beginnings;
    std::vector<std::vector<MetricsReported>> reports;  // of each run
    for (auto const run : runs) {
        auto& beginning = beginnings.emplace_back();
        auto& of_run = reports.emplace_back();
        if (run != runs.front()) {  // the first run repeats nothing
            DET_TRY_ASSIGN(auto const life, load_journal(trial.run(run).supervisor_journal()));
            for (auto const& record : life.records) beginning.add(record);
        }
        DET_TRY_ASSIGN(auto journal, load_journal(trial.run(run).chief_journal(), validation_group));
        for (auto& record : journal.records) {
            beginning.add(record);
            if (auto* const report = std::get_if<MetricsReported>(&record))
                of_run.push_back(std::move(*report));
        }
    }
    auto const cut_offs = find_cut_offs(beginnings);
    std::vector<MetricsReported> validations;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (runs[i] < first_run) continue;
        for (auto& report : reports[i]) {
            if (!cut_offs[i].supersedes(validation_group, report.steps_completed))
                validations.push_back(std::move(report));
        }
    }
    return validations;
}

Result<std::optional<BestValidation>> load_best_validation(TrialLayout const& trial, std::uint32_t first_run,
                                                           Objective const& objective) {
    DET_TRY_ASSIGN(auto const validations, load_validations(trial, first_run));
    std::optional<BestValidation> best;
    for (auto const& report : validations) {
        auto const found = find_value(report, objective.metric);
        if (found && (!best || is_better(found->value, best->value, objective.smaller_is_better)))
            best = found;
    }
    return best;
}

}  // namespace det::journal
