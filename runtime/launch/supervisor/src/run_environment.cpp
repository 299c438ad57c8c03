#include "run_environment.hpp"

#include <det/foundation/executable.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/bind_policy.hpp>
#include <det/protocol/host_list.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/step_run.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <set>

#include "idle_detector.hpp"
#include "ports.hpp"
#include "warm_start.hpp"

namespace det::launch::supervisor {
namespace {

/// Linux limits an environment variable to 128 KiB. Longer JSON is only in DET_RUN_DIR/info, and a longer
/// specification only in spec.json.
constexpr std::size_t json_max_bytes = std::size_t{64} << 10;

std::string all_slots(TrialShape const& shape) {
    std::vector<int> slots(static_cast<std::size_t>(shape.ranks_per_node()));
    std::iota(slots.begin(), slots.end(), 0);
    return render_slot_ids_json(slots);
}

void set_short(Environment& environment, char const* name, std::string text) {
    environment.unset(name);
    if (text.size() <= json_max_bytes) environment.set(name, std::move(text));
}

void set_json(Environment& environment, char const* name, Json const& json) {
    set_short(environment, name, to_line(json));
}

bool is_true(ExperimentSpec const& spec, char const* key) {
    Json::json_pointer const pointer(key);
    return spec.config->contains(pointer) && spec.config->at(pointer) == Json(true);
}

/// Adds the package `determined` to the end of PYTHONPATH, so that the user's own modules come first. With
/// slurm.log_wandb our module `wandb` comes before the user's. PYTHONUNBUFFERED, unless it is set, makes
/// Python print lines at once; a batch script has its own environment.
void set_python(Environment& environment, ExperimentSpec const& spec) {
    bool const is_script = spec.launch == Launch::script;
    auto const installed = own_executable().parent_path().parent_path() / "lib/det-submit";
    auto path = (installed / "python-path").string();
    if (auto const theirs = environment.find_non_empty("PYTHONPATH")) path = *theirs + ":" + path;
    if (is_true(spec, "/slurm/log_wandb")) {
        path = (installed / "python-wandb").string() + ":" + path;
        environment.set(variables::log_wandb, "1");
    }
    environment.set("PYTHONPATH", path);
    if (!is_script && !environment.find("PYTHONUNBUFFERED")) environment.set("PYTHONUNBUFFERED", "1");
}

/// Sets the variables of environment.environment_variables.
void set_configured(Environment& environment, ExperimentSpec const& spec) {
    for (auto const& variable : spec.environment_variables) {
        auto const equals = variable.find('=');
        bool const has_value = equals != std::string::npos && equals + 1 < variable.size();
        // As in Determined, "NAME=" takes the value that the job has, also into containers.
        if (has_value) environment.set(variable.substr(0, equals), variable.substr(equals + 1));
    }
}

/// With slurm.log_mlflow the MLflow client uses the store of the package `determined`, and asks no server.
void set_mlflow(Environment& environment, ExperimentSpec const& spec) {
    if (!is_true(spec, "/slurm/log_mlflow")) return;
    environment.set(variables::log_mlflow, "1");
    environment.set("MLFLOW_TRACKING_URI", std::string(variables::mlflow_store));
    environment.set("MLFLOW_DISABLE_TELEMETRY", "true");
}

/// `slurm: {compile_cache: false}` switches the cache off.
bool caches_compiled(ExperimentSpec const& spec) {
    Json::json_pointer const cache("/slurm/compile_cache");
    return !spec.config->contains(cache) || spec.config->at(cache) != Json(false);
}

/// Sets the path at which PyTorch's flight recorder writes the last collective operations of each rank when
/// one has timed out. PyTorch appends the rank to the path. Newer releases read the second variable.
void record_collectives(Environment& environment, std::filesystem::path const& run) {
    for (auto const* name : {"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"}) {
        if (!environment.find_non_empty(name)) environment.set(name, (run / "flight-recorder-").string());
    }
}

void set_ports(Environment& environment, Ports const& ports) {
    environment.unset(variables::ports);
    if (ports.empty()) return;
    set_json(environment, variables::ports, Json(ports));
    for (auto const& [name, port] : ports) environment.set(port_variable(name), std::to_string(port));
}

/// The distance of array tasks that are equally far from each other, otherwise 1, as Slurm shows it.
std::uint32_t step_of(std::vector<std::uint32_t> tasks) {
    std::ranges::sort(tasks);
    std::set<std::uint32_t> distances;
    for (std::size_t i = 1; i < tasks.size(); ++i) distances.insert(tasks[i] - tasks[i - 1]);
    return distances.size() == 1 ? *distances.begin() : 1;
}

/// Gives a batch script the variables of its own array, as if it had been submitted alone: a successor of
/// its job has an array of one task, and a script without an array has a task all the same.
void set_array_variables(Environment& environment, ExperimentSpec const& spec) {
    auto const tasks = spec.batch_script ? spec.batch_script->array_task_ids : std::vector<std::uint32_t>();
    if (tasks.empty()) {
        environment.unset_with_prefix("SLURM_ARRAY_");
        return;
    }
    // The array as it was submitted: Slurm has set the variables, and knows the step that the user wrote.
    if (environment.find("SLURM_ARRAY_TASK_COUNT") == std::to_string(tasks.size())) return;
    auto const [least, greatest] = std::ranges::minmax(tasks);
    environment.set("SLURM_ARRAY_TASK_COUNT", std::to_string(tasks.size()));
    environment.set("SLURM_ARRAY_TASK_MIN", std::to_string(least));
    environment.set("SLURM_ARRAY_TASK_MAX", std::to_string(greatest));
    environment.set("SLURM_ARRAY_TASK_STEP", std::to_string(step_of(tasks)));
}

/// What a batch script sees in addition to, or instead of, what programs under srun see. The plugin handles
/// its steps only if the script asks for it (--det).
void adapt_to_script(Environment& environment, BatchJob const& batch_job) {
    environment.unset(variables::spank);
    // A notice reaches the script if it traps TERM, and the ranks that handle it.
    if (batch_job.spec.forward_signals.empty()) environment.set(variables::forward_signals, "TERM");
    set_array_variables(environment, batch_job.spec);
    auto const& script = batch_job.spec.batch_script;
    if (script && !script->submit_directory.empty())
        environment.set("SLURM_SUBMIT_DIR", script->submit_directory);
}

}  // namespace

Environment make_run_environment(BatchJob const& batch_job, RunPlan const& run, Environment const& job) {
    auto const& spec = batch_job.spec;
    auto environment = job;
    set_configured(environment, spec);
    auto const run_path = batch_job.experiment.trial(run.id.trial.index).run(run.id.number).path();
    auto const chief = first_host(run.hosts).value_or("localhost");
    Variables const ours{
        {variables::launch, std::string(to_string(spec.launch))},
        {variables::root, spec.root},
        {variables::run_key, fmt::format("{}-{}-{}", to_string(run.id), slurm::to_string(batch_job.job),
                                         batch_job.incarnation.restart_count)},
        {variables::run_job, job.find("SLURM_JOB_ID").value_or("")},
        {variables::job_name, job.find("SLURM_JOB_NAME").value_or("")},
        {variables::run_hosts, run.hosts},
        {variables::run_path, run_path},
        {variables::done_file, RunLayout(run_path).done()},
        {variables::modules, (own_executable().parent_path().parent_path() / "lib").string()},
        {variables::experiment_path, batch_job.experiment.path()},
        {variables::experiment_id, to_string(spec.id)},
        {variables::trial_id, std::to_string(to_integer(run.id.trial))},
        {variables::trial_run_id, std::to_string(run.id.number)},
        {variables::trial_seed, std::to_string(run.trial_seed)},
        {variables::trial_dir, run.trial_dir},
        {variables::steps_completed, std::to_string(run.resume.steps_completed)},
        {variables::cluster_id, batch_job.cluster},
        {variables::task_id, to_string(run.id.trial)},
        {variables::allocation_id, to_string(run.id)},
        {variables::task_type, "TRIAL"},
        {variables::slot_ids, all_slots(run.shape.shape)},
        {variables::slot_type, std::string(to_string(spec.shape.slot_type))},
        {variables::chief_ip, chief},
        {variables::step_requests, "1"},
    };
    for (auto const& [name, value] : ours) environment.set(name, value);
    if (!batch_job.is_script()) {
        environment.set(variables::spank, "auto");
        environment.set("MASTER_ADDR",
                        add_host_suffix(chief, environment.find(variables::host_suffix).value_or("")));
        environment.set("MASTER_PORT", std::to_string(run.master_port));
    }
    // The job's environment contains these variables if the user submitted it from inside another run.
    for (auto const* name : {variables::placed,
                             variables::wrapped,
                             variables::wrapped_command,
                             variables::run_dir,
                             variables::rank_log,
                             variables::latest_checkpoint,
                             variables::latest_checkpoint_sha256,
                             variables::slot_counts,
                             variables::hparams,
                             variables::spec,
                             variables::training_length,
                             variables::read_ahead,
                             variables::forward_signals,
                             variables::signals_reach_all,
                             variables::setup,
                             variables::profiling,
                             variables::shows_activity,
                             variables::usage_window,
                             variables::node_monitor,
                             variables::compile_cache,
                             variables::stage,
                             variables::local_suffix,
                             variables::log_wandb,
                             variables::log_mlflow,
                             variables::bind,
                             variables::warm_start,
                             variables::labels}) {
        environment.unset(name);
    }
    set_python(environment, spec);
    set_mlflow(environment, spec);
    if (!run.local_suffix.empty()) environment.set(variables::local_suffix, run.local_suffix);
    set_json(environment, variables::experiment_config,
             run.training_length ? with_training_length(spec, *run.training_length).config : spec.config);
    if (run.chosen_hyperparameters) {
        set_json(environment, variables::hparams, *run.chosen_hyperparameters);
    } else if (auto const draw = search::draw_trial(spec, run.id.trial.index)) {
        set_json(environment, variables::hparams, draw->hyperparameters);
    }
    if (run.training_length)
        environment.set(variables::training_length, std::to_string(*run.training_length));
    set_ports(environment, run.ports);
    if (!run.resume.checkpoint.empty()) environment.set(variables::latest_checkpoint, run.resume.checkpoint);
    if (!run.resume.manifest_sha256.empty())
        environment.set(variables::latest_checkpoint_sha256, run.resume.manifest_sha256);
    if (!run.resume.checkpoint_path.empty())
        environment.set(variables::read_ahead, run.resume.checkpoint_path);
    if (!spec.forward_signals.empty())
        environment.set(variables::forward_signals, join(spec.forward_signals, ","));
    if (!spec.setup.empty()) environment.set(variables::setup, "1");
    if (!spec.bind.empty() && !batch_job.is_script()) environment.set(variables::bind, spec.bind);
    if (caches_compiled(spec) && !batch_job.is_script())
        environment.set(variables::compile_cache, to_string(spec.id));
    if (is_warm_started(spec))
        environment.set(variables::warm_start, warm_start_place(batch_job, run.id.trial).to_text());
    if (!batch_job.is_script()) {
        set_short(environment, variables::spec, render_spec(spec));
        record_collectives(environment, run_path);
    }
    if (is_true(spec, "/profiling/enabled")) environment.set(variables::profiling, "1");
    if (spec.hang_timeout_s) environment.set(variables::shows_activity, "1");
    if (auto const idle = find_idle_policy(spec))
        environment.set(variables::usage_window, std::to_string(usage_window(idle->after).count()));
    if (run.signals_reach_all) environment.set(variables::signals_reach_all, "1");
    if (batch_job.is_script())
        adapt_to_script(environment, batch_job);
    else
        unset_batch_step(environment);
    return environment;
}

ExperimentSpec with_training_length(ExperimentSpec spec, std::uint64_t length) {
    auto const unit = spec.searcher.options->find("unit");
    bool const has_unit = unit != spec.searcher.options->end() && unit->is_string();
    auto const value = has_unit ? Json{{unit->get<std::string>(), length}} : Json(length);
    (*spec.searcher.options)["max_length"] = value;
    if (spec.config->contains("searcher")) (*spec.config)["searcher"]["max_length"] = value;
    return spec;
}

Environment make_sampler_environment(ExperimentSpec const& spec, Environment const& job) {
    auto environment = job;
    // Of the run that has created this experiment, if one has.
    for (auto const* name : inherited_variables) environment.unset(name);
    set_configured(environment, spec);
    set_python(environment, spec);
    return environment;
}

void unset_batch_step(Environment& environment) {
    for (auto const* name :
         {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK",
          "SRUN_CPUS_PER_TASK", "SLURM_TRES_PER_TASK", "SLURM_CPU_BIND", "SLURM_GPUS_PER_TASK"}) {
        environment.unset(name);
    }
}

}  // namespace det::launch::supervisor
