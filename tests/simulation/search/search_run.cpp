#include "search_run.hpp"

#include <cassert>
#include <cmath>
#include <queue>
#include <random>

namespace det::simulation {
namespace {

enum class EventKind : std::uint8_t { start, report, decide };

struct Event {
    double time_s = 0;
    std::uint64_t number = 0;  // events at the same time happen in the order in which they were planned
    EventKind kind = EventKind::report;
    std::uint32_t trial = 0;
    std::uint64_t report = 0;  // that the supervisor decides about
    friend bool operator>(Event const& a, Event const& b) {
        return a.time_s != b.time_s ? a.time_s > b.time_s : a.number > b.number;
    }
};

/// The state of a simulation, with the queue of its events.
class SearchRun {
public:
    SearchRun(std::vector<LearningCurve> const& curves, Jobs const& jobs, Judge& judge)
        : curves_(curves), jobs_(jobs), judge_(judge), random_(jobs.seed), next_replacement_(jobs.trials) {}

    SearchResult run() {
        if (jobs_.starts_s.empty()) {
            for (std::uint32_t i = 0; i < jobs_.concurrent_trials; ++i) start_next(0);
        } else {
            for (auto const start_s : jobs_.starts_s) plan(EventKind::start, next_planned_++, start_s);
        }
        while (!events_.empty() && result_.budget_s < jobs_.budget_s) {
            auto const event = events_.top();
            events_.pop();
            handle(event);
        }
        for (auto const& trial : trials_) result_.reports_of.push_back(trial.reports);
        for (std::uint32_t i = 0; i < std::min<std::size_t>(jobs_.trials, trials_.size()); ++i)
            result_.starts_s.push_back(trials_[i].started_s);
        return result_;
    }

private:
    struct Trial {
        std::uint32_t planned = 0;
        double started_s = 0;
        double counted_s = 0;  // until then its time is in the budget
        std::uint64_t reports = 0;
        bool has_ended = false;
    };

    void handle(Event const& event) {
        if (event.kind == EventKind::start) return start(event.trial, event.trial, event.time_s);
        if (trials_[event.trial].has_ended) return;
        event.kind == EventKind::decide ? decide(event) : report(event);
    }

    void start_next(double now_s) {
        if (!jobs_.starts_s.empty()) return;
        if (next_planned_ < jobs_.trials) start(next_planned_, next_planned_, now_s);
        next_planned_ = std::min(next_planned_ + 1, jobs_.trials);
    }

    void start(std::uint32_t trial, std::uint32_t planned, double now_s) {
        assert(trial < curves_.size());
        if (trials_.size() <= trial) trials_.resize(trial + 1);
        trials_[trial] = {planned, now_s, now_s};
        judge_.on_start(trial, planned);
        if (curves_[trial].invalid_after() == 0) return end_invalid(trial, now_s);
        plan(EventKind::report, trial, now_s + curves_[trial].report_interval_s());
    }

    void plan(EventKind kind, std::uint32_t trial, double time_s, std::uint64_t report = 0) {
        events_.push({time_s, next_event_++, kind, trial, report});
    }

    void count_time(Trial& trial, double now_s) {
        result_.budget_s += now_s - trial.counted_s;
        trial.counted_s = now_s;
    }

    /// The program reports. The supervisor reads the report later, and the training goes on meanwhile.
    void report(Event const& event) {
        auto& trial = trials_[event.trial];
        auto const& curve = curves_[event.trial];
        ++trial.reports;
        ++result_.reports;
        count_time(trial, event.time_s);
        auto const loss = curve.loss_at(trial.reports);
        if (loss < result_.best_loss) result_.best_loss = loss;
        std::uniform_real_distribution<double> delay(0, jobs_.decision_delay_max_s);
        auto const delay_s = jobs_.decision_delay_max_s > 0 ? delay(random_) : 0;
        plan(EventKind::decide, event.trial, event.time_s + delay_s, trial.reports);
        if (trial.reports < jobs_.reports_max)
            plan(EventKind::report, event.trial, event.time_s + curve.report_interval_s());
    }

    void decide(Event const& event) {
        auto const& curve = curves_[event.trial];
        bool const ends =
            judge_.on_report(event.trial, event.report, curve.loss_at(event.report), event.time_s);
        if (ends || event.report == jobs_.reports_max) return end(event.trial, event.time_s);
        if (curve.invalid_after() == event.report) return end_invalid(event.trial, event.time_s);
        if (curve.fails_after() != event.report) return;
        ++result_.failed;
        judge_.on_failure(event.trial, event.time_s);
        end(event.trial, event.time_s);
    }

    void end(std::uint32_t trial, double now_s) {
        finish(trial, now_s);
        ++result_.ended;
        start_next(now_s);
    }

    void end_invalid(std::uint32_t trial, double now_s) {
        finish(trial, now_s);
        ++result_.invalid;
        judge_.on_invalid(trial, now_s);
        start(next_replacement_++, trials_[trial].planned, now_s);
    }

    void finish(std::uint32_t trial, double now_s) {
        trials_[trial].has_ended = true;
        if (trials_[trial].reports < jobs_.reports_max) count_time(trials_[trial], now_s);
    }

    std::vector<LearningCurve> const& curves_;
    Jobs const& jobs_;
    Judge& judge_;
    std::mt19937_64 random_;
    std::uint32_t next_replacement_;
    std::uint32_t next_planned_ = 0;
    std::uint64_t next_event_ = 0;
    std::vector<Trial> trials_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    SearchResult result_;
};

}  // namespace

SearchResult run_search(std::vector<LearningCurve> const& curves, Jobs const& jobs, Judge& judge) {
    return SearchRun(curves, jobs, judge).run();
}

ReferenceJudge::ReferenceJudge(search::AshaSearch const& search) : batch_job_(search) {
    for (auto const& bracket : search.brackets) {
        std::vector<double> const lengths(bracket.rung_lengths.begin(), bracket.rung_lengths.end());
        brackets_.emplace_back(lengths, search.divisor);
    }
}

void ReferenceJudge::on_start(std::uint32_t trial, std::uint32_t planned) {
    if (bracket_of_.size() <= trial) bracket_of_.resize(trial + 1);
    bracket_of_[trial] = batch_job_.bracket_of(planned);
}

bool ReferenceJudge::on_report(std::uint32_t trial, std::uint64_t report, double loss, double) {
    auto& bracket = brackets_[bracket_of_[trial]];
    return bracket.on_validation(trial, static_cast<double>(report), loss) == ReferenceAnswer::stops;
}

void ReferenceJudge::on_failure(std::uint32_t trial, double) {
    brackets_[bracket_of_[trial]].on_failure(trial);
}

void ReferenceJudge::on_invalid(std::uint32_t trial, double) {
    brackets_[bracket_of_[trial]].on_invalid(trial);
}

TrialSearchJudge::TrialSearchJudge(search::AshaSearch search, Visibility const& visibility)
    : search_(std::move(search)), batch_job_(search_), rungs_(visibility) {}

RungView TrialSearchJudge::view_of(std::uint32_t trial) {
    return {rungs_, trial, [this] { return now_s_; }};
}

void TrialSearchJudge::on_start(std::uint32_t trial, std::uint32_t planned) {
    if (trials_.size() <= trial) trials_.resize(trial + 1);
    trials_[trial].emplace(search_, batch_job_.bracket_of(planned), trial, false);
}

bool TrialSearchJudge::on_report(std::uint32_t trial, std::uint64_t report, double loss, double now_s) {
    now_s_ = now_s;
    auto view = view_of(trial);
    search::SearchReport const read{report, static_cast<double>(report), loss};
    while (trials_[trial]->reaches_rung(read)) {
        auto decision = trials_[trial]->decide(read, view);
        trials_[trial]->apply(**decision);
        decisions_.push_back(**std::move(decision));
    }
    return trials_[trial]->end_decision().has_value();
}

void TrialSearchJudge::on_failure(std::uint32_t trial, double now_s) {
    now_s_ = now_s;
    auto view = view_of(trial);
    (void)trials_[trial]->add_failure(view);
}

void TrialSearchJudge::on_invalid(std::uint32_t trial, double now_s) {
    now_s_ = now_s;
    auto view = view_of(trial);
    (void)trials_[trial]->remove_entries(view);
}

}  // namespace det::simulation
