#include "submit_continuation.hpp"

#include <det/experiment/continue_experiment.hpp>
#include <det/experiment/root.hpp>
#include <det/experiment/submit_arrays.hpp>
#include <det/experiment/update_jobs.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/numbered.hpp>
#include <det/foundation/sync.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/render/script.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <set>
#include <sys/file.h>
#include <unistd.h>

#include "make_spec.hpp"

namespace det::experiment {
namespace {

namespace fs = std::filesystem;
using lifecycle::State;

Error wrong_state(std::string message, std::string hint = "") {
    return {codes::wrong_state, std::move(message), std::move(hint)};
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
    DET_TRY_ASSIGN(auto const numbers, list_numbers(experiment.layout.revisions()));
    std::set<std::uint32_t> in_force{0};
    for (auto const& revision : experiment.view.record.spec->revisions) in_force.insert(revision.number);
    for (auto const number : numbers) {
        if (in_force.contains(number)) continue;
        DET_TRY(cancel_orphan_jobs(experiment, context));
        DET_TRY(remove_tree(experiment.layout.at(number).own_path()));
    }
    return Ok{};
}

/// Links the configuration and spec.json of the original experiment into revisions/0, before the first
/// continuation replaces them.
Status keep_original(ExperimentLayout const& layout) {
    auto const original = layout.revisions() / "0";
    DET_TRY(make_directory(original));
    for (auto const& path : {layout.at(0).submitted(), layout.at(0).config(), layout.spec()}) {
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

ExperimentSpec next_spec(Continuation const& continuation, std::uint32_t number) {
    auto const& record = continuation.experiment.view.record;
    auto const& before = *record.spec;
    auto spec = make_spec(continuation.request, before.id, before.context, {before.owner, before.created});
    spec.parent = before.parent;
    spec.revisions = before.revisions;
    auto& revision = spec.revisions.emplace_back(Revision{number});
    for (auto const trial : continuation.trials)
        revision.first_runs[trial] = static_cast<std::uint32_t>(record.trials.at(trial).runs.size());
    spec.sbatch_options =
        render::command_line_options(continuation.request.plan, continuation.experiment.layout,
                                     job_comment(continuation.experiment.root, before.id));
    return spec;
}

Json event_body(Continuation const& continuation, SubmittedContinuation const& continued) {
    auto body = jobs_body(continued.arrays);
    body["revision"] = continued.revision;
    body["trials"] = continuation.trials;
    body["changes"] = to_json(continuation.changes);
    return body;
}

/// Does steps 1 to 4 of submit_continuation. The last one, the new spec.json, commits the continuation.
Result<SubmittedContinuation> write_revision(Continuation const& continuation, Context& context) {
    auto const& experiment = continuation.experiment;
    SubmittedContinuation continued;
    DET_TRY_ASSIGN(continued.revision, next_revision(experiment));
    DET_TRY(clear_leftovers(experiment, context));
    if (experiment.view.record.revision() == 0) DET_TRY(keep_original(experiment.layout));
    auto const layout = experiment.layout.at(continued.revision);
    auto const spec = next_spec(continuation, continued.revision);
    DET_TRY(make_directory(layout.own_path()));
    DET_TRY(write_configuration(continuation.request, layout));
    auto const text = render_spec(spec);
    DET_TRY(write_file(layout.own_path() / layout.spec().filename(), text));
    auto const arrays = pick_tasks(plan_arrays(continuation.request), continuation.trials);
    DET_TRY_ASSIGN(continued.arrays, submit_arrays(continuation.request, layout, spec, arrays, context));
    DET_TRY(record_event(experiment, event_kinds::continued, event_body(continuation, continued), context));
    DET_TRY(sync_files(layout.own_path()));
    DET_TRY(write_file(layout.spec(), text, 0600, Durability::power_loss));
    return continued;
}

}  // namespace

Result<SubmittedContinuation, Diagnostics> submit_continuation(Continuation const& continuation,
                                                               Context& context) {
    auto const& experiment = continuation.experiment;
    DET_TRY(check_with_slurm(continuation.request, context));
    DET_TRY_ASSIGN(auto const lock, lock_revisions(experiment.layout));
    DET_TRY(check_unchanged(experiment));
    DET_TRY_ASSIGN(auto continued, write_revision(continuation, context));
    auto const layout = experiment.layout.at(continued.revision);
    if (auto finished = finish_continuation(layout, continued.arrays, context); !finished) {
        return std::move(finished).error().noting(
            fmt::format("experiment {0} is continued, but its jobs are "
                        "held: 'det-submit experiment activate {0}'",
                        experiment.id().value));
    }
    return continued;
}

Status finish_continuation(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                           Context& context) {
    for (auto const& path : {layout.submitted(), layout.config()}) {
        DET_TRY_ASSIGN(auto const text, read_file(path));
        DET_TRY(write_file(layout.path() / path.filename(), text));
    }
    return update_jobs(plan_release(arrays), context.slurm);
}

Status cancel_orphan_jobs(OpenExperiment const& experiment, Context& context) {
    DET_TRY_ASSIGN(auto const jobs, context.slurm.queue({user_name(context.environment), {}, false}));
    auto const known = experiment.view.record.arrays();
    auto const comment = job_comment(experiment.root, experiment.id());
    std::set<std::uint32_t> strays;
    for (auto const& job : jobs) {
        bool const is_known = std::ranges::find(known, job.ref.job, &ArrayJob::job) != known.end();
        if (job.comment == comment && !slurm::is_over(job.state) && !is_known) strays.insert(job.ref.job);
    }
    std::vector<JobUpdate> steps;
    for (auto const job : strays) steps.push_back({JobUpdate::Kind::cancel_job, {job, {}}});
    return update_jobs(steps, context.slurm);
}

}  // namespace det::experiment
