#include <det/foundation/executable.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/launch/node/job_command.hpp>
#include <det/launch/node/srun_shim.hpp>
#include <det/launch/supervisor/batch_job.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/launch/supervisor/prepare_node.hpp>
#include <det/launch/supervisor/unpack_archive.hpp>
#include <det/protocol/cluster_info.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/setup_lines.hpp>
#include <det/protocol/staged_file.hpp>
#include <det/protocol/task_identity.hpp>
#include <det/sampler/decision_log.hpp>
#include <det/sampler/load_draw.hpp>
#include <det/slurm/command_client.hpp>

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <unistd.h>

#include "run_environment.hpp"
#include "setup_script.hpp"
#include "stage_cache.hpp"

namespace det::launch::supervisor {
namespace {

namespace fs = std::filesystem;

constexpr char work_directory[] = "workdir";

/// Typed access to the variables of the run.
class RunVariables {
public:
    explicit RunVariables(Environment const& environment) : environment_(environment) {}

    std::string text(std::string_view name) const { return environment_.find(name).value_or(""); }
    std::optional<std::string> optional(std::string_view name) const {
        return environment_.find_non_empty(name);
    }
    template <class T>
    T number(std::string_view name) const {
        return parse_integer<T>(text(name)).value_or(T{});
    }

private:
    Environment const& environment_;
};

/// The hyperparameters that a sampler has chosen come with the run's variables, unless they are too long:
/// this node may see an older directory of the recorded ones.
Result<search::TrialDraw> load_draw_of(std::uint32_t trial, RunVariables const& run,
                                       ExperimentSpec const& spec) {
    auto const passed = run.optional(variables::hparams);
    ExperimentLayout const experiment(run.text(variables::experiment_path));
    if (!sampler::is_custom(spec)) return sampler::load_draw(experiment, spec, trial);
    if (!passed) {
        DET_TRY_ASSIGN(auto const begin, sampler::find_begin(experiment, trial));
        if (begin && begin->answer.hyperparameters) return sampler::load_draw(experiment, spec, trial);
        return Error{
            codes::no_such_file,
            fmt::format("what the sampler has chosen for trial {} can't be seen on this node", trial)};
    }
    DET_TRY_ASSIGN(auto draw, search::draw_trial(spec, trial));
    auto hyperparameters = try_parse_json(*passed);
    if (!hyperparameters.is_object())
        return Error{codes::bad_value, fmt::format("{} has no hyperparameters", variables::hparams)};
    draw.hyperparameters = std::move(hyperparameters);
    return draw;
}

/// The specification as the ranks see it.
ExperimentSpec spec_of_run(RunVariables const& run, ExperimentSpec const& spec) {
    auto const length = parse_integer<std::uint64_t>(run.text(variables::training_length));
    return length ? with_training_length(spec, *length) : spec;
}

Status write_trial_info(fs::path const& info, RunVariables const& run, ExperimentSpec const& spec,
                        std::string const& spec_text) {
    auto const trial = parse_trial_id(run.text(variables::trial_id));
    if (!trial) return Error{codes::bad_value, fmt::format("{} is not set", variables::trial_id)};
    DET_TRY_ASSIGN(auto const draw, load_draw_of(trial->index, run, spec));
    TrialInfo const trial_info{*trial,
                               run.number<std::uint32_t>(variables::trial_run_id),
                               draw.seed,
                               draw.hyperparameters,
                               spec.config,
                               run.number<std::uint64_t>(variables::steps_completed),
                               spec.config->value("debug", false),
                               run.optional(variables::inter_node_network_interface)};
    DET_TRY(write_file(info / info_files::trial, render_trial_info(trial_info)));
    return write_file(info / info_files::spec, spec_text);
}

Status make_link(fs::path const& target, fs::path const& link) {
    if (::symlink(target.c_str(), link.c_str()) == 0) return Ok{};
    return os_error(fmt::format("link '{}'", link.string()), errno);
}

/// Fails if `below` leads through a symbolic link of the code: the caller would remove files outside of the
/// working directory.
Status require_no_links(fs::path const& work, fs::path const& below) {
    auto path = work;
    for (auto const& part : below) {
        path /= part;
        std::error_code error;
        if (fs::is_symlink(path, error))
            return Error{codes::bad_value,
                         fmt::format("slurm.persist: '{}' is a symbolic link in the code", below.string()),
                         "name directories that are not below a link"};
    }
    return Ok{};
}

/// Replaces the directories of slurm.persist by links to those of the trial.
Status link_persistent(fs::path const& work, ExperimentSpec const& spec, GenerationLayout const& trial) {
    for (auto const& name : spec.persist) {
        auto const place = work / name;
        DET_TRY(require_no_links(work, fs::path(name).parent_path()));
        DET_TRY(remove_tree(place));
        DET_TRY(make_directories(place.parent_path()));
        DET_TRY(make_link(trial.persist() / name, place));
    }
    return Ok{};
}

/// Unpacks the code, from this node's own copy of the archive if it has one.
Status unpack_code(std::string const& sha256, fs::path const& archive,
                   std::optional<std::string> const& stage, fs::path const& work) {
    std::error_code failure;
    auto const own =
        stage ? fs::canonical(fs::path(*stage) / item_of_code(sha256, "", 0).name, failure) : fs::path();
    if (!own.empty() && !failure) {
        if (unpack_archive(own, sha256, work)) return Ok{};
        // The copy is damaged: what it has left behind goes.
        DET_TRY(remove_tree(work));
        DET_TRY(make_directory(work));
    }
    return unpack_archive(archive, sha256, work);
}

/// Makes the working directory: a link to the one that the runs of the trial share, or a directory with the
/// code.
Status make_work(fs::path const& run_dir, ExperimentSpec const& spec, GenerationLayout const& trial,
                 std::optional<std::string> const& stage) {
    auto const work = run_dir / work_directory;
    if (spec.working_directory == WorkingDirectory::shared) return make_link(trial.work(), work);
    if (!spec.context && spec.persist.empty()) return Ok{};
    DET_TRY(make_directory(work));
    if (spec.context) {
        auto const& sha256 = spec.context->sha256;
        DET_TRY(unpack_code(sha256, RootLayout(spec.root).context(sha256), stage, work));
    }
    return link_persistent(work, spec, trial);
}

/// Writes the lines of slurm.setup, and the script that runs them.
Status write_setup(fs::path const& run_dir, ExperimentSpec const& spec) {
    if (spec.setup.empty()) return Ok{};
    auto const setup = run_dir / setup_files::directory;
    DET_TRY(make_directory(setup));
    std::string lines;
    for (auto const& line : spec.setup) lines += line + '\0';
    DET_TRY(write_file(setup / setup_files::lines, lines));
    return write_file(setup / setup_files::script, scripts::find_page("setup"));
}

/// The command of a job whose batch script asks Slurm for it, usually to find its own directory. Nothing for
/// other scripts, whose PATH stays as it is, and for one that was read from standard input, for which Slurm
/// shows none.
std::optional<node::JobCommand> command_asked_for(ExperimentSpec const& spec,
                                                  ExperimentLayout const& layout) {
    Json::json_pointer const key("/slurm/batch_script");
    auto const own = std::ranges::find(spec.entrypoint, layout.batch_script().string());
    bool const has_script = own != spec.entrypoint.end() && spec.config->contains(key);
    if (spec.launch != Launch::script || !has_script || !spec.config->at(key).is_string())
        return std::nullopt;
    auto const text = read_trusted_file(layout.batch_script());
    bool const asks =
        text && text->find("show") != std::string::npos && text->find("Command") != std::string::npos;
    auto users = spec.config->at(key).get<std::string>();
    if (!asks || users.ends_with("/-")) return std::nullopt;
    return node::JobCommand{layout.at_revision(spec.revision()).script().string(), std::move(users),
                            join({own + 1, spec.entrypoint.end()}, " ")};
}

/// What the last run has kept in this job stays.
void remove_snapshots_of_older_runs(RunVariables const& run) {
    auto const number = parse_integer<std::uint32_t>(run.text(variables::trial_run_id));
    if (!number) return;
    checkpoint::remove_older_snapshots(
        {checkpoint::shared_memory, run.text(variables::run_job), run.text(variables::task_id), "",
         checkpoint::restart_count_of(run.text(variables::run_key))},
        *number);
}

}  // namespace

Status prepare_node(fs::path const& run_dir, Environment const& environment) {
    RunVariables const run(environment);
    SystemProcessRunner runner;
    slurm::CommandClient slurm(runner, environment);
    remove_leftover_snapshots(checkpoint::shared_memory, run.text(variables::run_job), slurm);
    remove_snapshots_of_older_runs(run);
    auto const experiment = run.text(variables::experiment_path);
    // The directories are checked on each node: a node can have mounts of its own.
    auto const rules = trust_rules(environment);
    DET_TRY(check_trusted_directory(experiment, rules));
    DET_TRY_ASSIGN(auto const spec_text, load_spec_text(environment));
    DET_TRY_ASSIGN(auto const spec, parse_spec(spec_text));
    if (spec.context) DET_TRY(check_trusted_directory(RootLayout(spec.root).contexts(), rules));
    auto const seen = spec_of_run(run, spec);
    DET_TRY(write_trial_info(run_dir / info_files::directory, run, seen,
                             seen == spec ? spec_text : render_spec(seen)));
    DET_TRY(write_setup(run_dir, spec));
    // There is no srun in a container, and a batch script starts its steps once, as without us.
    bool const has_shim = spec.shape.nodes > 1 && !spec.container && spec.launch != Launch::script;
    if (has_shim) DET_TRY(node::write_srun_shim(run_dir, own_executable()));
    if (auto const command = command_asked_for(spec, ExperimentLayout(experiment)))
        DET_TRY(node::write_scontrol_filter(run_dir, *command));
    // DET_TRIAL_DIR is one of the directories of the generation.
    GenerationLayout const trial(fs::path(run.text(variables::trial_dir)).parent_path());
    return make_work(run_dir, spec, trial, run.optional(variables::stage));
}

}  // namespace det::launch::supervisor
