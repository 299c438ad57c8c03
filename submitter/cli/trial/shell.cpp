#include <det/experiment/open_experiment.hpp>
#include <det/foundation/executable.hpp>
#include <det/foundation/process.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/run_shape.hpp>
#include <det/slurm/srun.hpp>

#include <fmt/format.h>

#include "command.hpp"
#include "output/no_such_name.hpp"

namespace det::cli {
namespace {

/// Where a rank runs now.
struct RankPlace {
    std::uint32_t job = 0;  // as SLURM_JOB_ID there
    std::string node;
    int gpus = 0;
    std::string run_path;
};

class TrialShell final : public Command {
public:
    std::vector<Option> options() override {
        return {{"id", &id_, "the trial", Need::required},
                {"command", &command_, "the command; default: an interactive shell"},
                {"--rank", &rank_, "the rank beside which it runs; default: 0"},
                {"--dry-run", &is_dry_run_, "print the srun command line, start nothing"}};
    }

    Outcome run(Session& session) override {
        DET_TRY_ASSIGN(auto const place, find_rank(session));
        slurm::CommandInJob step{place.job, place.node, place.gpus, session.can_ask, {}};
        step.command = {sibling_program("det-launch"), "enter", "--run-path", place.run_path, "--rank",
                        std::to_string(rank_)};
        if (!command_.empty()) {
            step.command.emplace_back("--");
            step.command.insert(step.command.end(), command_.begin(), command_.end());
        }
        auto const argv = slurm::render_srun(step);
        if (is_dry_run_) {
            session.answer(Json{{"command", argv}, {"node", place.node}},
                           fmt::format("{}\n", fmt::join(argv, " ")));
            return ExitCode::done;
        }
        session.out.flush();
        return replace_process(argv, environment_for_srun(session.environment));
    }

private:
    /// Variables of a surrounding job would select that job, or an option.
    static Environment environment_for_srun(Environment environment) {
        auto const conf = environment.find("SLURM_CONF");
        for (auto const* prefix : {"SLURM_", "SRUN_"}) environment.unset_with_prefix(prefix);
        if (conf) environment.set("SLURM_CONF", *conf);
        return environment;
    }

    Result<RankPlace> find_rank(Session& session) const {
        DET_TRY_ASSIGN(auto const id, experiment::require_trial_id(id_));
        DET_TRY_ASSIGN(auto const experiment,
                       experiment::open_experiment(to_string(id.experiment),
                                                   experiment::SlurmAnswer::optional, session));
        DET_TRY_ASSIGN(auto const trial, experiment::require_trial(experiment.view, id));
        auto const& runs = trial.record.runs;
        if (runs.empty() || !runs.back().started || runs.back().ended)
            return Error{
                codes::wrong_state,
                fmt::format("trial {} does not run: it is {}", to_string(id), to_string(trial.state)),
                fmt::format("see 'det-submit trial describe {}'", to_string(id))};
        auto const& started = *runs.back().started;
        // The specification has a value, because the record has the trial.
        auto const shape = shape_of_run(*experiment.view.record.spec, started);
        if (rank_ < 0 || rank_ >= shape.ranks()) return no_such_rank(id, rank_, shape);
        DET_TRY_ASSIGN(auto const hosts, expand_host_list(started.hosts));
        auto const node = static_cast<std::size_t>(rank_ / shape.ranks_per_node());
        if (node >= hosts.size())
            return Error{codes::internal, fmt::format("the run has {} nodes", hosts.size())};
        auto const job = slurm::parse_job_ref(started.job);
        if (!job) return Error{codes::damaged, fmt::format("'{}' is no job", started.job)};
        DET_TRY_ASSIGN(auto const number, session.slurm.query_running_job_id(*job));
        auto const run = experiment.layout.trial(id.index).run(static_cast<std::uint32_t>(runs.size() - 1));
        int const gpus = shape.slot_type == SlotType::cpu ? 0 : shape.slots_per_node;
        return RankPlace{number, hosts[node], gpus, run.path().string()};
    }

    std::string id_;
    std::vector<std::string> command_;
    int rank_ = 0;
    bool is_dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_trial_shell() { return std::make_unique<TrialShell>(); }

}  // namespace det::cli
