// Questions about running trials cost a process each, and read the journals of all running trials. So all
// supervisors of an experiment together ask about once a second while up to 300 trials run and report. With
// more, each trial asks every 300 s.
#include "sampler_follower.hpp"

#include <det/protocol/json.hpp>
#include <det/sampler/answer.hpp>
#include <det/sampler/request.hpp>
#include <det/sampler/state.hpp>

#include <algorithm>
#include <fmt/format.h>

#include "ask_sampler.hpp"

namespace det::launch::supervisor {
namespace {

constexpr std::chrono::seconds decisions_interval{5};  // between two looks for a prune
constexpr std::chrono::seconds question_interval_min{5}, question_interval_max{300};

/// What a trial has done when the sampler is asked about it.
std::string_view describe_event(sampler::Question question) {
    using enum sampler::Question;
    if (question == trained) return "had trained to its length";
    if (question == exited) return "had ended";
    return question == begin ? "began" : "reported";
}

bool asks_at_reports(ExperimentSpec const& spec) {
    auto const found = spec.searcher.options->find("prune");
    return found != spec.searcher.options->end() && *found == Json(true);
}

std::chrono::seconds question_interval(std::vector<sampler::TrialReport> const& trials) {
    auto const running =
        std::ranges::count(trials, sampler::TrialProgress::running, &sampler::TrialReport::progress);
    return std::clamp(std::chrono::seconds(running), question_interval_min, question_interval_max);
}

}  // namespace

SamplerFollower::SamplerFollower(BatchJob const& batch_job, SupervisorContext const& context,
                                 RunRecord const& record)
    : batch_job_(batch_job),
      context_(context),
      trial_(record.id().trial.index),
      may_ask_(asks_at_reports(batch_job.spec)),
      space_(search::parse_space(batch_job.spec.hyperparameters).value_or(search::Space())),
      reports_(record.layout().chief_journal()) {}

Status SamplerFollower::follow(RunRecord const& record) {
    if (!end_.empty()) return Ok{};
    if (program_) DET_TRY(take_answer(record));  // first: it must not run past its time
    DET_TRY(look_for_decisions());
    if (!end_.empty()) program_.reset();
    if (!may_ask_ || !end_.empty()) return Ok{};
    DET_TRY(look_for_reports());
    return !program_ && has_reported_ && context_.clock.steady_now() >= next_question_at_ ? ask()
                                                                                          : Status(Ok{});
}

Status SamplerFollower::look_for_decisions() {
    auto const now = context_.clock.steady_now();
    if (now < next_look_at_) return Ok{};
    next_look_at_ = now + decisions_interval;
    reports_.close_file();  // the chief may write on another node
    DET_TRY_ASSIGN(auto const decision, sampler::find_prune(batch_job_.experiment, trial_));
    if (decision)
        end_ = fmt::format("the sampler has pruned it when trial {} {}", decision->trial,
                           describe_event(decision->question));
    return Ok{};
}

Status SamplerFollower::look_for_reports() {
    DET_TRY_ASSIGN(auto const records, reports_.read_new());
    for (auto const& record : records) {
        auto const* metrics = std::get_if<MetricsReported>(&record);
        has_reported_ = has_reported_ || (metrics != nullptr && metrics->group == "validation");
    }
    return Ok{};
}

Status SamplerFollower::ask() {
    if (!may_ask_now(batch_job_, context_)) return Ok{};  // the next call tries again
    has_reported_ = false;
    next_question_at_ = context_.clock.steady_now() + question_interval_min;
    DET_TRY_ASSIGN(auto state, sampler::load_state(batch_job_.experiment, batch_job_.spec));
    next_question_at_ = context_.clock.steady_now() + question_interval(state.trials);
    DET_TRY_ASSIGN(auto const settings, prepare_sampler(batch_job_, context_));
    auto const request = sampler::render_request(
        batch_job_.spec, state.trials, {sampler::Question::report, trial_}, state.decisions.find_state());
    DET_TRY_ASSIGN(auto program, sampler::SamplerProgram::start(settings, request));
    program_.emplace(std::move(program));
    auto const unreadable = sampler::describe_unreadable(state.trials);
    if (!unreadable.empty() && unreadable != unreadable_) context_.log(unreadable);
    unreadable_ = unreadable;
    asked_from_ = std::move(state);
    return Ok{};
}

/// Records the answer if the sampler has given one and it prunes trials. This run, if it is one of them, ends
/// when it finds the recorded decision.
Status SamplerFollower::take_answer(RunRecord const& record) {
    auto const output = program_->poll();
    if (!output) return Ok{};
    (void)keep_sampler_errors(batch_job_, trial_, program_->errors());
    program_.reset();
    if (!*output) return output->error();
    DET_TRY_ASSIGN(auto answer, sampler::parse_answer(**output, sampler::Question::report, space_));
    sampler::keep_new_prunes(answer, asked_from_);
    if (answer.prune.empty() || record.has_newer_run().value_or(true)) return Ok{};
    sampler::Decision const decision{context_.clock.now(), slurm::to_string(batch_job_.job),
                                     sampler::Question::report, trial_, std::move(answer)};
    DET_TRY_ASSIGN(bool const is_recorded,
                   sampler::record_decision(batch_job_.experiment, asked_from_.decisions, decision));
    if (!is_recorded) has_reported_ = true;  // another decision came first: it is asked again
    next_look_at_ = {};
    return Ok{};
}

}  // namespace det::launch::supervisor
