#include "conclude.hpp"

#include <det/journal/event_log.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <unistd.h>

#include "queue_again.hpp"
#include "tidy_up.hpp"

namespace det::launch::supervisor {
namespace {

class Conclusion {
public:
    Conclusion(Assignment const& assignment, Surroundings const& around, Claims& claims,
               std::list<Lane>& lanes, JobEnd const& end)
        : assignment_(assignment), around_(around), claims_(claims), lanes_(lanes), end_(end) {}

    int execute_plan() {
        bool const paused_before = !end_.has_begun && desired_of_first() == Desired::pause;
        if (any_follows(Follow::requeue)) {
            give_back(QueueAgain::Then::start_soon);
        } else if (any_follows(Follow::requeue_held) || paused_before) {
            give_back(QueueAgain::Then::stay_held);
        } else {
            finish();
        }
        return exit_code_;
    }

private:
    /// Nothing of it goes on.
    void finish() {
        if (!end_.has_begun) around_.say("nothing is left to run here");
        if (!end_.was_noticed) tidy_up(assignment_, around_);
        if (::getppid() != end_.slurmstepd) end_job();
    }

    /// Without its slurmstepd a job's batch script ends and slurmctld does not hear of it.
    void end_job() {
        around_.say("the slurmstepd of this script is gone: the job is ended from here");
        if (auto const ended = around_.slurm.cancel(assignment_.job); !ended)
            around_.say(fmt::format("the job can't be ended: {}", ended.error().message));
    }

    bool any_follows(Follow follow) const {
        return std::any_of(lanes_.begin(), lanes_.end(), [&](auto const& lane) {
            return lane.is_judged() && lane.verdict()->follow == follow;
        });
    }

    /// Slurm that requeues a job while one of its nodes does not answer (22.05 at least) gives it no GPUs
    /// with its next nodes, so that no step begins there, and counts their GPUs as used ever after.
    bool must_be_replaced() const { return was_failed_by_slurm() || has_silent_node(); }

    /// Which Slurm itself may not have noticed yet.
    bool was_failed_by_slurm() const {
        return std::any_of(lanes_.begin(), lanes_.end(), [](auto const& lane) {
            return lane.is_judged() && lane.verdict()->follow == Follow::requeue &&
                   (lane.verdict()->cause == Cause::node_failed ||
                    lane.verdict()->cause == Cause::not_launched);
        });
    }

    bool has_silent_node() const {
        auto const nodes = around_.slurm.nodes();
        auto const hosts = expand_host_list(assignment_.hosts);
        if (!nodes || !hosts) return false;
        return std::any_of(nodes->begin(), nodes->end(), [&](auto const& node) {
            return node.is_silent() && std::find(hosts->begin(), hosts->end(), node.name) != hosts->end();
        });
    }

    Desired desired_of_first() const {
        auto const& experiment = assignment_.experiment;
        auto const of_all = journal::load_desired(experiment.desired());
        auto const of_trial = journal::load_desired(experiment.trial(assignment_.first_trial).desired());
        bool const has_own = assignment_.spec.lanes == 1;
        return stricter(of_all.value_or(Desired::run),
                        has_own ? of_trial.value_or(Desired::run) : Desired::run);
    }

    /// Gives the job back to Slurm's queue. The TERM that follows finds it blocked.
    void give_back(QueueAgain::Then then) {
        bool const by_another = must_be_replaced();
        auto const successor = queue_again(
            assignment_, {then, end_.was_completing, bad_hosts(), by_another, end_.patience}, around_);
        if (!successor) return note_refusal(successor.error());
        if (!*successor) return note_queued();
        add_to_verdicts(
            by_another ? fmt::format(" (as job {})", **successor)
                       : fmt::format("; Slurm does not queue it again: job {} takes its place", **successor));
        note(claims_.give_back_all());
    }

    void note_queued() {
        for (auto& lane : lanes_) {
            if (lane.is_judged() && lane.verdict()->follow != Follow::stop) note(lane.note_queued_again());
        }
    }

    void note_refusal(Error const& error) {
        exit_code_ = 1;
        if (error.code == codes::slurm_unreachable) {
            add_to_verdicts("; slurmctld does not answer", [](auto& verdict) {
                verdict.cause = Cause::interrupted;
                verdict.follow = Follow::left_to_slurm;
            });
        } else {
            add_to_verdicts(fmt::format("; but it could not be queued again: {}", error.message),
                            [](auto& verdict) { verdict.follow = Follow::stop; });
        }
    }

    /// Of all runs that were to go on in the queue.
    void add_to_verdicts(
        std::string const& addition,
        std::function<void(lifecycle::RunVerdict&)> const& change = [](auto&) {}) {
        for (auto& lane : lanes_) {
            if (!lane.is_judged() || lane.verdict()->follow == Follow::stop) continue;
            auto verdict = *lane.verdict();
            verdict.message += addition;
            change(verdict);
            note(lane.change_verdict(std::move(verdict)));
        }
    }

    std::vector<std::string> bad_hosts() const {
        std::vector<std::string> bad;
        for (auto const& lane : lanes_) {
            if (!lane.is_judged()) continue;
            auto const hosts = lane.bad_hosts();
            bad.insert(bad.end(), hosts.begin(), hosts.end());
        }
        return bad;
    }

    /// Of trouble with our own files: told, and the rest is done all the same.
    void note(Status const& done) {
        if (done) return;
        around_.say(fmt::format("error: {} [{}]", done.error().message, done.error().code.name));
        exit_code_ = to_int(done.error().code.exit);
    }

    Assignment const& assignment_;
    Surroundings const& around_;
    Claims& claims_;
    std::list<Lane>& lanes_;
    JobEnd const& end_;
    int exit_code_ = 0;
};

}  // namespace

int conclude(Assignment const& assignment, Surroundings const& around, Claims& claims, std::list<Lane>& lanes,
             JobEnd const& end) {
    return Conclusion(assignment, around, claims, lanes, end).execute_plan();
}

}  // namespace det::launch::supervisor
