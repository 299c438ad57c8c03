#include "requeue_job.hpp"

#include <det/foundation/text.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/host_list.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include "retry_until.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using slurm::SlurmClient;
using NewJob = std::optional<std::uint32_t>;

/// The nodes to exclude as a host list; empty if the job's list need not change.
std::string excluded_nodes(BatchJob const& batch_job, std::vector<std::string> const& bad_hosts) {
    if (bad_hosts.empty()) return "";
    auto const& before = batch_job.spec.excluded_nodes;
    return before.empty() ? compress_host_list(bad_hosts) : before + "," + compress_host_list(bad_hosts);
}

Status request_requeue(BatchJob const& batch_job, RequeueRequest const& request, SlurmClient& slurm) {
    if (request.start == RequeueRequest::Start::held) return slurm.requeue_held(batch_job.job);
    auto const scope =
        request.is_completing ? SlurmClient::RequeueScope::any : SlurmClient::RequeueScope::incomplete;
    return slurm.requeue(batch_job.job, scope);
}

/// The value of the last `--NAME=VALUE` among the options; empty if there is none.
std::string_view find_option(std::vector<std::string> const& options, std::string_view name) {
    std::string_view found;
    for (std::string_view const option : options) {
        bool const is_named = option.starts_with("--") && option.substr(2).starts_with(name);
        if (is_named && option.substr(2 + name.size()).starts_with("="))
            found = option.substr(2 + name.size() + 1);
    }
    return found;
}

/// "MINUTES", "MINUTES:SECONDS", "HOURS:MINUTES:SECONDS", "DAYS-HOURS", "DAYS-HOURS:MINUTES" or
/// "DAYS-HOURS:MINUTES:SECONDS"; nullopt: another text, for example UNLIMITED.
std::optional<std::chrono::seconds> parse_submitted_limit(std::string_view text) {
    auto const dash = text.find('-');
    bool const has_days = dash != text.npos;
    auto const days = has_days ? parse_integer<std::uint32_t>(text.substr(0, dash)) : 0u;
    auto const parts = split(has_days ? text.substr(dash + 1) : text, ':');
    if (!days || parts.size() > 3) return std::nullopt;
    std::chrono::seconds limit = std::chrono::days(*days);
    std::chrono::seconds unit = has_days || parts.size() == 3 ? 3600s : 60s;
    for (auto const part : parts) {
        auto const number = parse_integer<std::uint32_t>(part);
        if (!number) return std::nullopt;
        limit += *number * unit;
        unit = unit == 3600s ? 60s : 1s;
    }
    return limit;
}

/// The time limit with which Slurm has started this execution of the job, as it says in the environment.
std::optional<std::chrono::seconds> limit_at_start(Environment const& environment) {
    auto const start = parse_integer<std::int64_t>(environment.find("SLURM_JOB_START_TIME").value_or(""));
    auto const end = parse_integer<std::int64_t>(environment.find("SLURM_JOB_END_TIME").value_or(""));
    if (!start || !end) return std::nullopt;
    return std::chrono::seconds(*end - *start);
}

Status delay_start(slurm::JobRef const& job, RequeueRequest const& request,
                   SupervisorContext const& context) {
    auto soon = context.slurm.start_not_before(job, request.delay);
    if (!soon) context.log(fmt::format("the job may start two minutes later: {}", soon.error().message));
    return soon;
}

/// Slurm answers `scontrol requeue Incomplete` with success, and does nothing, if the job has just ended.
Status check_is_queued(slurm::JobRef const& job, SlurmClient& slurm) {
    auto const found = slurm.query_job(job);
    if (!found || (*found && !slurm::is_over((*found)->state))) return Ok{};
    return Error{codes::slurm_refused, fmt::format("Slurm did not queue the job again: it is {}",
                                                   *found ? (*found)->state_text : "gone")};
}

Status prepare_start(BatchJob const& batch_job, RequeueRequest const& request,
                     SupervisorContext const& context) {
    if (auto const nodes = excluded_nodes(batch_job, request.bad_hosts); !nodes.empty()) {
        if (auto const changed = context.slurm.update_job(batch_job.job, {.excluded_nodes = nodes}); !changed)
            context.log(fmt::format("Slurm may give it the same nodes again: {}", changed.error().message));
    }
    restore_time_limit(batch_job, context);
    if (request.start == RequeueRequest::Start::held) return check_is_queued(batch_job.job, context.slurm);
    // Slurm refuses to change the start of a job that has ended: one more query is needed only in this case.
    auto const delayed = delay_start(batch_job.job, request, context);
    bool const is_refused = !delayed && delayed.error().code == codes::slurm_refused;
    return is_refused ? check_is_queued(batch_job.job, context.slurm) : Ok{};
}

/// Whether Slurm shows this incarnation of the job as running or being preempted. False also if Slurm does
/// not answer.
bool still_owns_job(BatchJob const& batch_job, SlurmClient& slurm) {
    auto const job = slurm.query_job(batch_job.job);
    if (!job || !*job || !lifecycle::is_same_incarnation(batch_job.incarnation, **job)) return false;
    bool const is_preempted = (*job)->preempt_time && (*job)->state == slurm::JobState::completing;
    return (*job)->state == slurm::JobState::running || is_preempted;
}

Result<std::optional<ArrayJob>> find_own_array(BatchJob const& batch_job) {
    DET_TRY_ASSIGN(auto const events, journal::load_events(batch_job.experiment.events()));
    for (auto& array : array_jobs_of(events_in_force(events, batch_job.spec))) {
        bool const is_own = array.job == batch_job.job.job && (batch_job.job.task || array.is_plain_job);
        if (is_own) return std::optional(array);
    }
    return std::optional<ArrayJob>();
}

Result<std::uint32_t> submit_new_job(BatchJob const& batch_job, ArrayJob array, RequeueRequest const& request,
                                     SupervisorContext const& context) {
    array.tasks = {batch_job.job.task.value_or(0)};  // a plain job is replaced by an array of one task
    array.running_max = 0;
    slurm::SubmitContext const submit_context{batch_job.spec.owner + "@" + batch_job.incarnation.batch_host,
                                              context.environment, context.clock};
    DET_TRY_ASSIGN(auto const next,
                   slurm::resubmit_tasks(batch_job.experiment, batch_job.spec,
                                         {std::move(array), excluded_nodes(batch_job, request.bad_hosts)},
                                         submit_context, context.slurm));
    return next.job;
}

Status release_new_job(std::uint32_t job, RequeueRequest const& request, SupervisorContext const& context) {
    if (request.start == RequeueRequest::Start::held) return Ok{};
    // If this fails, the job only starts later: delay_start() logs the error.
    if (request.by_new_job) (void)delay_start({job, {}}, request, context);
    return context.slurm.release({job, {}});
}

/// Submits a new job for the array task. Returns nullopt if that failed: then the job must be requeued.
Result<NewJob> replace_job(BatchJob const& batch_job, RequeueRequest const& request,
                           SupervisorContext const& context) {
    auto const array = find_own_array(batch_job);
    if (!array || !*array || !still_owns_job(batch_job, context.slurm)) return NewJob();
    auto const job = submit_new_job(batch_job, **array, request, context);
    if (!job) {
        context.log(fmt::format("another job can't take its place: {}", job.error().message));
        return NewJob();
    }
    DET_TRY(release_new_job(*job, request, context));  // once the new job exists it owns the task
    return NewJob(*job);
}

}  // namespace

// A user may not raise the limit of a running job, but that of a job that is COMPLETING after a requeue or
// waits, up to the limit of its partition (measured with 22.05.8, 24.11.5 and 26.05).
void restore_time_limit(BatchJob const& batch_job, SupervisorContext const& context) {
    auto const& options = batch_job.spec.sbatch_options;
    auto const limit = find_option(options, "time");
    if (limit.empty() || find_option(options, "time-min").empty()) return;
    // It was not shortened: what it is now is what its user or an operator has made it.
    auto const submitted = parse_submitted_limit(limit);
    auto const at_start = limit_at_start(context.environment);
    if (submitted && at_start && *at_start >= *submitted) return;
    auto const changed = context.slurm.update_job(batch_job.job, {.time_limit = std::string(limit)});
    if (!changed)
        context.log(fmt::format("the job keeps its shorter time limit: {}", changed.error().message));
}

Result<NewJob> requeue_job(BatchJob const& batch_job, RequeueRequest const& request,
                           SupervisorContext const& context) {
    if (request.by_new_job) {
        DET_TRY_ASSIGN(auto const job, replace_job(batch_job, request, context));
        if (job) return job;
    }
    auto const asked = retry_until(context, request.timeout,
                                   [&] { return request_requeue(batch_job, request, context.slurm); });
    if (asked) {
        DET_TRY(prepare_start(batch_job, request, context));
        return NewJob();
    }
    auto const& refusal = asked.error();
    if (refusal.code != codes::slurm_refused || !still_owns_job(batch_job, context.slurm)) return refusal;
    DET_TRY_ASSIGN(auto const array, find_own_array(batch_job));
    if (!array) return refusal;
    DET_TRY_ASSIGN(auto const job, submit_new_job(batch_job, *array, request, context));
    DET_TRY(release_new_job(job, request, context));
    return NewJob(job);
}

}  // namespace det::launch::supervisor
