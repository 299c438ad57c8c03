#pragma once
#include <det/launch/supervisor/supervise.hpp>
#include <det/sampler/trial_queue.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "ask_sampler.hpp"
#include "claims.hpp"

namespace det::launch::supervisor {

/// The trials that a job trains if the sampler of its search sets lengths (runtime/sampler/PROTOCOL.md,
/// Lengths): each is claimed for one run, until it has trained to its length. Not thread-safe.
class WantedTrials {
public:
    /// All of them must outlive this object.
    WantedTrials(BatchJob const& batch_job, SupervisorContext const& context, Claims& claims)
        : batch_job_(batch_job), context_(context), claims_(claims) {}

    /// A trial that is claimed.
    struct Next {
        std::uint32_t trial = 0;
        std::optional<TrialBeginning> beginning = {};  // nullopt: no step may start
    };
    /// Asks the sampler what is to be asked, and claims a trial that it wants to train. nullopt if there is
    /// none now, or if the job ends meanwhile. Blocks as choose_beginning().
    /// \param refusal why no step may start: then the sampler is not asked, and each trial is claimed once to
    ///     record its end. Empty: steps may
    /// \return errors of the experiment's files, and of a sampler that does not say what follows a run
    Result<std::optional<Next>> claim_next(std::string const& refusal, Meanwhile const& meanwhile);
    /// Whether claim_next() is to be called: it found nothing a while ago, or a trial.
    bool is_time() const { return context_.clock.steady_now() >= next_look_at_; }
    /// A run of this job has ended: claim_next() is to be called.
    void look_at_once() { next_look_at_ = {}; }

    /// What a job does that runs no trial.
    enum class Idle { ends, waits, goes_back_to_queue };
    /// After a minute without a trial, and at a notice of Slurm, the job goes back to the queue, so that it
    /// keeps no nodes for nothing. It ends if the jobs that have claimed the trials have ended: their
    /// supervisors were killed, and `activate` gives their trials to other jobs.
    Idle judge_idle(bool has_notice);

private:
    enum class Claimed { wanted, outdated, before_its_time };

    Result<std::optional<std::uint32_t>> claim_refused();
    Result<std::optional<Next>> claim_wanted(Meanwhile const& meanwhile);
    Status ask_open_questions(Meanwhile const& meanwhile);
    Result<sampler::TrialQueue> load_queue() const;
    bool has_live_claimant() const;
    Result<Claimed> choose(Next& next, Meanwhile const& meanwhile) const;

    using Time = std::chrono::steady_clock::time_point;
    BatchJob const& batch_job_;
    SupervisorContext const& context_;
    Claims& claims_;
    Time next_look_at_{};
    std::optional<Time> idle_since_;
    std::vector<slurm::JobRef> claimants_;  // of the trials that are wanted, at the last look
    bool may_follow_ = false;  // other tasks run trials, or what is to be done is known at the next look
};

}  // namespace det::launch::supervisor
