#include <det/experiment/continue_experiment.hpp>
#include <det/experiment/control_experiment.hpp>
#include <det/experiment/root_directory.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/experiment/trusted_directories.hpp>
#include <det/experiment_pack/pack_lock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/list_numeric_names.hpp>
#include <det/foundation/shared_directory.hpp>
#include <det/foundation/sync_file.hpp>
#include <det/foundation/trusted_file.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/pack_summary.hpp>
#include <det/protocol/json.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

#include "make_spec.hpp"
#include "run_event_hook.hpp"
#include "write_submission_files.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using lifecycle::State;

Error wrong_state(std::string message, std::string hint = "") {
    return {codes::wrong_state, std::move(message), std::move(hint)};
}

/// A checked continuation that is not submitted yet.
struct Continuation {
    OpenExperiment experiment;
    SubmissionRequest request;  // with its code in packed_code
    std::vector<ConfigChange> changes;
    std::vector<std::uint32_t> trials;  // the trials that run again
};

struct SubmittedContinuation {
    ExperimentSpec spec;
    std::vector<ArrayJob> arrays;
};

/// The planned trials whose array tasks run these trials.
std::vector<std::uint32_t> planned_trials(tracker::history::ExperimentRecord const& record,
                                          std::vector<std::uint32_t> const& trials) {
    std::vector<std::uint32_t> planned;
    for (auto const trial : trials) planned.push_back(record.planned_trial(trial));
    return planned;
}

/// Takes a lock that one `experiment continue` at a time can hold. The kernel releases it when the process
/// ends. If the file system does not support flock, two processes may continue one experiment at the same
/// time.
Result<UniqueFd> lock_revisions(ExperimentLayout const& layout) {
    DET_TRY(make_directories(layout.revisions()));
    auto const path = layout.revisions() / "lock";
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return os_error(fmt::format("open '{}'", path.string()), errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return wrong_state("another process is continuing this experiment");
    return fd;
}

/// Reads the experiment again under the lock. codes::wrong_state if another process has continued it since it
/// was read without the lock.
Status check_unchanged(OpenExperiment const& experiment) {
    DET_TRY_ASSIGN(auto const now,
                   tracker::history::JournalHistory(experiment.root).load_experiment(experiment.id()));
    if (now.revision() == experiment.view.record.revision()) return Ok{};
    return wrong_state(
        fmt::format("another process has just continued experiment {}", experiment.id().value));
}

/// Returns a number that no revision has used. Also reads the `continued` events, because an interrupted
/// continuation may have written its event but not the new spec.json.
Result<std::uint32_t> next_revision(OpenExperiment const& experiment) {
    auto highest = experiment.view.record.revision();
    DET_TRY_ASSIGN(auto const events, journal::load_events(experiment.layout.events()));
    for (auto const& event : events) {
        auto const number = event.body->is_object() ? event.body->value("revision", Json()) : Json();
        if (number.is_number_unsigned()) highest = std::max(highest, number.get<std::uint32_t>());
    }
    return highest + 1;
}

/// Cancels the jobs and removes the directories of interrupted continuations.
Status clear_leftovers(OpenExperiment const& experiment, Context& context) {
    DET_TRY_ASSIGN(auto const numbers, list_numeric_names(experiment.layout.revisions()));
    std::set<std::uint32_t> in_force{0};
    for (auto const& revision : experiment.view.record.spec->revisions) in_force.insert(revision.number);
    for (auto const number : numbers) {
        if (in_force.contains(number)) continue;
        DET_TRY(cancel_orphan_jobs(experiment, context));
        DET_TRY(remove_tree(experiment.layout.at_revision(number).revision_path()));
    }
    return Ok{};
}

/// Links the configuration and spec.json of the original experiment into revisions/0, before the first
/// continuation replaces them.
Status keep_original(ExperimentLayout const& layout) {
    auto const original = layout.revisions() / "0";
    DET_TRY(make_directory(original));
    for (auto const& path :
         {layout.at_revision(0).submitted(), layout.at_revision(0).config(), layout.spec()}) {
        auto const kept = original / path.filename();
        if (::link(path.c_str(), kept.c_str()) != 0 && errno != EEXIST)
            return os_error(fmt::format("keep '{}' as '{}'", path.string(), kept.string()), errno);
    }
    return Ok{};
}

Status sync_files(fs::path const& directory) {
    DET_TRY_ASSIGN(auto const names, list_directory(directory));
    for (auto const& name : names) DET_TRY(sync_file(directory / name));
    DET_TRY(sync_directory(directory));
    return sync_directory(directory.parent_path());
}

ExperimentSpec next_spec(Continuation const& continuation, std::uint32_t number,
                         std::vector<ArrayJob> const& planned) {
    auto const& record = continuation.experiment.view.record;
    auto const& before = *record.spec;
    auto spec =
        make_spec(continuation.request, before.id, before.context, {before.owner, before.created}, planned);
    spec.parent = before.parent;
    spec.revisions = before.revisions;
    auto& revision = spec.revisions.emplace_back(Revision{number});
    for (auto const trial : continuation.trials)
        revision.first_runs[trial] = static_cast<std::uint32_t>(record.trials.at(trial).runs.size());
    return spec;
}

Json event_body(Continuation const& continuation, SubmittedContinuation const& continued) {
    auto body = jobs_body(continued.arrays);
    body["revision"] = continued.spec.revision();
    body["trials"] = continuation.trials;
    body["changes"] = to_json(continuation.changes);
    return body;
}

/// Does steps 1 to 4 of submit_continuation. The last one, the new spec.json, commits the continuation.
Result<SubmittedContinuation> write_revision(Continuation const& continuation,
                                             std::vector<ArrayJob> const& planned, Context& context) {
    auto const& experiment = continuation.experiment;
    DET_TRY_ASSIGN(auto const revision, next_revision(experiment));
    DET_TRY(clear_leftovers(experiment, context));
    if (experiment.view.record.revision() == 0) DET_TRY(keep_original(experiment.layout));
    auto const layout = experiment.layout.at_revision(revision);
    auto const arrays = pick_tasks(planned, planned_trials(experiment.view.record, continuation.trials));
    DET_TRY_ASSIGN(
        auto const rendered,
        render_experiment(continuation.request, layout, next_spec(continuation, revision, planned), arrays));
    DET_TRY(make_directory(layout.revision_path()));
    DET_TRY(write_submission_files(continuation.request, rendered));
    auto const text = render_spec(rendered.spec);
    DET_TRY(write_file(layout.revision_path() / layout.spec().filename(), text));
    SubmittedContinuation continued{rendered.spec, {}};
    DET_TRY_ASSIGN(continued.arrays, submit_arrays(continuation.request, rendered, context));
    DET_TRY(record_event(experiment, event_kinds::continued, event_body(continuation, continued), context));
    DET_TRY(sync_files(layout.revision_path()));
    DET_TRY(write_file(layout.spec(), text, 0600, Durability::power_loss));
    return continued;
}

/// In a shared experiment, a configuration with secrets is not.
bool is_group_readable(fs::path const& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && (info.st_mode & S_IRGRP) != 0;
}

/// Copies the revision's configuration into the experiment's directory, where users look for it, and releases
/// the jobs. May be repeated. `layout` is the layout of the revision.
Status finish_continuation(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                           Context& context) {
    for (auto const& path : {layout.submitted(), layout.config()}) {
        DET_TRY_ASSIGN(auto const text, read_trusted_file(path));
        auto const copy = layout.path() / path.filename();
        DET_TRY(is_group_readable(path) ? write_file(copy, text) : write_secret_file(copy, text));
    }
    return update_jobs(plan_release(arrays), context.slurm);
}

/// Submits a continuation in five steps:
/// 1. fill a directory revisions/<n>;
/// 2. submit jobs for these trials, held;
/// 3. append the `continued` event with the jobs' numbers;
/// 4. replace spec.json by the new one, which names the revision;
/// 5. release the jobs (finish_continuation).
/// Step 4 commits the continuation. If the process ends before it, the experiment is unchanged and
/// the next continuation cancels the jobs. If the process ends after it, finish_continuation may be repeated.
Result<SubmittedContinuation, Diagnostics> submit_continuation(Continuation const& continuation,
                                                               Context& context) {
    auto const& experiment = continuation.experiment;
    DET_TRY_ASSIGN(auto const accepted, plan_accepted_arrays(continuation.request, context));
    DET_TRY_ASSIGN(auto const pack_lock, experiment_pack::PackLock::take(experiment.layout.path(), {}));
    DET_TRY(journal::require_not_packed(experiment.layout));
    DET_TRY_ASSIGN(auto const lock, lock_revisions(experiment.layout));
    DET_TRY(check_unchanged(experiment));
    DET_TRY_ASSIGN(auto continued, write_revision(continuation, accepted.arrays, context));
    auto const layout = experiment.layout.at_revision(continued.spec.revision());
    if (auto finished = finish_continuation(layout, continued.arrays, context); !finished) {
        return std::move(finished).error().noting(
            fmt::format("experiment {0} is continued, but its jobs are "
                        "held: 'det-submit experiment activate {0}'",
                        experiment.id().value));
    }
    run_hook_for_submission(continued.spec, continued.arrays, context);
    return continued;
}

Status check_over(tracker::history::ExperimentView const& experiment) {
    auto const id = experiment.record.id.value;
    if (!experiment.record.spec || experiment.state == State::submitting) {
        return wrong_state(fmt::format("experiment {} never reached Slurm: its creation was interrupted", id),
                           fmt::format("create it again; 'det-submit experiment kill {}' ends this one", id));
    }
    if (tracker::history::attributes_of(experiment.record).is_archived) {
        return wrong_state(fmt::format("experiment {} is archived", id),
                           fmt::format("'det-submit experiment unarchive {}' comes first", id));
    }
    if (lifecycle::is_terminal(experiment.state)) return Ok{};
    bool const waits_for_user = experiment.state == State::paused || experiment.state == State::interrupted;
    return wrong_state(
        fmt::format("experiment {} has not ended: it is {}", id, to_string(experiment.state)),
        waits_for_user
            ? fmt::format("'det-submit experiment activate {}' resumes it as it is", id)
            : fmt::format("wait for its end, or end it with 'det-submit experiment cancel {}'", id));
}

/// Returns the trials that a continuation runs. codes::wrong_state if there is nothing to continue.
Result<std::vector<std::uint32_t>> plan_continuation(tracker::history::ExperimentView const& experiment) {
    DET_TRY(check_over(experiment));
    auto const id = experiment.record.id.value;
    auto const& searcher = experiment.record.spec->searcher.name;
    // The later trials of a single search are replacements of invalid trials: only the last one runs again.
    if (searcher == "single") return std::vector{experiment.trials.back().record.id.index};
    if (searcher != "grid" && searcher != "random") {
        return wrong_state(fmt::format("experiment {} has the searcher '{}': its next trials depend on those "
                                       "that have ended",
                                       id, searcher),
                           fmt::format("single, grid and random searches are continued; 'det-submit "
                                       "experiment fork {}' makes a new one",
                                       id));
    }
    std::vector<std::uint32_t> trials;
    for (auto const& trial : experiment.trials) {
        if (trial.state != State::completed) trials.push_back(trial.record.id.index);
    }
    if (!trials.empty()) return trials;
    return wrong_state(fmt::format("all trials of experiment {} have completed: nothing is left to run", id),
                       fmt::format("'det-submit experiment fork {}' makes a new one", id));
}

/// Returns true if the experiment was continued and no continued trial has begun since. The jobs of that
/// continuation may still be held.
bool has_just_been_continued(tracker::history::ExperimentView const& experiment) {
    auto const& record = experiment.record;
    if (record.revision() == 0 || experiment.state != State::queued || record.desired != DesiredState::run)
        return false;
    return std::ranges::all_of(record.spec->revisions.back().first_runs, [&](auto const& pair) {
        return record.trials.at(pair.first).runs.size() == pair.second;
    });
}

Result<SubmissionRequest, Diagnostics> prepare(OpenExperiment const& experiment,
                                               ContinueOptions const& wanted, Context& context) {
    auto const& record = experiment.view.record;
    SubmissionOptions options;
    options.sources = {experiment.layout.config(), {}, wanted.overrides};
    options.sources.secrets = experiment.layout.secrets();
    options.sources.changes = wanted.changes;
    options.is_continuation = true;
    options.packed_code = record.spec->context;
    options.parent = record.spec->parent;
    DET_TRY_ASSIGN(options.recorded_script, load_recorded_script(experiment.layout, *record.spec));
    DET_TRY_ASSIGN(auto request, make_submission_request(std::move(options), context));
    DET_TRY(require_stored_code(request));
    if (auto const& spec = *record.spec; spec.source_checkpoint)
        request.source_checkpoint = SourceCheckpoint{*spec.source_checkpoint, spec.source_checkpoint_sha256,
                                                     spec.source_checkpoint_owner};
    return request;
}

/// Finishes the last continuation again. No trial of it has begun. codes::wrong_state if the requested
/// configuration differs from that of the last continuation.
Result<ContinuedExperiment, Diagnostics> repeat(OpenExperiment experiment, ContinueOptions const& options,
                                                Context& context) {
    auto const& record = experiment.view.record;
    DET_TRY_ASSIGN(auto const request, prepare(experiment, options, context));
    if (!find_changes(*record.spec, request.config).empty()) {
        return wrong_state(
            fmt::format("experiment {} was continued already, with another configuration", record.id.value),
            fmt::format("end it with 'det-submit experiment cancel {}' first", record.id.value));
    }
    std::vector<std::uint32_t> trials;
    for (auto const& [trial, run] : record.spec->revisions.back().first_runs) trials.push_back(trial);
    auto arrays = pick_tasks(record.arrays(), planned_trials(record, trials));
    auto const revision = record.revision();
    DET_TRY(finish_continuation(experiment.layout, arrays, context));
    return ContinuedExperiment{std::move(experiment), revision, {}, std::move(trials), std::move(arrays)};
}

}  // namespace

Result<ContinuedExperiment, Diagnostics> continue_experiment(ContinueOptions const& options,
                                                             Context& context) {
    DET_TRY_ASSIGN(auto experiment, open_experiment(options.id, SlurmAnswer::required, context));
    DET_TRY(require_trusted_experiment(experiment, context));
    if (has_just_been_continued(experiment.view)) return repeat(std::move(experiment), options, context);
    DET_TRY_ASSIGN(auto trials, plan_continuation(experiment.view));
    DET_TRY_ASSIGN(auto request, prepare(experiment, options, context));
    auto const& before = *experiment.view.record.spec;
    auto changes = find_changes(before, request.config);
    auto refused = check_changes(changes);
    auto const after = make_spec(request, before.id, before.context, {}, {});
    if (before.searcher.name != "single") refused.append(check_same_trials(before, after, trials, changes));
    if (refused.has_errors()) return refused;
    Continuation continuation{std::move(experiment), std::move(request), std::move(changes),
                              std::move(trials)};
    DET_TRY_ASSIGN(auto submitted, submit_continuation(continuation, context));
    return ContinuedExperiment{std::move(continuation.experiment), submitted.spec.revision(),
                               std::move(continuation.changes), std::move(continuation.trials),
                               std::move(submitted.arrays)};
}

}  // namespace det::experiment
