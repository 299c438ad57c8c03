#include <det/journal/event_log.hpp>
#include <det/launch/supervisor/claims.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/task_identity.hpp>

#include <algorithm>
#include <csignal>
#include <fmt/format.h>
#include <list>
#include <poll.h>
#include <unistd.h>

#include "conclude.hpp"
#include "insist.hpp"
#include "notices.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;
using Time = RunWatch::Time;

constexpr auto patience_with_looks = 6s;  // another one comes
// What is desired lies in files; whoever changes one pokes us, and a look now and then is for a poke that was
// lost, and for nodes that are silent: so often within the time that they may be.
constexpr int looks_until_silent = 4;

/// What Slurm says of the job, if it answers at all.
struct JobSight {
    bool answered = false;
    std::optional<slurm::JobStatus> job;
};

/// The job from its first run to what becomes of it: gives lanes their trials, hears signals, steps and
/// clocks, and does what the lanes' watches say.
class JobSupervisor {
public:
    JobSupervisor(Assignment const& assignment, Surroundings const& around, Notices notices)
        : assignment_(assignment), around_(around), notices_(std::move(notices)), claims_(assignment) {
        for (int i = 0; i < assignment.lanes(); ++i) lanes_.emplace_back(assignment, around);
    }

    Result<int> run() {
        plan_next_look();
        fill_lanes();
        if (any_running()) look_at_job();
        while (any_running()) {
            wait();
            hear();
            for (auto& lane : lanes_) {
                if (!lane.is_running()) continue;
                if (auto const exit_code = lane.poll_exit()) end_run(lane, *exit_code);
            }
            fill_lanes();
        }
        if (!is_superseded_) settle_job();
        for (auto& lane : lanes_) lane.leave();  // Slurm ends what still runs, and us
        return exit_code_;
    }

private:
    bool any_running() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) { return lane.is_running(); });
    }

    void fill_lanes() {
        for (auto& lane : lanes_) {
            while (lane.is_idle() && !is_winding_up_) {
                auto const trial = claims_.take_next();
                if (!trial) return give_up(trial.error());
                if (!*trial) return;
                begin(lane, **trial);
            }
        }
    }

    void begin(Lane& lane, std::uint32_t trial) {
        has_begun_ = true;
        if (auto const begun = lane.begin(trial); !begun) return give_up(begun.error());
        if (lane.is_judged()) settle(lane);  // its step could not be started
    }

    /// Of trouble with our own files: nothing new is begun, what runs goes on.
    void give_up(Error const& error) {
        around_.say(fmt::format("error: {} [{}]", error.message, error.code.name));
        is_winding_up_ = true;
        exit_code_ = to_int(error.code.exit);
    }

    void wait() {
        std::vector<pollfd> polled{{notices_.fd(), POLLIN, 0}};
        auto wake = next_look_at_;
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            polled.push_back({lane.pidfd(), POLLIN, 0});
            wake = std::min(wake, lane.watch().wakes_at().value_or(wake));
        }
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(wake - around_.clock.steady_now());
        ::poll(polled.data(), polled.size(), static_cast<int>(std::max<std::int64_t>(0, left.count())));
    }

    void hear() {
        auto const heard = notices_.take();
        auto const now = around_.clock.steady_now();
        was_noticed_ = was_noticed_ || heard.notice;
        if (heard.notice) for_running([](Lane& lane) { return lane.watch().on_notice(); });
        bool const is_time = now >= next_look_at_;
        if (is_time) look_for_silence(now);
        if (heard.poke || is_time) {
            plan_next_look();
            for_running([&](Lane& lane) { return lane.watch().on_desired(lane.desired(), now); });
        }
        for_running([&](Lane& lane) { return lane.watch().on_time(now); });
    }

    void look_for_silence(Time now) {
        // Who was held up himself, by the file system that all share, must not wonder about others.
        bool const on_time = now - next_look_at_ < look_every_ / 3;
        for_running([&](Lane& lane) {
            auto const host = lane.find_silent_host(on_time);
            return host ? lane.watch().on_silence(*host, now) : Act::wait;
        });
    }

    /// Asks each lane's watch, then does what they say: Slurm is asked once for all of them.
    template <class Ask>
    void for_running(Ask ask) {
        bool look = false;
        for (auto& lane : lanes_) {
            if (!lane.is_running()) continue;
            auto const act = ask(lane);
            if (act == Act::look_at_job) look = true;
            perform(lane, act);
        }
        if (look) look_at_job();
    }

    void perform(Lane& lane, Act act) {
        if (act == Act::ask_to_stop) lane.ask_to_stop();
        if (act == Act::kill) lane.kill_step();
        if (act == Act::abandon) lane.abandon_step();
        if (act == Act::judge) end_run(lane, 128 + SIGTERM);
    }

    void look_at_job() {
        auto const sight = see_job(patience_with_looks);
        auto const now = around_.clock.steady_now();
        auto const now_utc = around_.clock.now();
        for (auto& lane : lanes_) {
            if (lane.is_running()) perform(lane, lane.watch().on_job(sight.job, now_utc, now));
        }
    }

    JobSight see_job(std::chrono::seconds patience) {
        auto job = insist(around_, patience, [&] { return around_.slurm.find_job(assignment_.job); });
        if (job) return {true, *std::move(job)};
        around_.say(fmt::format("cannot ask Slurm about job {}: {}", slurm::to_string(assignment_.job),
                                job.error().message));
        return {false, std::nullopt};
    }

    void end_run(Lane& lane, int exit_code) {
        auto const sight = see_job(patience());
        if (auto const judged = lane.judge(exit_code, sight.job, sight.answered); !judged)
            give_up(judged.error());
        if (!lane.is_judged()) return lane.leave();  // nobody can say why it ended
        was_completing_ = sight.job && sight.job->state == slurm::JobState::completing;
        settle(lane);
    }

    /// What the verdict on a lane's run means for the lane and for the job.
    void settle(Lane& lane) {
        auto const& verdict = *lane.verdict();
        auto const trial = lane.id().trial.index;
        switch (verdict.follow) {
            case Follow::restart_in_place:
                lane.clear_step();
                lane.leave();
                if (!is_winding_up_) begin(lane, trial);
                return;
            case Follow::stop:
                if (verdict.cause == Cause::failed || verdict.cause == Cause::not_launched) exit_code_ = 1;
                // Where its step goes on Slurm ends the job, and where none can be started the next can't
                // either.
                if (verdict.cause != Cause::not_launched && lane.poll_exit()) return lane.leave();
                break;
            case Follow::requeue_held:
                if (assignment_.spec.lanes > 1 && desired_of_all() != Desired::pause) return set_aside(lane);
                break;
            case Follow::requeue:
                for_neighbours(lane);
                break;
            case Follow::left_to_slurm:
                if (verdict.cause == Cause::superseded) abandon();
                break;
        }
        is_winding_up_ = true;
    }

    /// One of several trials is paused: the others go on, and it waits for whoever is free once it is wanted.
    void set_aside(Lane& lane) {
        auto const trial = lane.id().trial.index;
        lane.leave();
        if (auto const given = claims_.give_back(trial); !given) give_up(given.error());
    }

    /// The job runs elsewhere: our ranks stop, and we touch nothing more.
    void abandon() {
        is_superseded_ = true;
        for (auto& lane : lanes_) {
            if (!lane.is_idle()) lane.kill_step();
        }
    }

    void for_neighbours(Lane const& but) {
        auto const now = around_.clock.steady_now();
        for (auto& lane : lanes_) {
            if (&lane != &but && lane.is_running()) perform(lane, lane.watch().on_neighbour(now));
        }
    }

    Desired desired_of_all() const {
        return journal::load_desired(assignment_.experiment.desired()).value_or(Desired::run);
    }

    void settle_job() {
        int const failure = conclude(assignment_, around_, claims_, lanes_,
                                     {has_begun_, was_noticed_, was_completing_, slurmstepd_, patience()});
        if (failure != 0) exit_code_ = failure;
    }

    /// Once Slurm ends the job there are KillWait seconds left to write down how it ends; 30 by default.
    std::chrono::seconds patience() const { return was_noticed_ ? 20s : 120s; }

    void plan_next_look() {
        // Not all supervisors of a large experiment at the same time.
        auto const spread = std::hash<std::string>{}(slurm::to_string(assignment_.job)) % 100;
        next_look_at_ = around_.clock.steady_now() + look_every_ * (90 + spread / 5) / 100;
    }

    Assignment const& assignment_;
    Surroundings const& around_;
    std::chrono::milliseconds const look_every_ =
        silence_limit([this](auto name) { return around_.environment.find(name); }) / looks_until_silent;
    pid_t const slurmstepd_ = ::getppid();
    Notices notices_;
    Claims claims_;
    std::list<Lane> lanes_;
    Time next_look_at_;
    bool has_begun_ = false;
    bool is_winding_up_ = false;   // nothing new is begun in this job
    bool is_superseded_ = false;   // the job runs elsewhere: it is not ours to touch
    bool was_noticed_ = false;     // Slurm's TERM came
    bool was_completing_ = false;  // Slurm was ending the job when we last looked
    int exit_code_ = 0;
};

}  // namespace

Result<int> supervise_trials(Assignment const& assignment, Surroundings const& around) {
    DET_TRY_ASSIGN(auto notices, Notices::open());
    return JobSupervisor(assignment, around, std::move(notices)).run();
}

}  // namespace det::launch::supervisor
