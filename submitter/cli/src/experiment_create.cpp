#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
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
                {"--template", &template_, "a configuration template"},
                {"--config", &overrides_, "key=value, over the file"},
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

        Creation const creation{std::move(loaded->config),
                                std::move(loaded->written),
                                context_ ? std::optional<std::filesystem::path>(*context_) : std::nullopt,
                                *std::move(plan),
                                *root,
                                *std::move(job_template),
                                sibling_program("det-launch")};
        return dry_run_ ? show(creation, session) : create(creation, session);
    }

private:
    static Result<plan::SubmissionPlan, Diagnostics> plan_for(config::ExperimentConfig const& config,
                                                              config::SiteFile const& file,
                                                              Session& session) {
        auto const site = load_site(file, session.slurm);
        if (!site) return site.error();
        return plan::plan_submission(config, *site);
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

    static Outcome create(Creation const& creation, Session& session) {
        auto const created = create_experiment(creation, session);
        if (!created) return created.error();
        auto const& shape = creation.plan.shape;
        if (session.wants_json()) {
            session.answer(Json{{"id", created->id.value},
                                {"name", creation.config.name},
                                {"job_id", std::to_string(created->job)},
                                {"resource_pool", creation.plan.pool.name},
                                {"nodes", shape.nodes},
                                {"slots_per_node", shape.slots_per_node},
                                {"path", created->path.string()}});
        } else {
            session.out << fmt::format("Created experiment {}\n", created->id.value);
            session.say(
                fmt::format("job {} in pool '{}': {} node{} of {} slots; follow it with "
                            "'det-submit experiment wait {}'",
                            created->job, creation.plan.pool.name, shape.nodes, shape.nodes == 1 ? "" : "s",
                            shape.slots_per_node, created->id.value));
        }
        return ExitCode::done;
    }

    std::string config_;
    std::optional<std::string> context_;
    std::optional<std::string> template_;
    std::vector<std::string> overrides_;
    bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_experiment_create() { return std::make_unique<ExperimentCreate>(); }

}  // namespace det::cli
