#include "trial_files.hpp"

#include <det/foundation/list_numeric_names.hpp>

#include <algorithm>
#include <iterator>

namespace det::core {

TrialLayout trial_of(ContextData const& data) {
    return TrialLayout(data.info->run_path.parent_path().parent_path());
}

ExperimentLayout experiment_of(ContextData const& data) {
    return ExperimentLayout(trial_of(data).path().parent_path().parent_path());
}

Result<std::vector<Record>> load_chief_records(TrialLayout const& trial, std::uint32_t first) {
    std::vector<Record> records;
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    for (auto const run : runs) {
        if (run < first) continue;
        DET_TRY_ASSIGN(auto journal, journal::load_journal(trial.run(run).chief_journal()));
        std::ranges::move(journal.records, std::back_inserter(records));
    }
    return records;
}

}  // namespace det::core
