#include <det/tracker/history/journal_history.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "experiment/submit_experiment.hpp"
#include "output/views.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

class ExperimentFork final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the experiment", Need::required},
                {"--config", &overrides_, "key=value, over its configuration"},
                {"--paused", &paused_, "its jobs wait for `experiment activate`"},
                {"--dry-run", &dry_run_, "print the batch script, submit nothing"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto request, request_for(session));
        return submit_experiment(request, session);
    }

private:
    Result<ExperimentRequest> request_for(Session& session) const {
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, require_experiment_id(id_));
        DET_TRY_ASSIGN(auto const parent, tracker::history::JournalHistory(root).load_experiment(id));
        if (!parent.spec) {
            return Error{
                codes::wrong_state,
                fmt::format("experiment {} has no configuration: its creation was cut off", id.value)};
        }
        auto const layout = ExperimentLayout(root, id).at(parent.revision());
        ExperimentRequest request;
        request.sources = {layout.config(), {}, overrides_};
        request.sources.secrets = layout.secrets();
        request.packed_code = parent.spec->context;
        request.parent = id;
        request.desired = paused_ ? Desired::pause : Desired::run;
        request.is_dry_run = dry_run_;
        return request;
    }

    std::string id_;
    std::vector<std::string> overrides_;
    bool paused_ = false;
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_fork() { return std::make_unique<ExperimentFork>(); }

}  // namespace det::cli
