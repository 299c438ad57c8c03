#include "queue_again.hpp"

#include <det/journal/event_log.hpp>
#include <det/protocol/host_list.hpp>
#include <det/slurm/submit_array.hpp>

#include "insist.hpp"

namespace det::launch::supervisor {
namespace {

using slurm::SlurmClient;
using Successor = std::optional<std::uint32_t>;

// Slurm holds a requeued job back for two minutes otherwise; "now" alone is overwritten when the requeue
// completes.
constexpr std::chrono::seconds start_after_requeue{5};

/// A host list; empty where nothing is to change.
std::string excluded_nodes(Assignment const& assignment, std::vector<std::string> const& bad_hosts) {
    if (bad_hosts.empty()) return "";
    auto const& before = assignment.spec.excluded_nodes;
    return before.empty() ? compress_host_list(bad_hosts) : before + "," + compress_host_list(bad_hosts);
}

Status ask_slurm(Assignment const& assignment, QueueAgain const& how, SlurmClient& slurm) {
    if (how.then == QueueAgain::Then::stay_held) return slurm.requeue_held(assignment.job);
    auto const scope =
        how.slurm_ends_it ? SlurmClient::RequeueScope::any : SlurmClient::RequeueScope::incomplete;
    return slurm.requeue(assignment.job, scope);
}

void start_after_a_while(slurm::JobRef const& job, Surroundings const& around) {
    if (auto const soon = around.slurm.start_not_before(job, start_after_requeue); !soon)
        around.say(fmt::format("the job starts when Slurm likes: {}", soon.error().message));
}

void prepare_start(Assignment const& assignment, QueueAgain const& how, Surroundings const& around) {
    if (auto const nodes = excluded_nodes(assignment, how.bad_hosts); !nodes.empty()) {
        if (auto const told = around.slurm.change(assignment.job, {.excluded_nodes = nodes}); !told)
            around.say(fmt::format("Slurm may give it the same nodes again: {}", told.error().message));
    }
    if (how.then == QueueAgain::Then::stay_held) return;
    start_after_a_while(assignment.job, around);
}

/// Nobody has ended it, and it was not given to another node.
bool is_still_ours(Assignment const& assignment, SlurmClient& slurm) {
    auto const job = slurm.find_job(assignment.job);
    if (!job || !*job || !lifecycle::is_mine(assignment.incarnation, **job)) return false;
    bool const makes_room = (*job)->preempt_time && (*job)->state == slurm::JobState::completing;
    return (*job)->state == slurm::JobState::running || makes_room;
}

Result<std::optional<ArrayJob>> find_own_array(Assignment const& assignment) {
    DET_TRY_ASSIGN(auto const events, journal::load_events(assignment.experiment.events()));
    for (auto& array : array_jobs_of(events_in_force(events, assignment.spec))) {
        if (array.job == assignment.job.job && assignment.job.task) return std::optional(array);
    }
    return std::optional<ArrayJob>();
}

Result<std::uint32_t> succeed(Assignment const& assignment, ArrayJob array, QueueAgain const& how,
                              Surroundings const& around) {
    array.tasks = {*assignment.job.task};
    array.running_max = 0;
    slurm::SubmitContext const context{assignment.spec.owner + "@" + assignment.incarnation.batch_host,
                                       around.environment, around.clock};
    DET_TRY_ASSIGN(auto const next,
                   slurm::resubmit_tasks(assignment.experiment, assignment.spec,
                                         {std::move(array), excluded_nodes(assignment, how.bad_hosts)},
                                         context, around.slurm));
    return next.job;
}

Status let_start(std::uint32_t job, QueueAgain const& how, Surroundings const& around) {
    if (how.then == QueueAgain::Then::stay_held) return Ok{};
    if (how.by_another_job) start_after_a_while({job, {}}, around);
    return around.slurm.release({job, {}});
}

/// Nothing where the job itself has to be queued again all the same.
Result<Successor> make_room_for_another(Assignment const& assignment, QueueAgain const& how,
                                        Surroundings const& around) {
    auto const array = find_own_array(assignment);
    if (!array || !*array || !is_still_ours(assignment, around.slurm)) return Successor();
    auto const job = succeed(assignment, **array, how, around);
    if (!job) {
        around.say(fmt::format("another job can't take its place: {}", job.error().message));
        return Successor();
    }
    DET_TRY(let_start(*job, how, around));  // once it is there the task is its own
    return Successor(*job);
}

}  // namespace

Result<Successor> queue_again(Assignment const& assignment, QueueAgain const& how,
                              Surroundings const& around) {
    if (how.by_another_job) {
        DET_TRY_ASSIGN(auto const job, make_room_for_another(assignment, how, around));
        if (job) return job;
    }
    auto const asked = insist(around, how.patience, [&] { return ask_slurm(assignment, how, around.slurm); });
    if (asked) {
        prepare_start(assignment, how, around);
        return Successor();
    }
    auto const& refusal = asked.error();
    if (refusal.code != codes::slurm_refused || !is_still_ours(assignment, around.slurm)) return refusal;
    DET_TRY_ASSIGN(auto const array, find_own_array(assignment));
    if (!array) return refusal;
    DET_TRY_ASSIGN(auto const job, succeed(assignment, *array, how, around));
    DET_TRY(let_start(job, how, around));
    return Successor(job);
}

}  // namespace det::launch::supervisor
