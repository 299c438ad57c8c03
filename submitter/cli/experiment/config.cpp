#include <det/experiment/open_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <ostream>

#include "command.hpp"
#include "output/load_interruptions.hpp"

namespace det::cli {
namespace {

class ExperimentConfigCommand final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--as-written", &as_written_, "the file as it was submitted"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const root, experiment::find_shown_root(session));
        DET_TRY_ASSIGN(auto const id, experiment::require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const record, session.open_journals(root)->load_experiment_without_trials(id));
        auto const layout = ExperimentLayout(root, id).at_revision(record.revision());
        if (as_written_) {
            DET_TRY_ASSIGN(auto const text, read_trusted_file(layout.submitted()));
            session.answer(Json(text), text);
            return ExitCode::done;
        }
        if (session.wants_json() && record.spec) {
            session.answer(record.spec->config);
            return ExitCode::done;
        }
        DET_TRY_ASSIGN(auto const text, read_trusted_file(layout.config()));
        session.out << text;
        return ExitCode::done;
    }

private:
    std::string id_;
    bool as_written_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_config() { return std::make_unique<ExperimentConfigCommand>(); }

}  // namespace det::cli
