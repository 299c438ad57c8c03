#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/search/search.hpp>
#include <det/slurm/step_process.hpp>
#include <det/supervisor/resume_point.hpp>
#include <det/supervisor/run_environment.hpp>
#include <det/supervisor/supervise.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>

#include "free_port.hpp"
#include "notices.hpp"

namespace det::supervisor {
namespace {

using namespace std::chrono_literals;

// KillWait may be as short as 5 s: what the run ended by must be on disk before Slurm kills us too.
constexpr auto wait_after_notice = 3s;
constexpr int slurm_attempts_max = 3;
constexpr auto slurm_retry_pause = 2s;
// Slurm holds a requeued job back for two minutes otherwise; "now" alone is overwritten when the requeue
// completes.
constexpr auto start_after_requeue = 5s;

/// How a step ended, seen from here.
struct StepEnd {
    int exit_code = 0;
    bool notice_received = false;
    bool still_running = false;
};

/// One run of the trial: its directory, its life record, its step.
class Run {
public:
    static Result<Run> begin(Assignment const& assignment, ResumePoint const& resume, UtcTime now) {
        auto const trial = assignment.experiment.trial(assignment.trial.index);
        auto const layout = trial.run(resume.next_run);
        DET_TRY(make_directories(trial.runs()));
        DET_TRY_ASSIGN(bool const mine, make_directory(layout.path()));
        if (!mine) {
            return Error{codes::superseded, fmt::format("run {} of trial {} was begun by somebody else",
                                                        resume.next_run, to_string(assignment.trial))};
        }
        DET_TRY_ASSIGN(auto life, journal::JournalWriter::create(layout.life()));
        RunStarted const started{now,
                                 slurm::to_string(assignment.job),
                                 assignment.incarnation.restart_count,
                                 assignment.incarnation.batch_host,
                                 assignment.hosts,
                                 resume.restarts,
                                 resume.checkpoint,
                                 resume.steps_completed};
        DET_TRY(life.append(started, Durability::power_loss));
        return Run(trial, layout, resume.next_run, std::move(life));
    }

    Status end(UtcTime now, lifecycle::RunVerdict const& verdict, int exit_code) {
        return life_.append(RunEnded{now, verdict.cause, verdict.follow, exit_code, verdict.message},
                            Durability::power_loss);
    }

    bool was_acknowledged() const {
        auto const journal = journal::load_journal(layout_.journal());
        return journal &&
               std::any_of(journal->records.begin(), journal->records.end(), [](auto const& record) {
                   return std::holds_alternative<PreemptionAcknowledged>(record);
               });
    }

    /// What a launcher saw, if one did.
    std::optional<int> first_failure() const {
        auto const text = read_file(layout_.first_failure());
        return text ? parse_integer<int>(trim(*text)) : std::nullopt;
    }

    bool has_successor() const {
        auto const runs = list_runs(trial_);
        return runs && !runs->empty() && runs->back() > number_;
    }

private:
    Run(TrialLayout trial, RunLayout layout, std::uint32_t number, journal::JournalWriter life)
        : trial_(std::move(trial)), layout_(std::move(layout)), number_(number), life_(std::move(life)) {}

    TrialLayout trial_;
    RunLayout layout_;
    std::uint32_t number_;
    journal::JournalWriter life_;
};

/// Until the step has ended, or a notice came and it did not end within its time.
StepEnd watch(slurm::StepProcess& step, Notices& notices, Clock const& clock) {
    StepEnd end;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    for (;;) {
        int timeout_ms = -1;
        if (deadline) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - clock.steady_now());
            timeout_ms = static_cast<int>(std::max<std::int64_t>(0, left.count()));
        }
        pollfd polled[] = {{step.pidfd(), POLLIN, 0}, {notices.fd(), POLLIN, 0}};
        ::poll(polled, std::size(polled), timeout_ms);
        if (notices.take()) {
            end.notice_received = true;
            deadline = clock.steady_now() + wait_after_notice;
        }
        if (auto const exit_code = step.poll_exit()) {
            end.exit_code = *exit_code;
            return end;
        }
        if (deadline && clock.steady_now() >= *deadline) {
            end.still_running = true;
            end.exit_code = 128 + SIGTERM;
            return end;
        }
    }
}

/// What Slurm says of the job, if it answers at all.
struct JobSight {
    bool answered = false;
    std::optional<slurm::JobStatus> job;
};

JobSight look_at_job(slurm::JobRef const& ref, Surroundings const& around) {
    for (int attempt = 1;; ++attempt) {
        auto job = around.slurm.find_job(ref);
        if (job) return {true, *std::move(job)};
        around.say(
            fmt::format("cannot ask Slurm about job {}: {}", slurm::to_string(ref), job.error().message));
        if (attempt == slurm_attempts_max) return {false, std::nullopt};
        around.clock.sleep_for(slurm_retry_pause);
    }
}

Desired desired_of(Assignment const& assignment) {
    auto const experiment = journal::load_desired(assignment.experiment.desired());
    auto const trial = journal::load_desired(assignment.experiment.trial(assignment.trial.index).desired());
    return stricter(experiment.value_or(Desired::run), trial.value_or(Desired::run));
}

lifecycle::RunFacts gather_facts(Assignment const& assignment, ResumePoint const& resume, Run const& run,
                                 StepEnd const& end, Surroundings const& around) {
    lifecycle::RunFacts facts;
    facts.incarnation = assignment.incarnation;
    facts.step_exit_code = end.exit_code;
    facts.notice_received = end.notice_received;
    facts.preemption_acknowledged = run.was_acknowledged();
    facts.higher_run_exists = run.has_successor();
    facts.desired = desired_of(assignment);
    facts.restarts = resume.restarts;
    facts.restarts_max = assignment.spec.max_restarts;
    auto sight = look_at_job(assignment.job, around);
    facts.slurm_answered = sight.answered;
    facts.job = std::move(sight.job);
    return facts;
}

/// Gives the job back to Slurm's queue. The TERM that follows finds it blocked.
Status requeue(Assignment const& assignment, lifecycle::RunFacts const& facts, Surroundings const& around) {
    bool const completing = facts.job && facts.job->state == slurm::JobState::completing;
    auto const scope =
        completing ? slurm::SlurmClient::RequeueScope::any : slurm::SlurmClient::RequeueScope::incomplete;
    DET_TRY(around.slurm.requeue(assignment.job, scope));
    if (auto const soon = around.slurm.start_not_before(assignment.job, start_after_requeue); !soon) {
        around.say(
            fmt::format("the job starts again only after Slurm's own delay: {}", soon.error().message));
    }
    return Ok{};
}

/// One run from its beginning to its verdict, recorded and acted upon.
Result<lifecycle::RunVerdict> run_once(Assignment const& assignment, Notices& notices,
                                       Surroundings const& around) {
    auto const trial = assignment.experiment.trial(assignment.trial.index);
    checkpoint::SharedFsStore const store(assignment.spec.checkpoint_path);
    DET_TRY_ASSIGN(auto const resume, find_resume_point(trial, store));
    DET_TRY_ASSIGN(auto const draw, search::draw_trial(assignment.spec, assignment.trial.index));
    DET_TRY_ASSIGN(auto run, Run::begin(assignment, resume, around.clock.now()));
    auto const name = to_string(RunId{assignment.trial, resume.next_run});
    around.say(fmt::format("run {} begins on {} at step {}", name, assignment.hosts, resume.steps_completed));

    auto const environment =
        make_run_environment(assignment, resume, draw.seed, find_free_port(), around.environment);
    auto const argv = slurm::render_srun(make_step_request(assignment, around.wrap_rank));
    auto step = slurm::StepProcess::start(argv, environment);
    if (!step) {
        lifecycle::RunVerdict const verdict{Cause::not_launched, Follow::stop, step.error().message};
        DET_TRY(run.end(around.clock.now(), verdict, 0));
        return verdict;
    }

    auto end = watch(*step, notices, around.clock);
    if (end.exit_code != 0) end.exit_code = run.first_failure().value_or(end.exit_code);
    auto const facts = gather_facts(assignment, resume, run, end, around);
    auto verdict = lifecycle::judge_run_end(facts);
    if (verdict.cause == Cause::superseded) {  // another incarnation owns the trial now: not a word more
        around.say(fmt::format("run {}: {}", name, verdict.message));
        return verdict;
    }
    DET_TRY(run.end(around.clock.now(), verdict, end.exit_code));
    around.say(fmt::format("run {} ended: {} ({}, {})", name, verdict.message, to_string(verdict.cause),
                           to_string(verdict.follow)));
    if (verdict.follow == Follow::requeue) {
        if (auto const requeued = requeue(assignment, facts, around); !requeued) {
            verdict.follow = Follow::stop;
            verdict.message +=
                fmt::format("; but it could not be queued again: {}", requeued.error().message);
            DET_TRY(run.end(around.clock.now(), verdict, end.exit_code));
            around.say(verdict.message);
        }
    }
    if (end.still_running) step->wait();  // Slurm ends it, and us
    return verdict;
}

}  // namespace

Result<int> supervise_trial(Assignment const& assignment, Surroundings const& around) {
    DET_TRY_ASSIGN(auto notices, Notices::open());
    for (;;) {
        auto const desired = desired_of(assignment);
        if (desired == Desired::cancel || desired == Desired::kill) {
            around.say("the user asked for the end of this trial: not begun");
            return 0;
        }
        DET_TRY_ASSIGN(auto const verdict, run_once(assignment, notices, around));
        if (verdict.follow == Follow::restart_in_place) continue;
        bool const well = verdict.cause != Cause::failed && verdict.cause != Cause::not_launched;
        return well ? 0 : 1;
    }
}

}  // namespace det::supervisor
