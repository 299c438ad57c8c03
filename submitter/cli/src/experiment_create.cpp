#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/plan/arrays.hpp>
#include <det/plan/plan.hpp>

#include <fmt/format.h>
#include <iostream>

#include "command.hpp"
#include "create_experiment.hpp"
#include "load_config.hpp"
#include "root.hpp"

namespace det::cli {
namespace {

class ExperimentCreate final : public Command {
public:
    std::vector<Option> options() override {
        return {{"config", &config_, "the configuration file", Need::required},
                {"context", &context_, "the directory that holds the code"},
                {"-i,--include", &includes_, "a file or directory to pack beside the context"},
                {"--template", &template_, "a configuration template"},
                {"--config", &overrides_, "key=value, over the file"},
                {"--paused", &paused_, "its jobs wait for `experiment activate`"},
                {"--dry-run", &dry_run_, "print the batch script, submit nothing"}};
    }

    Outcome run(Session& session) override {
        auto const root = find_root(session.environment);
        if (!root) return Diagnostics(root.error());
        auto const site = load_site_file(session.environment);
        if (!site) return site.error();
        auto loaded = load_config({config_, template_, overrides_, &*site, default_partition_of(session)},
                                  *root, session.clock.now());
        if (!loaded) return std::move(loaded).error();
        print(session.err, loaded->warnings, session.style);
        auto plan = plan_for(loaded->config, *site, session);
        if (!plan) return std::move(plan).error();
        print(session.err, plan->warnings, session.style);
        auto job_template = read_file(shared_data() / "templates" / "job" / "trial.sbatch");
        if (!job_template)
            return Diagnostics(std::move(job_template).error().while_doing("reading the job template"));

        auto const array_size_max = find_array_size_max(*plan, session);
        if (!array_size_max) return Diagnostics(array_size_max.error());
        Creation const creation{std::move(loaded->config),
                                std::move(loaded->written),
                                code(),
                                *std::move(plan),
                                *root,
                                *std::move(job_template),
                                sibling_program("det-launch"),
                                *array_size_max,
                                paused_ ? Desired::pause : Desired::run};
        return dry_run_ ? show(creation, session) : create(creation, session);
    }

private:
    pack::ContextSources code() const {
        pack::ContextSources code;
        if (context_) code.directory = *context_;
        code.includes.assign(includes_.begin(), includes_.end());
        return code;
    }

    static Result<plan::SubmissionPlan, Diagnostics> plan_for(config::ExperimentConfig const& config,
                                                              config::SiteFile const& file,
                                                              Session& session) {
        auto const site = load_site(file, session.slurm);
        if (!site) return site.error();
        return plan::plan_submission(config, *site);
    }

    /// One trial fits into any array: Slurm is not asked for nothing.
    static Result<std::uint32_t> find_array_size_max(plan::SubmissionPlan const& plan, Session& session) {
        if (plan.trial_count == 1) return 1u;
        DET_TRY_ASSIGN(auto const config, session.slurm.cluster_config());
        return plan::array_size_max(config, plan.trial_count);
    }

    static Json job_ids(CreatedExperiment const& created) {
        auto ids = Json::array();
        for (auto const job : created.jobs) ids.push_back(std::to_string(job));
        return ids;
    }

    static Outcome show(Creation const& creation, Session& session) {
        auto const script = preview_script(creation);
        if (!script) return Diagnostics(script.error());
        if (session.wants_json()) {
            session.answer(Json{{"script", *script}});
        } else {
            session.out << *script;
        }
        return ExitCode::done;
    }

    /// Of a search; nothing of a single trial.
    static std::string describe_trials(plan::SubmissionPlan const& plan) {
        if (plan.trial_count == 1) return "";
        return fmt::format("{} trials, {} at a time, each on ", plan.trial_count, plan.concurrent_trials_max);
    }

    Outcome create(Creation const& creation, Session& session) const {
        auto const created = create_experiment(creation, session);
        if (!created) return created.error();
        auto const& shape = creation.plan.shape;
        if (session.wants_json()) {
            session.answer(Json{{"id", created->id.value},
                                {"name", creation.config.name},
                                {"job_id", std::to_string(created->jobs.front())},
                                {"job_ids", job_ids(*created)},
                                {"trial_count", creation.plan.trial_count},
                                {"resource_pool", creation.plan.pool.name},
                                {"nodes", shape.nodes},
                                {"slots_per_node", shape.slots_per_node},
                                {"path", created->path.string()}});
        } else {
            session.out << fmt::format("Created experiment {}\n", created->id.value);
            session.say(fmt::format(
                "job {} in pool '{}': {}{} node{} of {} slots; {} it with "
                "'det-submit experiment {} {}'",
                fmt::join(created->jobs, ", "), creation.plan.pool.name, describe_trials(creation.plan),
                shape.nodes, shape.nodes == 1 ? "" : "s", shape.slots_per_node, paused_ ? "start" : "follow",
                paused_ ? "activate" : "wait", created->id.value));
        }
        return ExitCode::done;
    }

    std::string config_;
    std::optional<std::string> context_;
    std::vector<std::string> includes_;
    std::optional<std::string> template_;
    std::vector<std::string> overrides_;
    bool dry_run_ = false;
    bool paused_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_create() { return std::make_unique<ExperimentCreate>(); }

}  // namespace det::cli
