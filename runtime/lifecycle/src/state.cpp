#include <det/foundation/text.hpp>
#include <det/lifecycle/state.hpp>

#include <algorithm>
#include <array>

namespace det::lifecycle {
namespace {

using slurm::JobState;

constexpr std::array<std::string_view, 11> names{
    "SUBMITTING", "QUEUED",    "STARTING", "RUNNING", "STOPPING_CANCELED", "STOPPING_KILLED",
    "PAUSED",     "COMPLETED", "CANCELED", "ERROR",   "INTERRUPTED"};

/// Whether the trial's last run has no recorded end, or was interrupted. A replacement is open from the
/// beginning: if its job ends without a run of it, the supervisor was killed.
bool is_open(TrialFacts const& facts) {
    if (facts.runs.empty()) return facts.is_replacement;
    auto const& last = facts.runs.back().ended;
    return !last || last->cause == Cause::interrupted;
}

bool is_to_end(DesiredState desired) {
    return desired == DesiredState::cancel || desired == DesiredState::kill;
}

State stopping_by(DesiredState desired) {
    return desired == DesiredState::kill ? State::stopping_killed : State::stopping_canceled;
}

State state_after(RunEnded const& end) {
    switch (end.cause) {
        case Cause::finished:
        case Cause::stopped_by_search:
        case Cause::invalid_hyperparameters:
            return State::completed;
        case Cause::unknown:
            return end.exit_code == 0 ? State::completed : State::error;
        case Cause::canceled:
        case Cause::idle:
            return State::canceled;
        case Cause::paused:
        case Cause::waits_for_search:
            return State::paused;
        default:
            return State::error;
    }
}

/// The state from the journals alone, for a trial that has not ended, if the queue is unknown.
State state_without_slurm(TrialFacts const& facts) {
    bool const has_begun = !facts.runs.empty() && facts.runs.back().started && !facts.runs.back().ended;
    return has_begun ? State::running : State::queued;
}

/// The state of a trial that no task has claimed, in an experiment whose tasks claim trials.
State state_of_unclaimed_trial(TrialFacts const& facts, slurm::JobStatus const& job) {
    if (job.state == JobState::canceled) return State::canceled;
    if (facts.desired == DesiredState::pause) return State::paused;
    return slurm::is_over(job.state) ? State::interrupted : State::queued;
}

State state_by_job(TrialFacts const& facts, slurm::JobStatus const& job) {
    bool const in_run = !facts.runs.empty() && !facts.runs.back().ended;
    if (facts.is_unclaimed) return state_of_unclaimed_trial(facts, job);
    switch (job.state) {
        case JobState::pending:
            return facts.desired == DesiredState::pause ? State::paused : State::queued;
        case JobState::configuring:
            return State::starting;
        case JobState::running:
        case JobState::suspended:
            return in_run && facts.runs.back().started ? State::running : State::starting;
        case JobState::completing:
            return in_run ? State::running : State::queued;  // without a run, the job has been requeued
        case JobState::canceled:
            return State::canceled;
        case JobState::timed_out:
        case JobState::failed:
        case JobState::node_failed:
            return is_open(facts) ? State::interrupted : State::error;
        default:
            return is_open(facts) ? State::interrupted : State::queued;
    }
}

}  // namespace

std::string_view to_string(State state) { return names.at(static_cast<std::size_t>(state)); }

std::optional<State> parse_state(std::string_view name) {
    auto const wanted = to_lower(name);
    auto const* const found =
        std::ranges::find_if(names, [&](auto known) { return to_lower(known) == wanted; });
    if (found == names.end()) return std::nullopt;
    return static_cast<State>(found - names.begin());
}

bool is_terminal(State state) {
    return state == State::completed || state == State::canceled || state == State::error;
}

void RunView::add(Record const& record) {
    if (auto const* start = std::get_if<RunStarted>(&record)) started = *start;
    if (auto const* end = std::get_if<RunEnded>(&record)) ended = *end;
    if (auto const* requeued = std::get_if<JobRequeued>(&record)) queued_again = requeued->time;
    if (auto const* decision = std::get_if<SearchDecision>(&record)) decisions.push_back(*decision);
    if (auto const* allocated = std::get_if<JobAllocated>(&record)) allocation = *allocated;
    if (auto const* alert = std::get_if<AlertRaised>(&record)) alerts.push_back(*alert);
}

std::vector<Record> RunView::records() const {
    std::vector<Record> records;
    if (started) records.push_back(*started);
    if (allocation) records.push_back(*allocation);
    for (auto const& decision : decisions) records.push_back(decision);
    for (auto const& alert : alerts) records.push_back(alert);
    if (ended) records.push_back(*ended);
    if (queued_again) records.push_back(JobRequeued{*queued_again});
    return records;
}

State state_of_trial(TrialFacts const& all_facts) {
    auto facts = all_facts;
    facts.runs = facts.runs.subspan(std::min(facts.first_run, facts.runs.size()));
    bool const must_end = is_to_end(facts.desired);
    if (!facts.runs.empty() && facts.runs.back().ended &&
        facts.runs.back().ended->next_action == NextAction::stop) {
        return state_after(*facts.runs.back().ended);
    }
    if (!facts.slurm_answered) return must_end ? stopping_by(facts.desired) : state_without_slurm(facts);
    if (!facts.job) {
        // Slurm does not know the job: the journals alone decide.
        if (must_end || !is_open(facts)) return State::canceled;
        return State::interrupted;
    }
    auto const state = state_by_job(facts, *facts.job);
    if (!must_end || is_terminal(state)) return state;
    // Nothing runs any more that could be stopped.
    return state == State::interrupted ? State::canceled : stopping_by(facts.desired);
}

State state_of_experiment(bool created, DesiredState desired, std::span<State const> trials) {
    if (!created) return is_to_end(desired) ? State::canceled : State::submitting;
    auto const has_any = [&](auto... wanted) {
        return std::any_of(trials.begin(), trials.end(), [&](State s) { return ((s == wanted) || ...); });
    };
    bool const all_over = !trials.empty() && std::all_of(trials.begin(), trials.end(), is_terminal);
    if (all_over) {
        bool const is_cut_short = is_to_end(desired) && has_any(State::canceled, State::error);
        if (is_cut_short) return State::canceled;
        if (has_any(State::completed)) return State::completed;
        return has_any(State::error) ? State::error : State::canceled;
    }
    for (auto const state : {State::stopping_killed, State::stopping_canceled, State::running,
                             State::starting, State::interrupted, State::queued, State::paused}) {
        if (has_any(state)) return state;
    }
    if (desired == DesiredState::pause) return State::paused;
    return is_to_end(desired) ? stopping_by(desired) : State::queued;
}

}  // namespace det::lifecycle
