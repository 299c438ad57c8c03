#include <det/foundation/count_text.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/dump.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "tracker/location.hpp"

namespace det::cli {
namespace {

using namespace tracker;

struct IndexFindings {
    std::size_t experiments = 0;
    std::vector<std::uint32_t> different;  // experiments
    std::vector<std::string> damage;       // errors that SQLite found
};

/// Compares the index with the journals. First adds new records to the index, so that a difference is a
/// defect and not a delay.
Result<IndexFindings> check_index(Tracker const& tracker) {
    auto const& root = tracker.root;
    DET_TRY_ASSIGN(auto writer, index::open_index(tracker.paths.index(), root.path(), index::Access::write));
    ingest::Ingester ingester(std::move(writer), root);
    DET_TRY(ingester.read_all());
    DET_TRY_ASSIGN(auto reader, index::open_index(tracker.paths.index(), root.path(), index::Access::read));
    index::IndexHistory indexed(std::move(reader), root.path());
    IndexFindings findings;
    DET_TRY(indexed.database().for_each("PRAGMA integrity_check", [&](index::Row const& row) {
        if (row.bytes(0) != "ok") findings.damage.push_back(row.text(0));
    }));
    history::JournalHistory journals(root);
    DET_TRY_ASSIGN(auto const ids, journals.list_experiments());
    findings.experiments = ids.size();
    for (auto const id : ids) {
        if (history::dump_experiment(indexed, id) == history::dump_experiment(journals, id)) continue;
        // The experiment may have grown between both readings.
        DET_TRY(ingester.refresh(id, {}));
        if (history::dump_experiment(indexed, id) != history::dump_experiment(journals, id))
            findings.different.push_back(id.value);
    }
    return findings;
}

class TrackerCheck final : public Command {
public:
    std::vector<Option> options() override { return {}; }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const tracker, prepare_tracker_location(session));
        DET_TRY_ASSIGN(auto const lock, lock_index(tracker));
        DET_TRY_ASSIGN(auto const findings, check_index(tracker));
        session.answer(Json{{"experiments", findings.experiments},
                            {"different", findings.different},
                            {"damage", findings.damage}},
                       as_text(findings));
        bool const is_good = findings.different.empty() && findings.damage.empty();
        return is_good ? ExitCode::done : ExitCode::could_not;
    }

private:
    static std::string as_text(IndexFindings const& findings) {
        std::string text;
        for (auto const& line : findings.damage) text += fmt::format("damage: {}\n", line);
        for (auto const id : findings.different)
            text += fmt::format("experiment {}: the index differs from the journals\n", id);
        if (!text.empty()) return text + "make the index anew with 'det-tracker rebuild'\n";
        return count_text(findings.experiments, "experiment") + ": the index has what the journals have\n";
    }
};

}  // namespace

std::unique_ptr<Command> make_tracker_check() { return std::make_unique<TrackerCheck>(); }

}  // namespace det::cli
