#include <det/foundation/list_numeric_names.hpp>
#include <det/journal/best_validation.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>

#include <cmath>

namespace det::journal {
namespace {

constexpr std::string_view validation_group = "validation";

/// Leaves most records undecoded: training metrics outnumber validations by far.
bool may_be_validation(std::uint16_t type, std::string_view payload) {
    return type == static_cast<std::uint16_t>(RecordType::metrics) &&
           payload.find(validation_group) != payload.npos;
}

std::optional<BestValidation> find_value(Record const& record, std::string const& metric) {
    auto const* report = std::get_if<MetricsReported>(&record);
    if (report == nullptr || report->group != validation_group) return std::nullopt;
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
        DET_TRY_ASSIGN(auto const journal, load_journal(trial.run(run).journal(), may_be_validation));
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
