#include <det/lifecycle/run_end.hpp>

#include <fmt/format.h>

namespace det::lifecycle {
namespace {

using slurm::JobState;
using slurm::JobStatus;

std::string describe_exit(int exit_code) {
    return exit_code > 128 ? fmt::format("ended by signal {}", exit_code - 128)
                           : fmt::format("ended with exit code {}", exit_code);
}

// Each reads one kind of fact and gives a verdict, or nothing where it does not apply.

std::optional<RunVerdict> if_superseded(RunFacts const& facts) {
    if (facts.higher_run_exists) {
        return RunVerdict{Cause::superseded, Follow::left_to_slurm, "a newer run of this trial exists"};
    }
    // A requeue that Slurm made itself has counted the restart already while this run still ends.
    bool const requeued_under_us = facts.job && facts.job->state == JobState::completing &&
                                   facts.job->restarts == facts.incarnation.restart_count + 1;
    if (facts.job && !requeued_under_us && !is_mine(facts.incarnation, *facts.job)) {
        return RunVerdict{
            Cause::superseded, Follow::left_to_slurm,
            fmt::format("the job runs again on '{}': this incarnation was cut off", facts.job->batch_host)};
    }
    return std::nullopt;
}

std::optional<RunVerdict> if_unwanted(RunFacts const& facts) {
    if (facts.desired == Desired::cancel || facts.desired == Desired::kill) {
        return RunVerdict{Cause::canceled, Follow::stop, "the user asked for its end"};
    }
    return std::nullopt;
}

std::optional<RunVerdict> if_job_ends(RunFacts const& facts) {
    if (!facts.job || facts.job->state != JobState::completing) return std::nullopt;
    JobStatus const& job = *facts.job;
    if (job.reason == "TimeLimit") {
        return RunVerdict{Cause::time_limit, Follow::stop, "Slurm's time limit came"};
    }
    if (!job.end_time) {
        return RunVerdict{Cause::preempted, Follow::left_to_slurm,
                          "Slurm wanted the nodes and has requeued the job"};
    }
    if (job.preempt_time) {
        return RunVerdict{Cause::preempted, Follow::requeue, "Slurm wanted the nodes"};
    }
    // It also completes while its own batch script does: only a notice says that somebody ended it.
    if (facts.notice_received) {
        return RunVerdict{Cause::canceled, Follow::stop, "the job was cancelled in Slurm"};
    }
    return std::nullopt;
}

std::optional<RunVerdict> if_preempted(RunFacts const& facts) {
    bool const in_grace = facts.job && facts.job->state == JobState::running && facts.job->preempt_time;
    if (facts.preemption_acknowledged) {
        return RunVerdict{Cause::preempted, Follow::requeue,
                          in_grace ? "Slurm wanted the nodes; the trainer saved its work"
                                   : "the trainer was asked to stop and saved its work"};
    }
    if (in_grace && facts.step_exit_code != 0) {
        return RunVerdict{Cause::preempted, Follow::requeue,
                          fmt::format("Slurm wanted the nodes; the trainer {} without having saved",
                                      describe_exit(facts.step_exit_code))};
    }
    return std::nullopt;
}

std::optional<RunVerdict> if_interrupted(RunFacts const& facts) {
    if (!facts.slurm_answered && facts.notice_received) {
        return RunVerdict{Cause::canceled, Follow::left_to_slurm,
                          "the job was told to end and slurmctld did not say why"};
    }
    return std::nullopt;
}

RunVerdict by_exit_code(RunFacts const& facts) {
    if (facts.step_exit_code == 0) return {Cause::finished, Follow::stop, "the trainer finished"};
    auto const what = describe_exit(facts.step_exit_code);
    if (facts.restarts < facts.restarts_max) {
        return {
            Cause::failed, Follow::restart_in_place,
            fmt::format("the trainer {}; restart {} of {}", what, facts.restarts + 1, facts.restarts_max)};
    }
    return {Cause::failed, Follow::stop,
            facts.restarts_max == 0
                ? fmt::format("the trainer {}", what)
                : fmt::format("the trainer {}; all {} restarts are used up", what, facts.restarts_max)};
}

}  // namespace

bool is_mine(Incarnation const& incarnation, slurm::JobStatus const& job) {
    return job.restarts == incarnation.restart_count && job.batch_host == incarnation.batch_host;
}

RunVerdict judge_run_end(RunFacts const& facts) {
    for (auto const read : {if_superseded, if_unwanted, if_job_ends, if_preempted, if_interrupted}) {
        if (auto verdict = read(facts)) return *std::move(verdict);
    }
    return by_exit_code(facts);
}

}  // namespace det::lifecycle
