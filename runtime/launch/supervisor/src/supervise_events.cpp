// The events of the supervisor's loop: signals (TERM is Slurm's notice; det-submit sends URG when it has
// changed a desired state), the ends of steps (pidfds), files of the runs (inotify) and timers. For each
// event every running Lane's RunStateMachine, which is pure, returns an action, and perform() carries it out.
// If several machines want to know the job's state, Slurm is asked once.
//
// Signals and inotify events may be lost, and inotify does not see other hosts. So the files are also read at
// each periodic check, every 30 s by default, at another time in each job.
#include <det/foundation/polling.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <poll.h>
#include <utility>

#include "job_supervisor.hpp"
#include "retry_until.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto query_timeout = 6s;  // the query is repeated later
// How often the supervisor reads what the trials have reported to their search.
constexpr auto search_interval = 1s;
constexpr auto between_storage_probes = 5s;  // while the shared file system does not answer

bool is_in_grace(std::optional<slurm::JobStatus> const& job) {
    return job && job->state == slurm::JobState::running && job->preempt_time;
}

}  // namespace

/// Calls `ask` for each running lane and performs the actions; Slurm is asked once for all lanes.
template <class Ask>
void JobSupervisor::for_running_lanes(Ask ask) {
    bool must_query = false;
    for (auto& lane : lanes_) {
        if (!lane.is_running()) continue;
        auto const act = ask(lane);
        if (act == RunAction::query_job) must_query = true;
        perform(lane, act);
    }
    if (must_query) query_job();
}

void JobSupervisor::wait() {
    std::vector<pollfd> polled{{signals_.fd(), POLLIN, 0}};
    auto wake = std::min({next_check_at_, next_search_at_, next_preemption_check_at_});
    for (auto& lane : lanes_) {
        if (!lane.is_running()) continue;
        polled.push_back({lane.pidfd(), POLLIN, 0});
        polled.push_back({lane.notice_fd(), POLLIN, 0});
        polled.push_back({lane.nodes_fd(), POLLIN, 0});
        wake = std::min(wake, lane.machine().wakes_at().value_or(wake));
        wake = std::min(wake, lane.next_hang_check().value_or(wake));
        wake = std::min(wake, lane.next_refusal_check().value_or(wake));
        wake = std::min(wake, lane.next_idle_check().value_or(wake));
        wake = std::min(wake, lane.next_grow_check().value_or(wake));
    }
    ::poll(polled.data(), polled.size(), poll_timeout_ms(wake, context_.clock.steady_now()));
}

void JobSupervisor::handle_events() {
    bool const is_woken = take_signals();
    auto const now = context_.clock.steady_now();
    if (storage_answers())
        read_files(is_woken, now);
    else
        reads_late_ = reads_late_ || is_woken;
    for_running_lanes([&](Lane& lane) { return lane.look_at_nodes(now); });
    for_running_lanes([&](Lane& lane) { return lane.machine().on_time(now); });
    watch_for_preemption(now);
}

/// Takes the signals that have come, and tells the running lanes of Slurm's notice.
/// \return whether there was another signal than the notice: a desired state may have changed
bool JobSupervisor::take_signals() {
    bool has_notice = false, is_woken = false;
    while (auto const info = signals_.take()) {
        auto const number = static_cast<int>(info->ssi_signo);
        (number == SIGTERM ? has_notice : is_woken) = true;
        if (batch_job_.is_script() && number != SIGURG) signal_scripts(number);
    }
    notice_received_ = notice_received_ || has_notice;
    if (has_notice) ++notices_;
    if (has_notice) for_running_lanes([](Lane& lane) { return lane.machine().on_notice(); });
    return is_woken;
}

/// Slurm signals the batch process, which stands for the user's script.
void JobSupervisor::signal_scripts(int number) {
    for (auto& lane : lanes_) {
        if (lane.is_running()) lane.signal_script(number);
    }
}

/// At the start of a grace period Slurm signals the steps of the job, but not the batch step, in which a
/// batch script may train: Slurm is asked from time to time.
void JobSupervisor::watch_for_preemption(Time now) {
    if (now < next_preemption_check_at_) return;
    schedule_preemption_check();
    if (any_running()) query_job();
}

void JobSupervisor::schedule_preemption_check() {
    auto const notice = batch_job_.spec.notice_s;
    if (!batch_job_.is_script() || !notice || *notice == 0) return;
    auto const interval = std::clamp(std::chrono::seconds(*notice) / 6, 3s, 30s);
    next_preemption_check_at_ = context_.clock.steady_now() + interval;
}

/// Whether the files of the runs can be opened. If not, they are read later: opening one would block this
/// process, which then could not pass on a notice.
bool JobSupervisor::storage_answers() {
    auto const first = std::ranges::find_if(lanes_, &Lane::is_running);
    bool const answers = first == lanes_.end() || first->storage_answers();
    if (!answers) delay_reading();
    has_answered_ = answers;
    return answers;
}

void JobSupervisor::delay_reading() {
    if (has_answered_) context_.log("the shared file system does not answer: files are read when it does");
    for (auto& lane : lanes_) {
        if (lane.is_running()) lane.restart_heartbeats();
    }
    next_check_at_ = context_.clock.steady_now() + between_storage_probes;
    if (has_search_) next_search_at_ = next_check_at_;
}

/// Looks for requests in the files of the runs, and for what the ranks have reported.
void JobSupervisor::read_files(bool is_woken, Time now) {
    is_woken = std::exchange(reads_late_, false) || is_woken;
    bool const is_time = now >= next_check_at_;
    auto const check = is_time ? RunFileWatch::Check::periodic : RunFileWatch::Check::events;
    for_running_lanes([&](Lane& lane) {
        return lane.take_task_notice(check) ? lane.machine().on_task_notice() : RunAction::wait;
    });
    for_running_lanes([&](Lane& lane) {
        return lane.take_requeue_request(check) ? lane.machine().on_requeue_request(now) : RunAction::wait;
    });
    if (is_time) check_heartbeats(now);
    if (is_woken || is_time) {
        schedule_next_check();
        for_running_lanes([&](Lane& lane) { return lane.machine().on_desired(lane.desired(), now); });
    }
    if (is_woken || now >= next_search_at_) follow_searches(now);
    for_running_lanes([&](Lane& lane) { return lane.check_hang(now); });
    for_running_lanes([&](Lane& lane) { return lane.check_step_refusal(now); });
    for_running_lanes([&](Lane& lane) { return lane.check_idle(now); });
    for_running_lanes([&](Lane& lane) { return lane.check_grow(now); });
}

void JobSupervisor::follow_searches(Time now) {
    if (!has_search_) return;
    next_search_at_ = now + search_interval;
    for_running_lanes([](Lane& lane) { return lane.follow_search(); });
}

void JobSupervisor::check_heartbeats(Time now) {
    // If this process was itself delayed, for example by the shared file system, the age of the
    // heartbeats means nothing.
    bool const on_time = now - next_check_at_ < check_interval_ / 3;
    for_running_lanes([&](Lane& lane) {
        auto const host = lane.check_for_silent_host(on_time);
        return host ? lane.machine().on_silence(*host, now) : RunAction::wait;
    });
}

void JobSupervisor::perform(Lane& lane, RunAction act) {
    if (act == RunAction::ask_to_stop) lane.ask_to_stop();
    if (act == RunAction::show_stacks) lane.show_stacks();
    if (act == RunAction::kill) lane.kill_step();
    if (act == RunAction::cancel_step) lane.cancel_step();
    if (act == RunAction::abandon) lane.abandon_step();
    if (act == RunAction::finish_run) end_run(lane, 128 + SIGTERM);
}

void JobSupervisor::query_job() {
    auto const snapshot = query_slurm(query_timeout);
    auto const now = context_.clock.steady_now();
    auto const now_utc = context_.clock.now();
    for (auto& lane : lanes_) {
        if (!lane.is_running()) continue;
        lane.note_allocation(snapshot.job);
        if (batch_job_.is_script() && is_in_grace(snapshot.job)) lane.notify_script();
        perform(lane, lane.machine().on_job(snapshot.job, now_utc, now));
    }
}

/// Asks Slurm about the job. Once Slurm is ending it the answer does not change any more, and Slurm is
/// not asked again: many jobs may be preempted at once, and slurmctld limits the requests of a user
/// (rl_enable).
JobSnapshot JobSupervisor::query_slurm(std::chrono::seconds timeout) {
    if (ending_job_) return {true, ending_job_};
    auto job = retry_until(context_, timeout, [&] { return context_.slurm.query_job(batch_job_.job); });
    if (job && *job && lifecycle::is_ending(batch_job_.incarnation, **job)) ending_job_ = **job;
    if (job) return {true, *std::move(job)};
    context_.log(fmt::format("cannot ask Slurm about job {}: {}", slurm::to_string(batch_job_.job),
                             job.error().message));
    return {false, std::nullopt};
}

void JobSupervisor::schedule_next_check() {
    // The interval differs per job, so that an experiment's supervisors do not check at the same time.
    auto const spread = std::hash<std::string>{}(slurm::to_string(batch_job_.job)) % 100;
    next_check_at_ = context_.clock.steady_now() + check_interval_ * (90 + spread / 5) / 100;
}

}  // namespace det::launch::supervisor
