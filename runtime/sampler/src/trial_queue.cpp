#include <det/sampler/trial_queue.hpp>

#include <algorithm>
#include <map>

namespace det::sampler {
namespace {

/// What the sampler has decided about a trial.
struct Decided {
    bool has_begun = false, is_closed = false, is_exit_answered = false;
    std::uint64_t lengths = 0, waits_answered = 0;
};

/// What the sampler has decided about all trials.
struct AllDecided {
    std::map<std::uint32_t, Decided> trials;
    std::uint32_t begun = 0, can_begin = 1;  // the first question is asked before any answer
    bool is_stopped = false;

    explicit AllDecided(Decisions const& decisions) {
        for (auto const& each : decisions.all) add(each);
    }

private:
    void add(Decision const& decision) {
        auto const& answer = decision.answer;
        auto& trial = trials[decision.trial];
        if (decision.question == Question::trained) ++trial.waits_answered;
        if (decision.question == Question::exited) trial.is_exit_answered = true;
        if (answer.hyperparameters) {
            trial.has_begun = true;
            ++begun;
        }
        for (auto const& [index, length] : answer.lengths) ++trials[index].lengths;
        for (auto const index : answer.close) trials[index].is_closed = true;
        for (auto const index : answer.prune) trials[index].is_closed = true;
        if (answer.can_begin) can_begin = *answer.can_begin;
        is_stopped = is_stopped || answer.stop;
    }
};

void add_trial(TrialQueue& queue, TrialReport const& report, Decided const& decided) {
    using enum TrialProgress;
    bool const is_closed = decided.is_closed || queue.is_stopped;
    if (has_ended(report.progress)) {
        bool const is_early = report.progress != completed && report.progress != stopped;
        if (is_early && !is_closed && !decided.is_exit_answered)
            queue.questions.push_back({Question::exited, report.trial});
    } else if (report.waits > decided.waits_answered && !is_closed) {
        queue.questions.push_back({Question::trained, report.trial});
    } else if (is_closed || decided.lengths > report.waits) {
        queue.ready.push_back(report.trial);
    }
}

}  // namespace

TrialQueue find_trials_to_train(SamplerState const& state, std::uint32_t trial_count,
                                std::function<bool(std::uint32_t)> const& is_wanted) {
    AllDecided const decided(state.decisions);
    TrialQueue queue;
    queue.is_stopped = decided.is_stopped;
    // Trials that train on come first: they are nearer to their end than those that begin.
    for (auto const& report : state.trials) add_trial(queue, report, decided.trials.at(report.trial));
    auto may_begin = decided.can_begin > decided.begun ? decided.can_begin - decided.begun : 0;
    if (queue.is_stopped) may_begin = trial_count;  // they end without a step
    for (std::uint32_t trial = 0; trial < trial_count && may_begin > 0; ++trial) {
        auto const found = decided.trials.find(trial);
        if (found != decided.trials.end() && found->second.has_begun) continue;
        if (!is_wanted(trial)) continue;  // the next one begins in its place
        queue.ready.push_back(trial);
        --may_begin;
    }
    return queue;
}

}  // namespace det::sampler
