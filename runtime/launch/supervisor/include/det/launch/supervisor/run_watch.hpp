#pragma once
#include <det/foundation/clock.hpp>
#include <det/lifecycle/run_end.hpp>
#include <det/protocol/desired.hpp>
#include <det/slurm/job.hpp>

#include <chrono>
#include <optional>
#include <string>

namespace det::launch::supervisor {

/// What a supervisor does about a run now.
enum class Act {
    wait,
    look_at_job,  // and tells on_job what it saw
    ask_to_stop,  // its ranks: to save their work and end
    kill,         // its step
    abandon,      // its step, which did not end when it was killed
    judge,        // it is over for us, though its step has not ended: Slurm will end it
};

/// One run between its start and its end: what has happened to it, and what the supervisor has to do about
/// it. Pure: times and events in, acts out. The end of the step is no event here: it is judged at once,
/// whatever came before.
class RunWatch {
public:
    using Time = std::chrono::steady_clock::time_point;

    explicit RunWatch(std::chrono::seconds preemption_timeout) : preemption_timeout_(preemption_timeout) {}

    Act on_desired(Desired desired, Time now);
    /// Slurm's TERM came to the supervisor itself: the job ends, for whatever reason.
    Act on_notice();
    /// A node has not been heard of for too long.
    Act on_silence(std::string const& host, Time now);
    /// The job goes back to the queue for another trial's sake.
    Act on_neighbour(Time now);
    /// What Slurm shows of the job; nothing where it does not answer, or does not know it.
    Act on_job(std::optional<slurm::JobStatus> const& job, UtcTime now_utc, Time now);
    /// Once `wakes_at` has come.
    Act on_time(Time now);

    std::optional<Time> wakes_at() const;
    lifecycle::Asked asked() const { return asked_; }
    bool was_killed() const { return was_killed_; }
    std::string const& silent_host() const { return silent_host_; }
    bool notice_received() const { return notice_received_; }

private:
    Act ask(lifecycle::Asked why);
    Act kill(Time now);
    void mind_time_limit(slurm::JobStatus const& job, UtcTime now_utc, Time now);

    std::chrono::seconds preemption_timeout_;
    lifecycle::Asked asked_ = lifecycle::Asked::nothing;
    bool was_killed_ = false;
    std::string silent_host_;
    bool notice_received_ = false;
    std::optional<Time> kill_at_, abandon_at_, judge_at_, limit_near_at_;
};

/// How long before its time limit a job saves its work and goes back to the queue: a tenth of the limit,
/// between half a minute and five.
std::chrono::seconds time_limit_margin(std::chrono::seconds limit);

}  // namespace det::launch::supervisor
