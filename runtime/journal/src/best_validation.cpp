#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/best_validation.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <cmath>

namespace det::journal {
namespace {

constexpr char validation_group[] = "validation";

std::optional<BestValidation> find_value(Record const& record, std::string const& metric) {
    auto const* report = std::get_if<MetricsReported>(&record);
    if (report == nullptr) return std::nullopt;
    auto const found = report->metrics->find(metric);
    if (found == report->metrics->end() || !found->is_number()) return std::nullopt;
    BestValidation const value{found->get<double>(), report->steps_completed};
    return std::isfinite(value.value) ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<std::optional<BestValidation>> load_best_validation(TrialLayout const& trial, std::uint32_t first_run,
                                                           Objective const& objective) {
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    std::optional<BestValidation> best;
    for (auto const run : runs) {
        if (run < first_run) continue;
        DET_TRY_ASSIGN(auto const journal, load_journal(trial.run(run).journal(), validation_group));
        for (auto const& record : journal.records) {
            auto const found = find_value(record, objective.metric);
            if (!found) continue;
            bool const is_better = !best || (objective.smaller_is_better ? found->value < best->value
                                                                         : found->value > best->value);
            if (is_better) best = found;
        }
    }
    return best;
}

}  // namespace det::journal
