#include "continue_experiment.hpp"

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
#include "root.hpp"
#include "submission.hpp"
#include "tell_jobs.hpp"

namespace det::cli {
namespace {

namespace fs = std::filesystem;
using lifecycle::State;

Error wrong_state(std::string message, std::string hint = "") {
    return {codes::wrong_state, std::move(message), std::move(hint)};
}

Status check_over(tracker::history::ExperimentView const& experiment) {
    auto const id = experiment.record.id.value;
    if (!experiment.record.spec || experiment.state == State::submitting) {
        return wrong_state(
            fmt::format("experiment {} never reached Slurm: its creation was cut off", id),
            fmt::format("create it again; 'det-submit experiment kill {}' puts this one away", id));
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
            ? fmt::format("'det-submit experiment activate {}' lets it go on as it is", id)
            : fmt::format("wait for its end, or end it with 'det-submit experiment cancel {}'", id));
}

/// Held by one `experiment continue` at a time; whoever dies lets go of it. Where a file system has no such
/// locks nothing stands between two people at the same experiment in the same second.
Result<UniqueFd> lock_revisions(ExperimentLayout const& layout) {
    DET_TRY(make_directories(layout.revisions()));
    auto const path = layout.revisions() / "lock";
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!fd) return os_error(fmt::format("open '{}'", path.string()), errno);
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return wrong_state("somebody else continues this experiment just now");
    return fd;
}

/// What was found before the lock was taken must still hold.
Status check_unchanged(OpenExperiment const& experiment) {
    DET_TRY_ASSIGN(auto const now,
                   tracker::history::JournalHistory(experiment.root).load_experiment(experiment.id()));
    if (now.revision() == experiment.view.record.revision()) return Ok{};
    return wrong_state(fmt::format("somebody else has just continued experiment {}", experiment.id().value));
}

/// No number twice, also of those that were cut off: their events are there.
Result<std::uint32_t> next_revision(OpenExperiment const& experiment) {
    auto highest = experiment.view.record.revision();
    DET_TRY_ASSIGN(auto const events, journal::load_events(experiment.layout.events()));
    for (auto const& event : events) {
        auto const number = event.body->is_object() ? event.body->value("revision", Json()) : Json();
        if (number.is_number_unsigned()) highest = std::max(highest, number.get<std::uint32_t>());
    }
    return highest + 1;
}

/// What continuations left that never were in force.
Status clear_leftovers(OpenExperiment const& experiment, Session& session) {
    DET_TRY_ASSIGN(auto const numbers, list_numbers(experiment.layout.revisions()));
    std::set<std::uint32_t> in_force{0};
    for (auto const& revision : experiment.view.record.spec->revisions) in_force.insert(revision.number);
    for (auto const number : numbers) {
        if (in_force.contains(number)) continue;
        DET_TRY(cancel_strays(experiment, session));
        DET_TRY(remove_tree(experiment.layout.at(number).own_path()));
    }
    return Ok{};
}

/// The files that people look at, as they were before the first continuation.
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
    auto spec = make_spec(continuation.creation, before.id, before.context, {before.owner, before.created});
    spec.parent = before.parent;
    spec.revisions = before.revisions;
    auto& revision = spec.revisions.emplace_back(Revision{number});
    for (auto const trial : continuation.trials)
        revision.first_runs[trial] = static_cast<std::uint32_t>(record.trials.at(trial).runs.size());
    spec.sbatch_options =
        render::command_line_options(continuation.creation.plan, continuation.experiment.layout,
                                     job_comment(continuation.experiment.root, before.id));
    return spec;
}

Json event_body(Continuation const& continuation, ContinuedExperiment const& continued) {
    auto body = jobs_body(continued.arrays);
    body["revision"] = continued.revision;
    body["trials"] = continuation.trials;
    body["changes"] = to_json(continuation.changes);
    return body;
}

/// Up to the moment at which the experiment is continued.
Result<ContinuedExperiment> put_in_force(Continuation const& continuation, Session& session) {
    auto const& experiment = continuation.experiment;
    ContinuedExperiment continued;
    DET_TRY_ASSIGN(continued.revision, next_revision(experiment));
    DET_TRY(clear_leftovers(experiment, session));
    if (experiment.view.record.revision() == 0) DET_TRY(keep_original(experiment.layout));
    auto const layout = experiment.layout.at(continued.revision);
    auto const spec = next_spec(continuation, continued.revision);
    DET_TRY(make_directory(layout.own_path()));
    DET_TRY(write_configuration(continuation.creation, layout));
    auto const text = render_spec(spec);
    DET_TRY(write_file(layout.own_path() / layout.spec().filename(), text));
    auto const arrays = pick_tasks(planned_arrays(continuation.creation), continuation.trials);
    DET_TRY_ASSIGN(continued.arrays, submit_arrays(continuation.creation, layout, spec, arrays, session));
    DET_TRY(record_event(experiment, event_kinds::continued, event_body(continuation, continued), session));
    DET_TRY(sync_files(layout.own_path()));
    DET_TRY(write_file(layout.spec(), text, 0600, Durability::power_loss));
    return continued;
}

}  // namespace

Result<std::vector<std::uint32_t>> plan_continuation(tracker::history::ExperimentView const& experiment) {
    DET_TRY(check_over(experiment));
    auto const id = experiment.record.id.value;
    auto const& searcher = experiment.record.spec->searcher.name;
    if (searcher == "single") return std::vector<std::uint32_t>{0};
    if (searcher != "grid" && searcher != "random") {
        return wrong_state(
            fmt::format("experiment {} has the searcher '{}': what it would do next depends on "
                        "trials that have ended",
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

bool has_just_been_continued(tracker::history::ExperimentView const& experiment) {
    auto const& record = experiment.record;
    if (record.revision() == 0 || experiment.state != State::queued || record.desired != Desired::run)
        return false;
    return std::ranges::all_of(record.spec->revisions.back().first_runs, [&](auto const& pair) {
        return record.trials.at(pair.first).runs.size() == pair.second;
    });
}

Result<ContinuedExperiment, Diagnostics> continue_experiment(Continuation const& continuation,
                                                             Session& session) {
    auto const& experiment = continuation.experiment;
    DET_TRY(ask_slurm_first(continuation.creation, session));
    DET_TRY_ASSIGN(auto const lock, lock_revisions(experiment.layout));
    DET_TRY(check_unchanged(experiment));
    DET_TRY_ASSIGN(auto continued, put_in_force(continuation, session));
    auto const layout = experiment.layout.at(continued.revision);
    if (auto finished = finish_continuation(layout, continued.arrays, session); !finished) {
        return std::move(finished).error().noting(
            fmt::format("experiment {0} is continued, but its jobs are "
                        "held: 'det-submit experiment activate {0}'",
                        experiment.id().value));
    }
    return continued;
}

Status finish_continuation(ExperimentLayout const& layout, std::vector<ArrayJob> const& arrays,
                           Session& session) {
    for (auto const& path : {layout.submitted(), layout.config()}) {
        DET_TRY_ASSIGN(auto const text, read_file(path));
        DET_TRY(write_file(layout.path() / path.filename(), text));
    }
    return tell_jobs(plan_release(arrays), session.slurm);
}

Status cancel_strays(OpenExperiment const& experiment, Session& session) {
    DET_TRY_ASSIGN(auto const jobs, session.slurm.queue({user_name(session.environment), {}, false}));
    auto const known = experiment.view.record.arrays();
    auto const comment = job_comment(experiment.root, experiment.id());
    std::set<std::uint32_t> strays;
    for (auto const& job : jobs) {
        bool const is_known = std::ranges::find(known, job.ref.job, &ArrayJob::job) != known.end();
        if (job.comment == comment && !slurm::is_over(job.state) && !is_known) strays.insert(job.ref.job);
    }
    std::vector<JobStep> steps;
    for (auto const job : strays) steps.push_back({JobStep::Kind::cancel_job, {job, {}}});
    return tell_jobs(steps, session.slurm);
}

}  // namespace det::cli
