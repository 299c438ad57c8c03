#include "experiment/live_status.hpp"

#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/queue/order.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <ostream>

#include "output/first_failure.hpp"
#include "output/output_style.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

using lifecycle::State;
using tracker::history::ExperimentView;
using tracker::history::TrialView;
using namespace std::chrono_literals;

constexpr auto place_interval = 30s;
constexpr auto training_interval = 1s;
constexpr int training_interval_per_cost = 10;
constexpr std::size_t failure_lines_max = 12;

double seconds_between(UtcTime begin, UtcTime end) {
    return static_cast<double>(end.microseconds - begin.microseconds) / 1e6;
}

/// The failed trial whose last run ended first; nullptr if no trial has failed.
TrialView const* find_failed_trial(ExperimentView const& view) {
    TrialView const* first = nullptr;
    for (auto const& trial : view.trials) {
        if (trial.state != State::error || trial.record.runs.empty()) continue;
        if (first == nullptr || trial.ended() < first->ended()) first = &trial;
    }
    return first;
}

}  // namespace

LiveStatus::LiveStatus(RootLayout const& root, ExperimentId id, Answer answer, Session& session)
    : root_(root), session_(session), history_(root) {
    bool const can_redraw = session.style.colour == Colour::always;
    is_live_ = can_redraw && (answer == Answer::none || session.destination == Destination::terminal);
    facts_.id = id;
    session_.before_message = [this] { clear(); };
}

LiveStatus::~LiveStatus() {
    clear();
    session_.before_message = nullptr;
}

void LiveStatus::update(ExperimentView const& view) {
    facts_ = facts_of(view);
    if (experiment::is_settled(view.state)) return clear();
    if (is_live_) {
        read_place(view);
        read_training(view);
        auto line = live_line(facts_, session_.clock.now(),
                              output_style_of(session_.environment, Destination::terminal).columns);
        if (line == drawn_) return;
        session_.err << erase_line << line << std::flush;
        drawn_ = std::move(line);
        return;
    }
    std::string change(to_string(view.state));
    for (auto const& trial : view.trials) {
        if (view.state == State::queued && trial.job) change += "\n" + trial.job->reason;
    }
    if (change == change_) return;
    change_ = std::move(change);
    read_place(view);
    session_.say(change_line(facts_));
}

void LiveStatus::clear() {
    if (!drawn_.empty()) session_.err << erase_line << std::flush;
    drawn_.clear();
}

void LiveStatus::print_result(ExperimentView const& view) {
    facts_ = facts_of(view);
    next_training_read_.reset();
    read_training(view);
    auto const started = view.started(), ended = view.ended();
    session_.say(result_line(
        facts_, started && ended ? std::optional(seconds_between(*started, *ended)) : std::nullopt));
    auto const* const failed = view.state == State::error ? find_failed_trial(view) : nullptr;
    if (failed != nullptr) print_failure(*failed);
}

void LiveStatus::print_failure(TrialView const& trial) {
    if (trial.record.runs.empty()) return;
    auto const& run = trial.record.runs.back();
    if (run.ended)
        session_.say(fmt::format("trial {}: {} ({})", to_string(trial.record.id),
                                 escape_control(run.ended->message), run.ended->cause_name()));
    auto text = last_failure_text(ExperimentLayout(root_, facts_.id), trial, failure_lines_max, session_);
    if (!text.empty() && text.back() == '\n') text.pop_back();
    if (!text.empty()) session_.say(text);
}

LiveFacts LiveStatus::facts_of(ExperimentView const& view) const {
    auto facts = facts_;  // keeps what was read before
    facts.state = view.state;
    facts.trials = view.trials.size();
    facts.ended_trials = facts.running_trials = 0;
    for (auto const& trial : view.trials) {
        if (lifecycle::is_terminal(trial.state)) ++facts.ended_trials;
        if (trial.state == State::running) ++facts.running_trials;
    }
    facts.hosts = view.trials.size() == 1 && view.trials[0].job ? view.trials[0].job->node_list : "";
    return facts;
}

void LiveStatus::read_place(ExperimentView const& view) {
    if (view.state != State::queued) {
        facts_.place.reset();
        place_read_at_.reset();
        return;
    }
    auto const now = session_.clock.steady_now();
    if (is_live_ && place_read_at_ && now - *place_read_at_ < place_interval) return;
    place_read_at_ = now;
    auto jobs = session_.slurm.query_queue({});
    if (!jobs) return;
    std::vector<std::uint32_t> own;
    for (auto const& array : view.own_arrays()) own.push_back(array.job);
    facts_.place =
        find_queue_place(queue::in_scheduling_order(*std::move(jobs), {}), own, session_.clock.now());
    if (facts_.place && experiment::hides_jobs_of_others(session_)) facts_.place->position = 0;
}

void LiveStatus::read_training(ExperimentView const& view) {
    if (view.state == State::queued || !view.record.spec) return;
    auto const begin = session_.clock.steady_now();
    if (next_training_read_ && begin < *next_training_read_) return;
    if (view.trials.size() == 1) {
        read_only_trial(view.trials[0], *view.record.spec);
    } else {
        read_search(view, *view.record.spec);
    }
    auto const end = session_.clock.steady_now();
    next_training_read_ = end + std::max<std::chrono::steady_clock::duration>(
                                    training_interval, training_interval_per_cost * (end - begin));
}

void LiveStatus::read_only_trial(TrialView const& trial, ExperimentSpec const& spec) {
    auto const runs = history_.load_reports(trial.record.id);
    if (runs && !runs->empty())
        facts_.training = progress_from_reports(*runs, trial, spec, session_.clock.now());
}

void LiveStatus::read_search(ExperimentView const& view, ExperimentSpec const& spec) {
    std::optional<MetricFact> best;
    for (auto const& trial : view.trials) {
        if (trial.record.runs.empty()) continue;
        auto const index = trial.record.id.index;
        auto value = ended_bests_.find(index);
        if (value == ended_bests_.end()) {
            auto const found = history_.load_best_validation(trial.record.id, spec);
            value = ended_bests_.insert_or_assign(index, found ? *found : std::nullopt).first;
        }
        if (auto const& validation = value->second;
            validation &&
            (!best || is_better(validation->value, best->value, spec.searcher.smaller_is_better)))
            best = MetricFact{spec.searcher.metric, validation->value, validation->steps_completed,
                              trial.record.id};
        if (!lifecycle::is_terminal(trial.state)) ended_bests_.erase(value);
    }
    auto& training = facts_.training;
    training = {};
    training.metric = best;
    auto const progress = load_search_progress(view, spec, history_);
    if (!progress) return;
    training.progress = *progress;
    training.time_left_s = extrapolate_time_left(*progress, view.started(), session_.clock.now());
}

}  // namespace det::cli
