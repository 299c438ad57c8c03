#include <det/foundation/text.hpp>
#include <det/history/journal_history.hpp>

#include <fmt/format.h>
#include <ostream>

#include "command.hpp"
#include "root.hpp"
#include "table.hpp"
#include "views.hpp"

namespace det::cli {
namespace {

struct Row {
    TrialId trial;
    std::uint32_t run;
    CheckpointCommitted checkpoint;
};

std::size_t total_size(Json const& resources) {
    std::size_t sum = 0;
    for (auto const& [path, size] : resources.items())
        sum += size.is_number_unsigned() ? size.get<std::size_t>() : 0;
    return sum;
}

class ExperimentListCheckpoints final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        auto rows = load(session);
        if (!rows) return Diagnostics(std::move(rows).error());
        if (session.wants_json()) {
            session.answer(as_json(*rows));
        } else {
            session.out << as_table(*rows);
        }
        return ExitCode::done;
    }

private:
    Result<std::vector<Row>> load(Session& session) const {
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, require_experiment_id(id_));
        history::JournalHistory history(root);
        DET_TRY_ASSIGN(auto const experiment, history.load_experiment(id));
        std::vector<Row> rows;
        for (auto const& trial : experiment.trials) {
            DET_TRY_ASSIGN(auto const reports, history.load_reports(trial.id));
            for (auto const& run : reports) {
                for (auto const& checkpoint : run.checkpoints)
                    rows.push_back({trial.id, run.run, checkpoint});
            }
        }
        return rows;
    }

    static Json as_json(std::vector<Row> const& rows) {
        auto answer = Json::array();
        for (auto const& row : rows) {
            answer.push_back({{"trial_id", to_integer(row.trial)},
                              {"trial", to_string(row.trial)},
                              {"run", row.run},
                              {"steps_completed", row.checkpoint.steps_completed},
                              {"time", format_utc(row.checkpoint.time)},
                              {"uuid", row.checkpoint.uuid},
                              {"resources", row.checkpoint.resources},
                              {"metadata", row.checkpoint.metadata}});
        }
        return answer;
    }

    static std::string as_table(std::vector<Row> const& rows) {
        Table table({"Trial", "Run", "Steps", "Time", "Size", "UUID"});
        for (auto const& row : rows) {
            table.add({to_string(row.trial), std::to_string(row.run),
                       std::to_string(row.checkpoint.steps_completed), short_time(row.checkpoint.time),
                       format_size(total_size(row.checkpoint.resources)), row.checkpoint.uuid});
        }
        return table.render();
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_list_checkpoints() {
    return std::make_unique<ExperimentListCheckpoints>();
}

}  // namespace det::cli
