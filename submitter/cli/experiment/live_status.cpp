#include "experiment/live_status.hpp"

#include <det/experiment/cluster_facts.hpp>
#include <det/experiment/open_experiment.hpp>
#include <det/protocol/compare_metrics.hpp>
#include <det/protocol/json_number.hpp>
#include <det/queue/order.hpp>
#include <det/search/training_length.hpp>
#include <det/tracker/history/progress.hpp>

#include <algorithm>
#include <ostream>
#include <ranges>

#include "experiment/describe_search.hpp"
#include "output/first_failure.hpp"
#include "output/output_style.hpp"
#include "output/trial_text.hpp"

namespace det::cli {
namespace {

using lifecycle::State;
using tracker::history::ExperimentView;
using tracker::history::RunReports;
using tracker::history::TrialView;
using namespace std::chrono_literals;

constexpr auto place_interval = 30s;
constexpr auto training_interval = 1s;
constexpr int training_interval_per_cost = 10;
constexpr std::size_t failure_lines_max = 12;
constexpr double extrapolated_progress_min = 0.02;

std::optional<MetricFact> find_last_value(std::vector<RunReports> const& runs, std::string const& name) {
    for (auto const* group : {"validation", "training"}) {
        for (auto const& run : runs | std::views::reverse) {
            for (auto const& report : run.metrics | std::views::reverse) {
                if (report.group != group || run.is_superseded(report)) continue;
                auto const found = report.metrics->find(name);
                if (found == report.metrics->end()) continue;
                if (auto const value = number_from_json(*found))
                    return MetricFact{name, *value, report.steps_completed, {}};
            }
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> total_steps(ExperimentSpec const& spec) {
    auto const length = search::find_training_length(spec.searcher.options);
    if (!length || !length->time_metric.empty()) return std::nullopt;
    return search::to_batches(length->value, length->unit,
                              search::read_batch_size(spec.config, spec.hyperparameters));
}

double seconds_between(UtcTime begin, UtcTime end) {
    return static_cast<double>(end.microseconds - begin.microseconds) / 1e6;
}

/// The time until the end of what has come so far in the time since `started`. nullopt if that is too little.
std::optional<double> extrapolate(double progress, std::optional<UtcTime> started, UtcTime now) {
    if (!started || progress < extrapolated_progress_min || *started >= now) return std::nullopt;
    return seconds_between(*started, now) * (1 - progress) / progress;
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
    if (!runs || runs->empty()) return;
    auto const& run = runs->back();
    facts_.progress = tracker::history::progress_of_trial(*runs, spec);
    facts_.step = run.last_step ? run.last_step : run.beginning.resumed_from;
    facts_.steps_total = total_steps(spec);
    facts_.steps_per_s = training_speed(run);
    facts_.metric = find_last_value(*runs, spec.searcher.metric);
    bool const has_speed =
        facts_.steps_per_s && facts_.step && facts_.steps_total.value_or(0) >= *facts_.step;
    if (has_speed) {
        facts_.time_left_s = static_cast<double>(*facts_.steps_total - *facts_.step) / *facts_.steps_per_s;
    } else if (facts_.progress && runs->size() == 1) {
        facts_.time_left_s = extrapolate(*facts_.progress, trial.started(), session_.clock.now());
    } else {
        facts_.time_left_s.reset();
    }
}

/// The progress of a search that stops trials is its own; of any other experiment, the mean over its trials.
void LiveStatus::read_search(ExperimentView const& view, ExperimentSpec const& spec) {
    double sum = 0;
    std::optional<MetricFact> best;
    for (auto const& trial : view.trials) {
        if (trial.record.runs.empty()) continue;
        bool const has_ended = lifecycle::is_terminal(trial.state);
        if (has_ended) sum += 1;
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
        if (has_ended) continue;
        ended_bests_.erase(value);
        auto const reports = history_.load_reports_without_metrics(trial.record.id);
        if (reports) sum += tracker::history::progress_of_trial(*reports, spec).value_or(0);
    }
    facts_.metric = best;
    auto const search = load_search_view(view, spec, history_);
    facts_.progress = search && *search
                          ? (*search)->progress
                          : sum / static_cast<double>(std::max<std::size_t>(view.trials.size(), 1));
    facts_.time_left_s = extrapolate(*facts_.progress, view.started(), session_.clock.now());
}

}  // namespace det::cli
