#include <det/lifecycle/run_end.hpp>

#include <array>
#include <fmt/format.h>

namespace det::lifecycle {
namespace {

using slurm::JobState;
using slurm::JobStatus;

std::string describe_exit(RunFacts const& facts) {
    auto const exit_code = facts.step_exit_code;
    if (!facts.silent_host.empty())
        return fmt::format("was ended: nothing was heard of node {} for too long", facts.silent_host);
    if (!facts.refused_by_srun.empty()) return "was not started: " + facts.refused_by_srun;
    constexpr int signals_end = 128 + 64;  // beyond are srun's own codes
    return exit_code > 128 && exit_code <= signals_end ? fmt::format("ended by signal {}", exit_code - 128)
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
    if (facts.desired == Desired::kill) {
        return RunVerdict{Cause::canceled, Follow::stop, "the user killed it"};
    }
    if (facts.desired == Desired::cancel) {
        return RunVerdict{Cause::canceled, Follow::stop,
                          facts.was_killed ? "the user asked for its end; it did not stop in time"
                                           : "the user asked for its end"};
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

/// Exit 0 without a word about saving is the end of the training, whoever wanted what.
bool has_finished(RunFacts const& facts) {
    return facts.step_exit_code == 0 && !facts.preemption_acknowledged && !facts.was_killed;
}

std::optional<RunVerdict> if_paused(RunFacts const& facts) {
    if (facts.desired != Desired::pause || has_finished(facts)) return std::nullopt;
    if (facts.preemption_acknowledged)
        return RunVerdict{Cause::paused, Follow::requeue_held,
                          "the user paused it; the trainer saved its work"};
    if (facts.was_killed)
        return RunVerdict{Cause::paused, Follow::requeue_held, "the user paused it; it did not stop in time"};
    return RunVerdict{
        Cause::paused, Follow::requeue_held,
        fmt::format("the user paused it; the trainer {} without having saved", describe_exit(facts))};
}

std::string why_asked(RunFacts const& facts) {
    bool const in_grace = facts.job && facts.job->state == JobState::running && facts.job->preempt_time;
    if (in_grace) return "Slurm wanted the nodes";
    switch (facts.asked) {
        case Asked::time_limit:
            return "Slurm's time limit was near";
        case Asked::neighbour:
            return "the job went back to the queue for another trial in it";
        case Asked::user:
        case Asked::nothing:
            break;
    }
    return "the trainer was asked to stop";
}

std::optional<RunVerdict> if_preempted(RunFacts const& facts) {
    bool const in_grace = facts.job && facts.job->state == JobState::running && facts.job->preempt_time;
    if (facts.preemption_acknowledged) {
        // The user had wanted a pause, and then did not: the nodes are still ours.
        auto const follow =
            facts.asked == Asked::user && !in_grace ? Follow::restart_in_place : Follow::requeue;
        return RunVerdict{
            facts.asked == Asked::time_limit && !in_grace ? Cause::time_limit : Cause::preempted, follow,
            why_asked(facts) + "; the trainer saved its work"};
    }
    // Without a word of having saved it may have ended by itself: then its exit code tells.
    if ((in_grace || facts.asked == Asked::neighbour) && facts.step_exit_code != 0) {
        return RunVerdict{
            Cause::preempted, Follow::requeue,
            fmt::format("{}; the trainer {} without having saved", why_asked(facts), describe_exit(facts))};
    }
    return std::nullopt;
}

std::optional<RunVerdict> if_interrupted(RunFacts const& facts) {
    if (!facts.slurm_answered && facts.notice_received) {
        return RunVerdict{Cause::interrupted, Follow::left_to_slurm,
                          "the job was told to end and slurmctld did not say why"};
    }
    return std::nullopt;
}

constexpr std::uint32_t failures_without_progress_max = 2;  // and one more ends it

std::string on_nodes(std::vector<std::string> const& hosts) {
    return fmt::format("node{} {}", hosts.size() == 1 ? "" : "s", fmt::join(hosts, ", "));
}

// Each time Slurm takes its time: to get a node back that does not answer, or to start the job again.
constexpr std::uint32_t slurm_failures_max = 30;

/// Where the next run must not have some of the nodes.
RunVerdict without_bad_nodes(RunFacts const& facts, std::string const& what) {
    auto const& bad = facts.bad_nodes;
    auto const cause = bad.is_failure_of_trial ? Cause::failed : Cause::node_failed;
    auto const because = fmt::format("the trainer {}; {}: {}", what, bad.why, on_nodes(bad.hosts));
    if (bad.is_enough_here)
        return {cause, Follow::restart_in_place, because + "; goes on with others", bad.hosts};
    if (bad.is_enough_elsewhere)
        return {cause, Follow::requeue, because + "; queued again without", bad.hosts};
    if (bad.may_come_back && facts.slurm_failures_in_a_row < slurm_failures_max)
        return {cause, Follow::requeue, because + "; queued again", {}};
    return {cause, Follow::stop, because + "; without there are not enough nodes", bad.hosts};
}

/// Slurm gave the nodes and then no step on them, though it had before: another allocation may be better.
std::optional<RunVerdict> if_refused(RunFacts const& facts) {
    if (facts.refused_by_srun.empty() || !facts.has_begun_before) return std::nullopt;
    auto const what = "the trainer " + describe_exit(facts);
    if (facts.slurm_failures_in_a_row < slurm_failures_max)
        return RunVerdict{Cause::not_launched, Follow::requeue, what + "; queued again"};
    return RunVerdict{Cause::not_launched, Follow::stop,
                      fmt::format("{}; it was queued again {} times in a row", what, slurm_failures_max)};
}

RunVerdict by_exit_code(RunFacts const& facts) {
    if (facts.step_exit_code == 0 && facts.silent_host.empty())
        return {Cause::finished, Follow::stop, "the trainer finished"};
    auto const what = describe_exit(facts);
    bool const by_node = !facts.bad_nodes.hosts.empty() && !facts.bad_nodes.is_failure_of_trial;
    if (by_node) return without_bad_nodes(facts, what);
    if (auto refused = if_refused(facts)) return *std::move(refused);
    if (!facts.cancels_retries.empty()) {
        return {Cause::failed, Follow::stop,
                fmt::format("the trainer {}; the log policy '{}' allows no restart", what,
                            facts.cancels_retries)};
    }
    if (facts.restarts >= facts.restarts_max) {
        return {Cause::failed, Follow::stop,
                facts.restarts_max == 0
                    ? fmt::format("the trainer {}", what)
                    : fmt::format("the trainer {}; all {} restarts are used up", what, facts.restarts_max)};
    }
    if (!facts.has_progressed && facts.failures_without_progress >= failures_without_progress_max) {
        return {Cause::failed, Follow::stop,
                fmt::format("the trainer {}, {} times in a row without having saved anything new: no restart",
                            what, facts.failures_without_progress + 1)};
    }
    auto const again = fmt::format("{}; restart {} of {}", what, facts.restarts + 1, facts.restarts_max);
    if (!facts.bad_nodes.hosts.empty()) return without_bad_nodes(facts, again);
    // What is left of a lost step keeps its share of the node until the job ends.
    bool const is_blocked = facts.shares_node && !facts.silent_host.empty();
    return {Cause::failed, is_blocked ? Follow::requeue : Follow::restart_in_place, "the trainer " + again};
}

}  // namespace

std::string_view to_string(Asked asked) {
    constexpr std::array<std::string_view, 4> names{"nothing", "user", "time-limit", "neighbour"};
    return names.at(static_cast<std::size_t>(asked));
}

bool is_mine(Incarnation const& incarnation, slurm::JobStatus const& job) {
    return job.restarts == incarnation.restart_count && job.batch_host == incarnation.batch_host;
}

RunVerdict judge_run_end(RunFacts const& facts) {
    for (auto const read :
         {if_superseded, if_unwanted, if_job_ends, if_paused, if_preempted, if_interrupted}) {
        if (auto verdict = read(facts)) return *std::move(verdict);
    }
    return by_exit_code(facts);
}

}  // namespace det::lifecycle
