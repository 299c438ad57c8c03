#include "resume_point.hpp"

#include <det/checkpoint/run_checkpoints.hpp>
#include <det/checkpoint/stored_manifest.hpp>
#include <det/foundation/count_text.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/reversed.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/damage.hpp>
#include <det/journal/reader.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <csignal>
#include <deque>
#include <fmt/format.h>
#include <iterator>
#include <set>

#include "progress_files.hpp"
#include "skip_step_ids.hpp"

namespace det::launch::supervisor {
namespace {

/// The records of a run that later runs need.
struct PastRun {
    std::optional<RunStarted> started;
    std::optional<RunEnded> ended;
    std::vector<CheckpointCommitted> checkpoints;
    std::optional<std::uint64_t> continued_steps;  // of the state in memory from which it went on
    bool has_kept_progress = false;                // see note_kept_progress()

    std::vector<std::string> damage;               // which of its journals lack records
    std::vector<std::string> damaged_checkpoints;  // those that its ranks have reported
    bool was_preemption_acknowledged = false;      // the program has seen the notice and saved
    bool was_abandoned = false;
    // A heartbeat file is left, or that of RunLayout::living_tasks(): a task did not end by itself
    bool has_heartbeats = false;

    bool may_still_run() const {
        if (!ended && !damage.empty()) return true;  // these records may be missing
        if (!started) return false;
        if (!ended || was_abandoned || ended->cause == Cause::node_failed) return true;
        // After this record Slurm ends the processes of the job, but not on a node that does not answer.
        return ended->next_action == NextAction::left_to_slurm && has_heartbeats;
    }
    /// Whether Slurm steps of the run may live on while its job, queued again, counts its steps from 0. A
    /// failed node may have been cut off only, and Slurm may start the job there again at once.
    bool may_leave_steps() const {
        if (!started || !ended) return started.has_value();
        return ended->cause == Cause::node_failed && ended->next_action != NextAction::restart_in_place;
    }
    bool has_failed() const { return ended && counts_against_max_restarts(ended->cause); }
    /// Whether the run ended after a notice without the program's acknowledgement, and like a failure.
    bool ended_badly_after_notice() const {
        bool const was_preempted =
            ended && (ended->cause == Cause::preempted || ended->cause == Cause::time_limit);
        return was_preempted && !was_preemption_acknowledged && ended->exit_code != 0 &&
               ended->exit_code != 128 + SIGTERM;
    }
    bool was_failed_by_slurm() const {
        return ended && (ended->cause == Cause::node_failed || ended->cause == Cause::not_launched);
    }
    std::optional<UtcTime> progress_before() const { return started ? started->progress : std::nullopt; }
    /// \param progress_after the newest change of the files of slurm.progress_glob after this run.
    bool has_progressed(std::optional<UtcTime> const& progress_after) const {
        if (has_kept_progress || is_newer(progress_after, progress_before())) return true;
        auto const before = started ? started->steps_completed : 0;
        return std::ranges::any_of(checkpoints, [&](auto const& c) { return c.steps_completed > before; });
    }
};

/// Reads a journal. Adds a line to `damage` if records of it are missing.
Result<journal::JournalContents> salvage(std::filesystem::path const& path,
                                         std::vector<std::string>& damage) {
    DET_TRY_ASSIGN(auto contents, journal::salvage_journal(path));
    if (!contents.damage.empty())
        damage.push_back(journal::journal_damaged_error({path, contents.damage}).message);
    return contents;
}

/// Reads the journals of a run. If records of the chief are missing, its checkpoints are those in the store.
Result<PastRun> load_run(RunLayout const& layout, RunId const& id, checkpoint::Store const& store) {
    PastRun run;
    DET_TRY_ASSIGN(auto const life, salvage(layout.supervisor_journal(), run.damage));
    DET_TRY_ASSIGN(auto const reports, salvage(layout.chief_journal(), run.damage));
    for (auto const& record : life.records) {
        if (auto const* started = std::get_if<RunStarted>(&record)) run.started = *started;
        if (auto const* ended = std::get_if<RunEnded>(&record)) run.ended = *ended;
    }
    run.was_preemption_acknowledged = std::ranges::any_of(reports.records, [](auto const& record) {
        return std::holds_alternative<PreemptionAcknowledged>(record);
    });
    for (auto const& record : reports.records) {
        if (auto const* continued = std::get_if<ContinuedFromMemory>(&record))
            run.continued_steps = continued->steps_completed;
    }
    if (reports.damage.empty()) {
        DET_TRY_ASSIGN(run.checkpoints, checkpoint::checkpoints_of_run(reports.records, store));
    } else {
        DET_TRY_ASSIGN(run.checkpoints, checkpoint::stored_checkpoints_of_run(to_string(id), store));
    }
    DET_TRY_ASSIGN(auto const names, list_directory(layout.path()));
    run.was_abandoned = std::ranges::find(names, layout.abandoned().filename().string()) != names.end();
    run.has_heartbeats = std::ranges::any_of(
        names, [](auto const& name) { return name.ends_with(RunLayout::heartbeat_suffix); });
    for (auto const& name : names) {
        if (name.starts_with(RunLayout::damaged_prefix))
            run.damaged_checkpoints.push_back(name.substr(RunLayout::damaged_prefix.size()));
    }
    return run;
}

RunSlurmSteps steps_of(RunStarted const& started, bool is_lost) {
    auto const hosts = expand_host_list(started.hosts);
    auto const nodes = hosts ? static_cast<std::uint32_t>(hosts->size()) : 1;
    return {started.job, started.restart_count, nodes, is_lost};
}

/// A run has progressed without a checkpoint if the next one went on from what it had kept in memory, and
/// that has more steps than any state from which a run has begun.
void note_kept_progress(std::vector<PastRun>& runs) {
    std::uint64_t highest = 0;
    for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
        auto const begun = runs[i].started ? runs[i].started->steps_completed : 0;
        highest = std::max({highest, begun, runs[i].continued_steps.value_or(0)});
        runs[i].has_kept_progress = runs[i + 1].continued_steps.value_or(0) > highest;
    }
}

/// Chooses the newest checkpoint that can be used.
class CheckpointChoice {
public:
    explicit CheckpointChoice(checkpoint::Store const& store) : store_(store) {}

    /// Adds the checkpoints that the ranks of a run have reported as damaged.
    void add_reports(PastRun const& run) {
        reported_.insert(run.damaged_checkpoints.begin(), run.damaged_checkpoints.end());
    }

    /// Uses the newest checkpoint of the run that can be used. If the store does not answer, returns an
    /// error, so that the trial does not start from scratch.
    Result<bool> use_newest(PastRun const& run, ResumePoint& point) {
        for (auto const& committed : reversed(run.checkpoints)) {
            auto const checked = check(committed.uuid);
            if (!checked && checked.error().code == codes::no_such_checkpoint) continue;
            if (!checked && !checkpoint::is_unusable(checked.error())) return checked.error();
            if (!checked) {
                point.passed_over.push_back(checked.error());
                continue;
            }
            point.checkpoint = committed.uuid;
            if (store_.has_shared_directory()) point.checkpoint_path = store_.address_of(committed.uuid);
            point.steps_completed = committed.steps_completed;
            point.manifest_sha256 = checked->sha256;
            point.was_reported_damaged = reported_.contains(committed.uuid);
            return true;
        }
        return false;
    }

private:
    Result<CheckpointManifest> check(std::string const& uuid) {
        auto manifest = store_.load_manifest(uuid);
        if (!manifest && manifest.error().code == codes::no_such_checkpoint) {
            DET_TRY_ASSIGN(bool const has_files, is_listed(uuid));
            if (has_files) return checkpoint::damaged_error(uuid, "its manifest is missing");
        }
        if (!manifest) return manifest;
        DET_TRY(store_.check_files(*manifest, [](std::string const&) { return true; }));
        if (reported_.contains(uuid)) DET_TRY(store_.fetch_and_verify(uuid));
        return manifest;
    }

    /// Whether the store has files of the checkpoint.
    Result<bool> is_listed(std::string const& uuid) {
        if (!listed_) {
            DET_TRY_ASSIGN(auto const names, store_.list());
            listed_.emplace(names.begin(), names.end());
        }
        return listed_->contains(uuid);
    }

    checkpoint::Store const& store_;
    std::set<std::string> reported_;
    std::optional<std::set<std::string>> listed_;
};

/// The error of a trial whose checkpoints can't be used.
Error all_unusable(TrialId trial, std::vector<Error> const& passed_over) {
    Error error{
        passed_over.front().code,
        fmt::format("trial {} has {}, and none can be used", to_string(trial),
                    count_text(passed_over.size(), "checkpoint")),
        fmt::format("bring a checkpoint back from a copy and run 'det-submit experiment continue {}'; to "
                    "begin anew at step 0, create a new experiment with 'det-submit experiment fork {}'",
                    trial.experiment.value, trial.experiment.value)};
    for (auto const& each : passed_over) error.notes.push_back(each.message);
    return error;
}

Status add_bad_hosts(PastRun const& run, ResumePoint& point) {
    if (!run.ended || run.ended->bad_hosts.empty()) return Ok{};
    DET_TRY_ASSIGN(auto const hosts, expand_host_list(run.ended->bad_hosts));
    for (auto const& host : hosts) {
        if (std::ranges::find(point.bad_hosts, host) == point.bad_hosts.end())
            point.bad_hosts.push_back(host);
    }
    return Ok{};
}

/// The number of nodes of a run; nullopt if it has not started.
std::optional<int> nodes_of(PastRun const& run) {
    auto const hosts = run.started ? expand_host_list(run.started->hosts) : std::vector<std::string>();
    if (!hosts || hosts->empty()) return std::nullopt;
    return static_cast<int>(hosts->size());
}

}  // namespace

Result<ResumePoint> find_resume_point(TrialLayout const& trial, TrialId id, RunRange range,
                                      checkpoint::Store const& store,
                                      std::vector<std::string> const& progress_globs) {
    DET_TRY_ASSIGN(auto runs, list_numeric_names(trial.runs()));
    std::erase_if(runs, [&](auto number) { return number >= range.end; });
    ResumePoint point;
    point.progress = newest_change(progress_globs, trial);
    point.is_progress_visible = !progress_globs.empty();
    auto progress_after = point.progress;
    bool has_checkpoint = false, has_progress = false, has_good_end = false, was_run_by_slurm = false;
    std::deque<RunSlurmSteps> steps;
    std::vector<PastRun> past;
    std::optional<int> nodes_after;
    CheckpointChoice choice(store);
    for (auto const number : runs) {
        DET_TRY_ASSIGN(auto run, load_run(trial.run(number), {id, number}, store));
        choice.add_reports(run);
        past.push_back(std::move(run));
    }
    note_kept_progress(past);
    for (auto const number : reversed(runs)) {
        auto const run = std::move(past.back());
        past.pop_back();
        std::ranges::copy(run.damage, std::back_inserter(point.damage));
        if (!has_checkpoint) {
            DET_TRY_ASSIGN(has_checkpoint, choice.use_newest(run, point));
        }
        point.is_progress_visible = point.is_progress_visible || !run.checkpoints.empty();
        if (number == runs.back()) {
            point.is_previous_run_lost = run.may_leave_steps();
            if (run.started) point.last_hosts = run.started->hosts;
        }
        auto const nodes = nodes_of(run);
        if (nodes && run.ended && lifecycle::was_requeued_to_grow(*run.ended))
            point.growths.push_back({run.ended->time, *nodes, nodes_after});
        if (nodes) nodes_after = nodes;
        if (run.started) steps.push_front(steps_of(*run.started, run.may_leave_steps()));
        if (!point.may_still_run && run.may_still_run()) point.may_still_run = number;
        if (number < range.first_that_counts) continue;
        if (run.has_failed()) ++point.restarts;
        was_run_by_slurm = was_run_by_slurm || !run.was_failed_by_slurm();
        if (!was_run_by_slurm) ++point.slurm_failures_in_a_row;
        point.has_begun_before = point.has_begun_before || has_begun(trial.run(number));
        has_progress = has_progress || run.has_progressed(progress_after);
        progress_after = run.progress_before();
        if (run.has_failed() && !has_progress) ++point.failures_without_progress;
        has_good_end = has_good_end || has_progress || !(run.has_failed() || run.ended_badly_after_notice());
        if (!has_good_end) ++point.bad_ends_without_progress;
        DET_TRY(add_bad_hosts(run, point));
    }
    if (!has_checkpoint && !point.passed_over.empty()) point.refusal = all_unusable(id, point.passed_over);
    if (point.is_previous_run_lost)
        point.step_ids_to_skip = count_step_ids_to_skip(std::vector(steps.begin(), steps.end()));
    return point;
}

Status use_source_checkpoint(std::optional<std::string> const& source, checkpoint::Store const& store,
                             ResumePoint& point) {
    if (!source || !point.checkpoint.empty() || point.refusal) return Ok{};
    auto const found = [&]() -> Result<CheckpointManifest> {
        DET_TRY_ASSIGN(auto manifest, store.load_manifest(*source));
        DET_TRY(store.check_files(manifest, [](std::string const&) { return true; }));
        return manifest;
    }();
    if (!found)
        return Error(found.error()).while_doing("starting from the source checkpoint of the experiment");
    point.checkpoint = *source;
    point.manifest_sha256 = found->sha256;
    if (store.has_shared_directory()) point.checkpoint_path = store.address_of(*source);
    return Ok{};
}

bool has_begun(RunLayout const& run) {
    if (path_exists(run.chief_journal()) || path_exists(run.first_failure())) return true;
    auto const names = list_directory(run.path()).value_or(std::vector<std::string>());
    if (std::ranges::any_of(names, [](auto const& name) { return name.starts_with("node-"); })) return true;
    auto const connected = read_file(run.living_tasks());
    return connected && parse_integer<int>(trim(*connected)).value_or(0) > 0;
}

Result<bool> has_ended(TrialLayout const& trial, std::uint32_t first_run) {
    DET_TRY_ASSIGN(auto const runs, list_numeric_names(trial.runs()));
    if (runs.empty() || runs.back() < first_run) return false;
    // A trial whose end is not known runs again, from its last checkpoint.
    DET_TRY_ASSIGN(auto const life, journal::salvage_journal(trial.run(runs.back()).supervisor_journal()));
    return std::any_of(life.records.begin(), life.records.end(), [](auto const& record) {
        auto const* ended = std::get_if<RunEnded>(&record);
        return ended != nullptr && ended->next_action == NextAction::stop;
    });
}

}  // namespace det::launch::supervisor
