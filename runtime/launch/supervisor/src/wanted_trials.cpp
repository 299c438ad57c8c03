// A look for a trial has three steps, each of which may find that another task was faster:
// 1. The sampler is asked about each run that has trained to its length and each trial that has ended. The
//    lock of the sampler and the numbers of its decisions let one task record each answer.
// 2. The task claims the first trial that the sampler wants to train and no other task has claimed.
// 3. After the claim, it reads again whether the trial is still to be trained: another task may have trained
//    it, and given up its claim, since step 1. That task records the end of its run before it gives up the
//    claim, so the second reading sees it.
// If this process is killed in between, the claim is that of a job that has ended, and `activate` takes it.
#include "wanted_trials.hpp"

#include <det/sampler/state.hpp>

#include <algorithm>
#include <numeric>

#include "repeat_write.hpp"

namespace det::launch::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto look_interval = 2s;
constexpr auto idle_max = 60s;

bool is_given_up(Error const& error) { return error.code == codes::interrupted; }

}  // namespace

Result<std::optional<WantedTrials::Next>> WantedTrials::claim_next(std::string const& refusal,
                                                                   Meanwhile const& meanwhile) {
    next_look_at_ = context_.clock.steady_now() + look_interval;
    std::optional<Next> next;
    if (refusal.empty()) {
        DET_TRY_ASSIGN(next, claim_wanted(meanwhile));
    } else {
        DET_TRY_ASSIGN(auto const trial, claim_refused());
        if (trial) next = Next{*trial, {}};
    }
    if (next) {
        idle_since_.reset();
        look_at_once();  // for another lane
    }
    return next;
}

Result<std::optional<std::uint32_t>> WantedTrials::claim_refused() {
    std::vector<std::uint32_t> all(batch_job_.spec.trial_count);
    std::iota(all.begin(), all.end(), 0);
    DET_TRY_ASSIGN(auto const found,
                   repeat_write(context_, AtNotice::give_up, [&] { return claims_.claim_first_of(all); }));
    may_follow_ = false;
    return found.trial;
}

Result<std::optional<WantedTrials::Next>> WantedTrials::claim_wanted(Meanwhile const& meanwhile) {
    std::optional<Next> const none;
    may_follow_ = true;
    claimants_.clear();
    auto const asked = ask_open_questions(meanwhile);
    if (!asked && is_given_up(asked.error())) return none;
    if (!asked) return asked.error();
    DET_TRY_ASSIGN(auto const queue, load_queue());
    DET_TRY_ASSIGN(auto const found, repeat_write(context_, AtNotice::give_up,
                                                  [&] { return claims_.claim_first_of(queue.ready); }));
    claimants_ = found.claimants;
    if (!found.trial) {
        may_follow_ = !claimants_.empty() || !queue.questions.empty();
        return none;
    }
    Next next{*found.trial};
    auto const claimed = choose(next, meanwhile);
    bool const goes_on = meanwhile();  // the job may have to end since the sampler was asked
    if (claimed && *claimed == Claimed::wanted && goes_on) return std::optional(std::move(next));
    DET_TRY(repeat_write(context_, AtNotice::give_up, [&] { return claims_.release(next.trial); }));
    if (!claimed && is_given_up(claimed.error())) return none;
    if (!claimed) return claimed.error();
    if (*claimed == Claimed::outdated) look_at_once();
    if (*claimed == Claimed::before_its_time && claimants_.empty()) {
        DET_TRY_ASSIGN(auto const after, load_queue());
        may_follow_ = !after.questions.empty();
        if (!may_follow_)
            context_.log("the sampler waits before it begins a trial, but no trial trains: the job ends");
    }
    return none;
}

Status WantedTrials::ask_open_questions(Meanwhile const& meanwhile) {
    for (;;) {  // ends: each turn is an answer to a run that has ended
        DET_TRY_ASSIGN(auto const queue, load_queue());
        if (queue.questions.empty()) return Ok{};
        DET_TRY(repeat_write(context_, AtNotice::give_up, [&] {
            return ask_what_follows(batch_job_, context_, queue.questions.front(), meanwhile);
        }));
    }
}

Result<sampler::TrialQueue> WantedTrials::load_queue() const {
    return repeat_write(context_, AtNotice::give_up, [&]() -> Result<sampler::TrialQueue> {
        DET_TRY_ASSIGN(auto const state, sampler::load_state(batch_job_.experiment, batch_job_.spec));
        return sampler::find_trials_to_train(state, batch_job_.spec.trial_count, [&](auto trial) {
            return batch_job_.desired(trial) == DesiredState::run;
        });
    });
}

/// Whether a trial that is claimed now is to be trained. If it has not begun, the sampler is asked: it may
/// have no hyperparameters for it yet, or no length.
Result<WantedTrials::Claimed> WantedTrials::choose(Next& next, Meanwhile const& meanwhile) const {
    auto const is_ready = [&]() -> Result<bool> {
        DET_TRY_ASSIGN(auto const queue, load_queue());
        return std::ranges::find(queue.ready, next.trial) != queue.ready.end();
    };
    DET_TRY_ASSIGN(bool const was_ready, is_ready());
    if (!was_ready) return Claimed::outdated;
    DET_TRY_ASSIGN(next.beginning, repeat_write(context_, AtNotice::give_up, [&] {
                       return choose_beginning(batch_job_, context_, next.trial, meanwhile);
                   }));
    if (next.beginning->waits) return Claimed::before_its_time;
    if (!next.beginning->failure.empty()) return Claimed::wanted;  // its run records the failure
    DET_TRY_ASSIGN(bool const has_length, is_ready());
    return has_length ? Claimed::wanted : Claimed::outdated;
}

WantedTrials::Idle WantedTrials::judge_idle(bool has_notice) {
    if (!may_follow_ || batch_job_.desired() != DesiredState::run) return Idle::ends;
    auto const now = context_.clock.steady_now();
    if (!idle_since_) idle_since_ = now;
    if (has_notice) return Idle::goes_back_to_queue;
    if (now < *idle_since_ + idle_max) return Idle::waits;
    if (has_live_claimant()) return Idle::goes_back_to_queue;
    context_.log("the jobs that have claimed the trials have ended without giving them up: this job ends");
    return Idle::ends;
}

/// Whether a job that has claimed a trial may still train it, as far as Slurm answers. Without a claim, the
/// last look was cut short.
bool WantedTrials::has_live_claimant() const {
    return claimants_.empty() || std::ranges::any_of(claimants_, [&](auto const& claimant) {
               auto const job = context_.slurm.query_job(claimant);
               return !job || (*job && !slurm::is_over((*job)->state));
           });
}

}  // namespace det::launch::supervisor
