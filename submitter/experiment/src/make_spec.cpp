#include "make_spec.hpp"

#include <det/config/layers.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/plan/plan.hpp>
#include <det/plan/script.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/trial_class.hpp>
#include <det/yaml/render.hpp>

#include <algorithm>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

/// The argv that runs a shell command in bash: other shells drop the functions that bash has exported, for
/// example `module`. Nodes have bash, which runs the batch script. An image may lack it, unless the
/// experiment has slurm.setup, whose lines bash runs.
///
/// \param may_lack_bash the command then runs in sh if there is no bash
std::vector<std::string> shell_argv(std::string const& command, bool may_lack_bash) {
    if (!may_lack_bash) return {"bash", "-c", command};
    constexpr char choose_shell[] =
        "if command -v bash >/dev/null; then exec bash -c \"$0\"; fi; exec sh -c \"$0\"";
    return {"sh", "-c", choose_shell, command};
}

/// Returns the entrypoint's argv. An entrypoint in Determined's oldest form only names a trial class: it is
/// started by the launcher that Determined's oldest releases used for it.
std::vector<std::string> entrypoint_argv(config::Entrypoint const& entrypoint, bool may_lack_bash) {
    if (auto const* command = std::get_if<std::string>(&entrypoint)) {
        if (!is_trial_class(*command)) return shell_argv(*command, may_lack_bash);
        return {"python3", "-m", "determined.launch.autohorovod", "--trial", *command};
    }
    return std::get<std::vector<std::string>>(entrypoint);
}

std::vector<std::string> environment_variables(config::ExperimentConfig const& config, SlotType type) {
    std::vector<std::string> list;
    for (auto const& variable : config.environment.environment_variables.of(type))
        list.push_back(variable.name + "=" + variable.value);
    return list;
}

/// Converts the log policies. Leaves out those without a pattern, which switch off a default policy.
std::vector<LogPolicySpec> log_policies(config::ExperimentConfig const& config) {
    std::vector<LogPolicySpec> policies;
    for (auto const& policy : config.log_policies) {
        auto const pattern = config::pattern_of(policy);
        if (pattern)
            policies.push_back(
                {policy.name.value_or(*pattern), *pattern, policy.action.value_or(LogAction::label)});
    }
    return policies;
}

/// Where the entrypoint runs. The steps of a script begin in its directory on all nodes.
WorkingDirectory working_directory(SubmissionRequest const& request) {
    bool const is_packed_script = request.plan.launch == Launch::script && !request.script;
    bool const needs_shared = is_packed_script && request.plan.shape.nodes > 1;
    return needs_shared ? WorkingDirectory::shared : request.config.slurm.working_directory;
}

/// slurm.persist without directories that lie in another one; empty if all files are in a shared directory.
std::vector<std::string> persistent_directories(config::Slurm const& slurm, WorkingDirectory where) {
    if (where == WorkingDirectory::shared) return {};
    std::vector<std::string> outermost;
    for (auto const& directory : slurm.persist) {
        bool const is_inside = std::ranges::any_of(
            slurm.persist, [&](auto const& other) { return directory.starts_with(other + "/"); });
        if (!is_inside) outermost.push_back(directory);
    }
    return outermost;
}

/// Lets the experiment run its copy of the user's batch script.
void set_batch_script(ExperimentSpec& spec, SubmissionRequest const& request,
                      ExperimentLayout const& layout) {
    auto const& [job_name, directory, uses_pool, indices, task_ids] = *request.plan.batch_script;
    spec.entrypoint = request.script->interpreter;
    spec.entrypoint.push_back(layout.batch_script().string());
    for (auto const& argument : request.script->arguments) spec.entrypoint.push_back(argument);
    spec.batch_script = BatchScriptSpec{directory, task_ids, request.script->directory.string()};
    for (auto& pattern : spec.progress_globs) pattern = (fs::path(directory) / pattern).string();
}

}  // namespace

std::string checkpoint_path(config::ExperimentConfig const& config) {
    auto const& location = config.checkpoint_storage.location;
    if (auto const* directory = std::get_if<config::DirectoryStorage>(&location))
        return fs::path(directory->container_path).lexically_normal().string();
    auto const* shared = std::get_if<config::SharedFsStorage>(&location);
    if (shared == nullptr) return "";  // s3 storage has no directory
    fs::path path(shared->host_path);
    // If storage_path is absolute, operator/= replaces host_path: storage_path is already below it.
    if (shared->storage_path) path /= *shared->storage_path;
    return path.lexically_normal().string();
}

ExperimentSpec make_spec(SubmissionRequest const& request, ExperimentId id,
                         std::optional<ContextSpec> const& context, Authorship const& created,
                         std::vector<ArrayJob> const& arrays) {
    auto const& config = request.config;
    auto const effective = yaml::to_json(config::mask_secrets(config.effective));
    ExperimentSpec spec;
    static_cast<LaunchOptions&>(spec) = config.slurm;
    spec.working_directory = working_directory(request);
    spec.id = id;
    spec.name = config.name;
    spec.owner = created.owner;
    spec.parent = request.parent;
    spec.created = created.time;
    spec.root = request.root.path();
    spec.pool = request.plan.pool.name;
    spec.shape = request.plan.shape;
    spec.nodes_min = request.plan.nodes_min;
    spec.lanes = request.plan.lanes;
    spec.has_gres = request.plan.pool.has_gres || request.plan.shape.slot_type == SlotType::cpu;
    spec.spare_nodes = request.plan.spare_nodes;
    spec.excluded_nodes = request.plan.excluded_nodes();
    spec.entrypoint =
        entrypoint_argv(config.entrypoint, request.plan.container && config.slurm.setup.empty());
    if (request.script) set_batch_script(spec, request, ExperimentLayout(request.root, id));
    if (spec.launch == Launch::script && !request.script) spec.batch_script.emplace();
    spec.environment_variables = environment_variables(config, request.plan.shape.slot_type);
    spec.persist = persistent_directories(config.slurm, spec.working_directory);
    spec.context = context;
    spec.container = request.plan.container;
    auto search = plan::search_input(config);
    spec.searcher = std::move(search.searcher);
    spec.hyperparameters = std::move(search.hyperparameters);
    spec.experiment_seed = search.experiment_seed;
    spec.trial_count = request.plan.trial_count;
    spec.max_restarts = static_cast<std::uint32_t>(config.max_restarts);
    spec.has_default_max_restarts = !config.where("max_restarts").has_value();
    spec.preemption_timeout_s =
        static_cast<std::uint32_t>(config.preemption_timeout_seconds.value_or(spec.preemption_timeout_s));
    spec.notice_s = request.notice_s;
    spec.log_policies = log_policies(config);
    if (auto const& source = request.source_checkpoint) {
        spec.source_checkpoint = source->uuid;
        spec.source_checkpoint_sha256 = source->manifest_sha256;
        spec.source_checkpoint_owner = source->trusted_owner;
    }
    spec.checkpoint_path = checkpoint_path(config);
    spec.config = effective;
    set_staged_files(spec.config, request.stage);
    spec.has_fewer_tasks =
        request.plan.sampler_sets_lengths ||
        std::ranges::any_of(arrays, [](auto const& array) { return array.task_count > 0; });
    spec.sbatch_options = plan::sbatch_command_line_options(request.plan, ExperimentLayout(request.root, id),
                                                            job_comment(request.root, id));
    return spec;
}

}  // namespace det::experiment
