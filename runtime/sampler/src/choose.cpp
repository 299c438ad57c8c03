#include <det/protocol/json.hpp>
#include <det/sampler/answer.hpp>
#include <det/sampler/choose.hpp>
#include <det/sampler/state.hpp>
#include <det/sampler/trial_queue.hpp>
#include <det/search/search.hpp>

#include <algorithm>
#include <utility>

namespace det::sampler {
namespace {

/// The decision that needs no question: it is recorded, or the search begins no further trial.
std::optional<Beginning> find_recorded(Decisions const& decisions, std::uint32_t trial) {
    bool const is_pruned = decisions.find_prune(trial) != nullptr;
    if (auto const* begin = decisions.find_begin(trial)) return Beginning{*begin, is_pruned};
    for (auto const& each : decisions.all) {
        if (each.answer.stop) return Beginning{each, is_pruned};
    }
    return std::nullopt;
}

Result<Answer> ask_about(Asker const& asker, SamplerState const& state, Request const& request,
                         search::Space const& space) {
    if (auto const unreadable = describe_unreadable(state.trials); !unreadable.empty()) asker.log(unreadable);
    DET_TRY_ASSIGN(auto const output, asker.ask(render_request(asker.spec, state.trials, request,
                                                               state.decisions.find_state())));
    return parse_answer(output, request.question, space, search::sampler_sets_lengths(asker.spec.searcher));
}

/// Asks and records until the question has an answer: returns what `find` finds in the state, or makes of an
/// answer.
template <class Find, class Take>
std::invoke_result_t<Take const&, Decision, Decisions const&> decide(Asker const& asker,
                                                                     Request const& request, Find const& find,
                                                                     Take const& take) {
    auto const space = search::parse_space(asker.spec.hyperparameters);
    if (!space) return space.error().front().error;
    std::optional<std::size_t> waited_at;  // the number of decisions when this process last waited
    for (;;) {  // ends: each further turn is another decision of the experiment, or tries_again()
        DET_TRY_ASSIGN(auto const state, load_state(asker.experiment, asker.spec));
        if (auto const found = find(state)) return *found;
        // Others may decide while this process waits. While they do, it waits on.
        auto const count = state.decisions.all.size();
        if (std::exchange(waited_at, count) != count && asker.wait_for_turn()) continue;
        auto answer = ask_about(asker, state, request, *space);
        if (!answer) {
            if (!asker.tries_again(answer.error())) return answer.error();
            waited_at.reset();
            continue;
        }
        keep_new_prunes(*answer, state);
        Decision decision{asker.now(), asker.job, request.question, request.trial, *std::move(answer)};
        if (decision.answer.waits) return take(std::move(decision), state.decisions);
        DET_TRY_ASSIGN(bool const is_recorded, record_decision(asker.experiment, state.decisions, decision));
        if (is_recorded) return take(std::move(decision), state.decisions);
    }
}

}  // namespace

Result<Beginning> choose_hyperparameters(Asker const& asker, std::uint32_t trial) {
    return decide(
        asker, {Question::begin, trial},
        [&](SamplerState const& state) { return find_recorded(state.decisions, trial); },
        [&](Decision decision, Decisions const& before) -> Result<Beginning> {
            auto const& prune = decision.answer.prune;
            bool const is_pruned =
                std::ranges::find(prune, trial) != prune.end() || before.find_prune(trial) != nullptr;
            return Beginning{std::move(decision), is_pruned};
        });
}

Status answer_question(Asker const& asker, Request const& request) {
    return decide(
        asker, request,
        [&](SamplerState const& state) -> std::optional<Status> {
            auto const open = find_trials_to_train(state, asker.spec.trial_count).questions;
            bool const is_open = std::ranges::find(open, request) != open.end();
            return is_open ? std::nullopt : std::optional(Status(Ok{}));
        },
        [](Decision const&, Decisions const&) { return Status(Ok{}); });
}

}  // namespace det::sampler
