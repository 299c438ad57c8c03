#pragma once
#include <det/search/trial_search.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "learning_curve.hpp"
#include "shared_rungs.hpp"
#include "steps.hpp"

namespace det::simulation {

/// What happens to the supervisors of a search.
struct Conditions {
    char const* name = "";
    double crash_probability = 0;    // at each step
    double cut_off_probability = 0;  // at each report: the job is requeued, and the supervisor goes on
    double same_moment_probability =
        0;                  // that others act while a supervisor is between its entry and its list
    double late_share = 0;  // see Visibility
    FaultRates rates;
};

/// The n-th time that any supervisor reaches a step, counted from 0.
struct StepOccurrence {
    Step step = Step::run_created;
    std::uint32_t number = 0;
};

enum class RunEnd : std::uint8_t { none, stopped, complete, failed, invalid };

/// What one run of a trial has written, with the times.
struct SimulatedRun {
    struct Decided {
        double time_s = 0;
        SearchDecision decision;
    };
    double began_s = 0;
    double opened_s = 0;  // when it read the records of earlier runs
    std::vector<search::SearchReport> reports;
    std::vector<Decided> decisions;
    RunEnd end = RunEnd::none;
    double ended_s = 0;
};

struct SimulatedTrial {
    std::uint32_t planned = 0;
    std::vector<SimulatedRun> runs;
    std::optional<std::uint32_t> replacement;
};

struct Supervisor;  // see the source

/// Simulates a search whose supervisors crash, or lose the network while Slurm requeues their job, and see
/// changes of directories late. Models how SearchFollower and Lane use TrialSearch; a trial has one run at a
/// time. Throws nothing.
class SupervisedSearch {
public:
    SupervisedSearch(search::AshaSearch search, Conditions const& conditions, std::uint32_t seed,
                     std::optional<StepOccurrence> crash_at = {});
    ~SupervisedSearch();
    SupervisedSearch(SupervisedSearch const&) = delete;
    SupervisedSearch& operator=(SupervisedSearch const&) = delete;

    /// Runs all jobs until each has ended, or gives up after a limit of events.
    void run();

    Conditions const& conditions() const { return conditions_; }
    search::AshaSearch const& search() const { return search_; }
    SharedRungs const& rungs() const { return rungs_; }
    std::vector<SimulatedTrial> const& trials() const { return trials_; }
    std::uint32_t planned_trials() const { return search_.trial_count(); }
    std::uint32_t crashes() const { return crashes_; }
    std::uint32_t cut_offs() const { return cut_offs_; }
    std::uint32_t same_moments() const { return same_moments_; }

private:
    struct Event {
        double time_s = 0;
        std::uint64_t number = 0;
        Supervisor* supervisor = nullptr;  // nullptr: the job of a planned trial starts or is requeued
        std::uint32_t job = 0;
        friend bool operator>(Event const& a, Event const& b) {
            return a.time_s != b.time_s ? a.time_s > b.time_s : a.number > b.number;
        }
    };

    void plan(double delay_s, Supervisor* supervisor, std::uint32_t job);
    void handle_next();
    void start_job(std::uint32_t job);
    void start_next_job();
    void act(Supervisor& supervisor);
    void work(Supervisor& supervisor);
    void open(Supervisor& supervisor);
    void report(Supervisor& supervisor);
    void follow(Supervisor& supervisor);
    void finish(Supervisor& supervisor);
    void replace(Supervisor& supervisor);
    void record_end(Supervisor& supervisor, RunEnd end);
    void requeue(Supervisor& supervisor);
    bool has_newer_run(Supervisor const& supervisor) const;
    RungView view_of(Supervisor const& supervisor);
    void reach(Step step);
    void let_others_act();
    bool happens(double probability);
    double uniform(double max);
    SimulatedRun& run_of(Supervisor const& supervisor);

    search::AshaSearch search_;
    search::BracketAssignment batch_job_;
    Conditions conditions_;
    std::optional<StepOccurrence> crash_at_;
    std::mt19937_64 random_;
    std::vector<LearningCurve> curves_;
    SharedRungs rungs_;
    std::vector<SimulatedTrial> trials_;
    std::vector<std::unique_ptr<Supervisor>> supervisors_;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::uint64_t next_event_ = 0;
    std::uint32_t next_job_ = 0;
    double now_s_ = 0;
    int depth_ = 0;  // of events that are handled inside others
    std::uint32_t crashes_ = 0, cut_offs_ = 0, same_moments_ = 0;
};

/// What is wrong with what a search has left behind; empty if all invariants hold.
std::vector<std::string> find_violations(SupervisedSearch const& simulated);

}  // namespace det::simulation
