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

std::string describe_spec(ExperimentSpec const& spec) {
    return fmt::format(
        "Name:          {}\nOwner:         {}\nCreated:       {}\nResource pool: {}, {} node{} of {} slots\n"
        "Entrypoint:    {} (launch: {})\nSearcher:      {}, {} of {}\n",
        escape_control(spec.name), spec.owner, short_time(spec.created), spec.pool, spec.shape.nodes,
        spec.shape.nodes == 1 ? "" : "s", spec.shape.slots_per_node,
        escape_control(join(spec.entrypoint, " ")), to_string(spec.launch), spec.searcher.name,
        spec.searcher.smaller_is_better ? "smallest" : "largest", escape_control(spec.searcher.metric));
}

std::string describe_run(lifecycle::RunView const& run) {
    if (!run.ended) return "no word of its end yet";
    return fmt::format("{} ({})", run.ended->message, to_string(run.ended->cause));
}

std::string describe_job(std::optional<slurm::JobStatus> const& job) {
    if (!job) return "not in Slurm's queue";
    auto const reason = job->reason.empty() || job->reason == "None" ? "" : ", " + job->reason;
    return fmt::format("job {}: {}{}", slurm::to_string(job->ref), job->state_text, escape_control(reason));
}

class ExperimentDescribe final : public Command {
public:
    std::vector<Option> options() override { return {{"id", &id_, "the experiment", Need::required}}; }

    Outcome run(Session& session) override {
        auto view = load_view(session);
        if (!view) return Diagnostics(std::move(view).error());
        if (session.wants_json()) {
            auto answer = to_json(*view);
            if (view->record.spec) answer["config"] = view->record.spec->config;
            session.answer(answer);
        } else {
            session.out << as_text(*view);
        }
        return ExitCode::done;
    }

private:
    Result<history::ExperimentView> load_view(Session& session) const {
        DET_TRY_ASSIGN(auto const root, find_root(session.environment));
        DET_TRY_ASSIGN(auto const id, require_experiment_id(id_));
        history::JournalHistory history(root);
        DET_TRY_ASSIGN(auto record, history.load_experiment(id));
        auto const queue = look_at_queue({record}, session);
        return view_experiment(std::move(record), queue);
    }

    static std::string as_text(history::ExperimentView const& view) {
        auto text = fmt::format("Experiment {}: {}\n", view.record.id.value, to_string(view.state));
        if (view.record.spec) text += describe_spec(*view.record.spec);
        for (auto const& trial : view.trials) {
            text += fmt::format("\nTrial {}: {}, {}\n", to_string(trial.record.id), to_string(trial.state),
                                describe_job(trial.job));
            Table runs({"Run", "Started", "Ended", "Nodes", "From step", "How it ended"});
            for (std::size_t number = 0; number < trial.record.runs.size(); ++number) {
                auto const& run = trial.record.runs[number];
                auto const started = run.started.value_or(RunStarted{});
                runs.add({std::to_string(number), run.started ? short_time(started.time) : "",
                          run.ended ? short_time(run.ended->time) : "", started.hosts,
                          std::to_string(started.steps_completed), describe_run(run)});
            }
            if (!trial.record.runs.empty()) text += runs.render();
        }
        return text;
    }

    std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_experiment_describe() { return std::make_unique<ExperimentDescribe>(); }

}  // namespace det::cli
