#include "supervised_search.hpp"

#include <algorithm>
#include <cassert>

namespace det::simulation {

/// One incarnation of a trial's supervisor, on a node of its own.
struct Supervisor {
    std::uint32_t job = 0;
    std::uint32_t trial = 0;
    std::uint32_t run = 0;
    std::uint32_t node = 0;
    search::TrialSearch search;
    std::uint64_t next_report = 1;
    std::vector<std::size_t> read;  // how many reports of each run have been read
    double blind_s = 0;             // for this long it does not see a newer run
    bool is_open = false;
    bool is_cut_off = false;
    bool has_ended = false;
};

namespace {

struct Crash {};

constexpr double delay_max_s = 20;  // of changes that become visible late
constexpr double blind_max_s = 30;  // until a supervisor that was cut off notices that it is superseded
constexpr double report_interval_max_s = 10;
constexpr double lost_report_probability =
    0.3;  // that a crash loses the last report, which is not on disk yet
constexpr double same_moment_s = 2;
constexpr double step_s = 1e-3;  // so that no two steps are at the same time
constexpr int depth_max = 4;
constexpr int events_max = 100'000;

Visibility visibility_of(Conditions const& conditions, std::uint32_t seed) {
    return {conditions.late_share, delay_max_s, seed};
}

}  // namespace

SupervisedSearch::SupervisedSearch(search::AshaSearch search, Conditions const& conditions,
                                   std::uint32_t seed, std::optional<StepOccurrence> crash_at)
    : search_(std::move(search)),
      batch_job_(search_),
      conditions_(conditions),
      crash_at_(crash_at),
      random_(seed),
      curves_(draw_curves(seed, 4 * search_.trial_count() + 20, conditions.rates)),
      rungs_(visibility_of(conditions, seed)) {
    for (std::uint32_t trial = 0; trial < search_.trial_count(); ++trial) trials_.push_back({trial, {}, {}});
}

SupervisedSearch::~SupervisedSearch() = default;

void SupervisedSearch::run() {
    for (std::uint32_t i = 0; i < search_.concurrent_trials(); ++i) start_next_job();
    for (int i = 0; i < events_max && !events_.empty(); ++i) handle_next();
}

void SupervisedSearch::plan(double delay_s, Supervisor* supervisor, std::uint32_t job) {
    events_.push({now_s_ + delay_s, next_event_++, supervisor, job});
}

void SupervisedSearch::handle_next() {
    auto const event = events_.top();
    events_.pop();
    now_s_ = std::max(now_s_, event.time_s);
    if (event.supervisor == nullptr) return start_job(event.job);
    if (!event.supervisor->has_ended) act(*event.supervisor);
}

void SupervisedSearch::start_next_job() {
    if (next_job_ < planned_trials()) plan(uniform(3), nullptr, next_job_++);
}

/// Begins a run of the job's trial or of the one that replaces it, unless that has ended.
void SupervisedSearch::start_job(std::uint32_t job) {
    auto index = job;
    while (trials_[index].replacement) index = *trials_[index].replacement;
    auto& runs = trials_[index].runs;
    if (!runs.empty() && runs.back().end != RunEnd::none) return start_next_job();
    auto const run = static_cast<std::uint32_t>(runs.size());
    runs.emplace_back().began_s = now_s_;
    search::TrialSearch search(search_, batch_job_.bracket_of(job), index, run > 0);
    auto const node = static_cast<std::uint32_t>(supervisors_.size());
    supervisors_.push_back(std::make_unique<Supervisor>(Supervisor{
        .job = job, .trial = index, .run = run, .node = node, .search = std::move(search), .read = {}}));
    plan(uniform(2), supervisors_.back().get(), job);
}

void SupervisedSearch::act(Supervisor& supervisor) {
    try {
        work(supervisor);
    } catch (Crash const&) {
        supervisor.has_ended = true;
        auto& reports = run_of(supervisor).reports;
        if (!reports.empty() && happens(lost_report_probability)) reports.pop_back();
        if (!supervisor.is_cut_off) requeue(supervisor);
    }
    if (!supervisor.has_ended) plan(uniform(report_interval_max_s), &supervisor, supervisor.job);
}

/// Opens the run, or lets the program report once; then reads reports, decides, and ends the run if it is
/// over.
void SupervisedSearch::work(Supervisor& supervisor) {
    if (!supervisor.is_open) {
        open(supervisor);
    } else {
        report(supervisor);
    }
    follow(supervisor);
    finish(supervisor);
}

/// Reads what earlier runs have recorded. The training resumes from one of the last two reports.
void SupervisedSearch::open(Supervisor& supervisor) {
    reach(Step::run_created);
    run_of(supervisor).opened_s = now_s_;
    auto const& runs = trials_[supervisor.trial].runs;
    for (std::uint32_t run = 0; run < supervisor.run; ++run) {
        for (auto const& decided : runs[run].decisions) supervisor.search.apply(decided.decision);
        for (auto const& report : runs[run].reports)
            supervisor.next_report = std::max(supervisor.next_report, report.steps_completed + 1);
    }
    if (supervisor.next_report > 1 && happens(0.5)) --supervisor.next_report;
    supervisor.read.resize(supervisor.run + 1);
    supervisor.is_open = true;
}

void SupervisedSearch::report(Supervisor& supervisor) {
    auto const number = supervisor.next_report++;
    reach(Step::before_report);
    // A run that repeats a report measures another loss.
    auto const loss = curves_[supervisor.trial].loss_at(number) + 1e-4 * supervisor.run;
    run_of(supervisor).reports.push_back({number, static_cast<double>(number), loss});
    reach(Step::after_report);
    if (supervisor.is_cut_off || !happens(conditions_.cut_off_probability)) return;
    ++cut_offs_;
    supervisor.is_cut_off = true;
    supervisor.blind_s = uniform(blind_max_s);
    requeue(supervisor);
}

void SupervisedSearch::follow(Supervisor& supervisor) {
    auto view = view_of(supervisor);
    for (std::uint32_t run = 0; run <= supervisor.run; ++run) {
        for (; supervisor.read[run] < trials_[supervisor.trial].runs[run].reports.size();
             ++supervisor.read[run]) {
            auto const report = trials_[supervisor.trial].runs[run].reports[supervisor.read[run]];
            while (supervisor.search.reaches_rung(report) && !has_newer_run(supervisor)) {
                auto const decision = supervisor.search.decide(report, view);
                reach(Step::before_record);
                run_of(supervisor).decisions.push_back({now_s_, **decision});
                reach(Step::after_record);
                supervisor.search.apply(**decision);
                reach(Step::after_apply);
            }
        }
    }
}

/// Ends the run if the search has ended it, or if its program has failed or calls the trial invalid.
void SupervisedSearch::finish(Supervisor& supervisor) {
    if (has_newer_run(supervisor)) {
        supervisor.has_ended = true;
        return;
    }
    auto view = view_of(supervisor);
    auto const& curve = curves_[supervisor.trial];
    auto const reported = supervisor.next_report - 1;
    if (auto const& end = supervisor.search.end_decision()) {
        record_end(supervisor, end->decision == "complete" ? RunEnd::complete : RunEnd::stopped);
    } else if (curve.invalid_after() && *curve.invalid_after() <= reported) {
        (void)supervisor.search.remove_entries(view);
        replace(supervisor);
        record_end(supervisor, RunEnd::invalid);
    } else if (curve.fails_after() && *curve.fails_after() <= reported) {
        (void)supervisor.search.add_failure(view);
        record_end(supervisor, RunEnd::failed);
    }
}

void SupervisedSearch::replace(Supervisor& supervisor) {
    reach(Step::before_replace);
    auto& trial = trials_[supervisor.trial];
    if (!trial.replacement) {
        auto const planned = trial.planned;
        trial.replacement = static_cast<std::uint32_t>(trials_.size());
        assert(trials_.size() < curves_.size());
        trials_.push_back({planned, {}, {}});
    }
    reach(Step::after_replace);
}

void SupervisedSearch::record_end(Supervisor& supervisor, RunEnd end) {
    reach(Step::before_end);
    run_of(supervisor).end = end;
    run_of(supervisor).ended_s = now_s_;
    reach(Step::after_end);
    supervisor.has_ended = true;
    if (!supervisor.is_cut_off) plan(0, nullptr, supervisor.job);
}

void SupervisedSearch::requeue(Supervisor& supervisor) { plan(1 + uniform(5), nullptr, supervisor.job); }

bool SupervisedSearch::has_newer_run(Supervisor const& supervisor) const {
    auto const& runs = trials_[supervisor.trial].runs;
    return runs.size() > supervisor.run + 1 &&
           now_s_ >= runs[supervisor.run + 1].began_s + supervisor.blind_s;
}

RungView SupervisedSearch::view_of(Supervisor const& supervisor) {
    return {rungs_, supervisor.node, [this] { return now_s_; }, [this](Step step) { reach(step); }};
}

void SupervisedSearch::reach(Step step) {
    now_s_ += step_s;
    bool const is_chosen = crash_at_ && crash_at_->step == step && crash_at_->number-- == 0;
    if (is_chosen || happens(conditions_.crash_probability)) {
        if (is_chosen) crash_at_.reset();
        ++crashes_;
        throw Crash();
    }
    if (step == Step::before_list) let_others_act();
}

/// Lets other supervisors act after a supervisor has added its entry and before it lists the rung.
void SupervisedSearch::let_others_act() {
    if (depth_ >= depth_max || !happens(conditions_.same_moment_probability)) return;
    ++depth_;
    auto const until_s = now_s_ + same_moment_s;
    while (!events_.empty() && events_.top().time_s <= until_s) {
        ++same_moments_;
        handle_next();
    }
    --depth_;
}

bool SupervisedSearch::happens(double probability) { return probability > 0 && uniform(1) < probability; }

double SupervisedSearch::uniform(double max) {
    return std::uniform_real_distribution<double>(0, max)(random_);
}

SimulatedRun& SupervisedSearch::run_of(Supervisor const& supervisor) {
    return trials_[supervisor.trial].runs[supervisor.run];
}

}  // namespace det::simulation
