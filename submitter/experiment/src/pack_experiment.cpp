#include <det/experiment/load_site.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/experiment/pack_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/site_trust.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/manifest_sums.hpp>
#include <det/journal/reader.hpp>
#include <det/retention/collect_garbage.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace det::experiment {
namespace {

namespace fs = std::filesystem;

bool has_job_in_slurm(tracker::history::ExperimentView const& view) {
    return std::ranges::any_of(
        view.trials, [](auto const& trial) { return trial.job && !slurm::is_over(trial.job->state); });
}

using namespace std::chrono_literals;

// A rank that ignores SIGTERM lives for Slurm's KillWait, 30 s by default, after which an Epilog runs.
constexpr auto job_end_wait = 60s;
constexpr std::chrono::milliseconds job_end_pause_min = 500ms, job_end_pause_max = 4s;

/// If the experiment has ended, waits until Slurm has no job of it: the journals have the end of a trial
/// before its job has left the queue.
Status wait_for_jobs(std::string const& id, Context& context) {
    auto const deadline = context.clock.steady_now() + job_end_wait;
    for (auto pause = job_end_pause_min;; pause = std::min(2 * pause, job_end_pause_max)) {
        DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
        auto const& view = experiment.view;
        bool const is_waiting = lifecycle::is_terminal(view.state) && has_job_in_slurm(view);
        if (!is_waiting || context.clock.steady_now() >= deadline) return Ok{};
        context.clock.sleep_for(pause);
    }
}

bool is_below(fs::path const& path, fs::path const& directory) {
    auto const text = path.lexically_normal().string() + "/";
    return text.starts_with(directory.lexically_normal().string() + "/");
}

Status check_packable(OpenExperiment const& experiment) {
    auto const& view = experiment.view;
    auto const id = experiment.id().value;
    if (!lifecycle::is_terminal(view.state)) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} is {}: only an experiment that has ended is packed", id,
                                 to_string(view.state)),
                     "end it first with 'det-submit experiment cancel' or 'kill'"};
    }
    if (has_job_in_slurm(view)) {
        return Error{codes::wrong_state,
                     fmt::format("experiment {} has ended, and its job is in Slurm after {} s more", id,
                                 job_end_wait.count()),
                     "repeat the command when squeue no longer shows the job, or cancel that with scancel"};
    }
    if (!view.record.spec)
        return Error{codes::wrong_state, fmt::format("experiment {} has no specification", id)};
    if (path_exists(experiment.layout.path() / retention::gc_lock_name)) {
        return Error{codes::wrong_state, fmt::format("checkpoints of experiment {} are being removed", id),
                     fmt::format("repeat the command when that has ended; if it was interrupted, run "
                                 "'det-submit experiment gc {}' first",
                                 id)};
    }
    auto const& checkpoints = view.record.spec->checkpoint_path;
    if (checkpoints.empty() || !is_below(checkpoints, experiment.layout.path())) return Ok{};
    return Error{codes::wrong_state,
                 fmt::format("experiment {} keeps its checkpoints in its directory: '{}'", id, checkpoints),
                 "checkpoints are not packed"};
}

/// What the runs of the experiment have recorded about the manifests of its checkpoints.
Status add_manifest_sums(OpenExperiment const& experiment, journal::PackSummary& summary) {
    journal::ManifestSums const sums(experiment.root, experiment.id());
    DET_TRY_ASSIGN(auto const trials, list_numeric_names(experiment.layout.trials()));
    for (auto const trial : trials) {
        auto const layout = experiment.layout.trial(trial);
        DET_TRY_ASSIGN(auto const runs, list_numeric_names(layout.runs()));
        for (auto const run : runs) {
            DET_TRY_ASSIGN(auto const contents, journal::salvage_journal(layout.run(run).chief_journal()));
            for (auto const& record : contents.records) {
                auto const* const committed = std::get_if<CheckpointCommitted>(&record);
                if (committed == nullptr) continue;
                auto const name = fmt::format("{}.{}", to_string(TrialId{experiment.id(), trial}), run);
                DET_TRY_ASSIGN(summary.manifest_sums[committed->uuid], sums.find(committed->uuid, name));
            }
        }
    }
    return Ok{};
}

Result<journal::PackSummary> summarise(OpenExperiment const& experiment) {
    journal::PackSummary summary;
    summary.experiment = experiment.id();
    DET_TRY_ASSIGN(summary.spec, read_trusted_file(experiment.layout.spec()));
    DET_TRY_ASSIGN(summary.state,
                   journal::load_dependency_state(experiment.root, {experiment.id(), std::nullopt}));
    DET_TRY_ASSIGN(summary.trials,
                   journal::load_trial_states(experiment.layout, *experiment.view.record.spec));
    DET_TRY(add_manifest_sums(experiment, summary));
    return summary;
}

Status check_pack_directory(fs::path const& elsewhere, Context& context) {
    auto const site = load_site_file(context.environment);
    if (!site) return site.error().sorted().front().error;
    if (!elsewhere.is_absolute() || !fs::is_directory(elsewhere))
        return Error{codes::not_a_directory, fmt::format("'{}' is not a directory", elsewhere.string())};
    return check_trusted_directory(elsewhere, trust_rules(*site));
}

/// codes::no_such_experiment; the codes of require_trusted_root() and check_trusted_directory().
Status require_own_directory(RootLayout const& root, ExperimentId id, Context& context) {
    auto const directory = root.experiment(id);
    if (!path_exists(directory) || path_exists(ExperimentLayout(directory).deleted()))
        return tracker::history::no_such_experiment(id, root.path());
    auto const site = load_site_file(context.environment);
    if (!site) return site.error().sorted().front().error;
    DET_TRY(require_trusted_root(root, trust_rules(*site)));
    return check_trusted_directory(directory, trust_rules(*site));
}

}  // namespace

Result<experiment_pack::PackReport> pack_experiment(std::string const& id,
                                                    std::optional<fs::path> const& elsewhere,
                                                    Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const number, require_experiment_id(id));
    auto const directory = root.experiment(number);
    DET_TRY(require_own_directory(root, number, context));
    if (!path_exists(ExperimentLayout(directory).pack())) DET_TRY(wait_for_jobs(id, context));
    using experiment_pack::PackLock;
    DET_TRY_ASSIGN(auto const lock, PackLock::take(directory, PackLock::usual_wait));
    if (path_exists(ExperimentLayout(directory).pack()))
        return experiment_pack::pack_directory(lock, {}, std::nullopt);
    DET_TRY_ASSIGN(auto const experiment, open_experiment(id, SlurmAnswer::required, context));
    DET_TRY(check_packable(experiment));
    DET_TRY(require_trusted_experiment(experiment, context));
    if (elsewhere) DET_TRY(check_pack_directory(*elsewhere, context));
    DET_TRY_ASSIGN(auto const summary, summarise(experiment));
    return experiment_pack::pack_directory(lock, summary, elsewhere);
}

Result<experiment_pack::PackReport> unpack_experiment(std::string const& id, Context& context) {
    DET_TRY_ASSIGN(auto const root, find_root(context.environment));
    DET_TRY_ASSIGN(auto const number, require_experiment_id(id));
    auto const directory = root.experiment(number);
    DET_TRY(require_own_directory(root, number, context));
    return experiment_pack::unpack_directory(directory);
}

}  // namespace det::experiment
