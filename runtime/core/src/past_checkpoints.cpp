#include "past_checkpoints.hpp"

#include <det/checkpoint/run_checkpoints.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/layout.hpp>

#include <algorithm>

namespace det::core {

Result<std::vector<std::string>> list_past_checkpoints(std::filesystem::path const& run,
                                                       checkpoint::Store const& store) {
    TrialLayout const trial(run.parent_path().parent_path());
    DET_TRY_ASSIGN(auto const names, list_directory(trial.runs()));
    std::vector<std::uint32_t> runs;
    for (auto const& name : names) {
        if (auto const number = parse_integer<std::uint32_t>(name)) runs.push_back(*number);
    }
    std::ranges::sort(runs, std::ranges::greater{});
    std::vector<std::string> newest_first;
    for (auto const number : runs) {
        DET_TRY_ASSIGN(auto const journal, journal::load_journal(trial.run(number).journal()));
        DET_TRY_ASSIGN(auto const checkpoints, checkpoint::checkpoints_of_run(journal.records, store));
        for (auto const& committed : reversed(checkpoints)) newest_first.push_back(committed.uuid);
    }
    return newest_first;
}

}  // namespace det::core
