#pragma once
#include <det/search/asha.hpp>
#include <det/search/trial_search.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "learning_curve.hpp"
#include "reference_asha.hpp"
#include "shared_rungs.hpp"

namespace det::simulation {

/// Decides about the trials of a simulated search. Times are fake.
class Judge {
public:
    virtual ~Judge() = default;
    /// \param planned the planned trial that `trial` is, or that it replaces
    virtual void on_start(std::uint32_t trial, std::uint32_t planned) = 0;
    /// A supervisor has read a report. Returns true if the search ends the trial.
    virtual bool on_report(std::uint32_t trial, std::uint64_t report, double loss, double now_s) = 0;
    virtual void on_failure(std::uint32_t trial, double now_s) = 0;
    virtual void on_invalid(std::uint32_t trial, double now_s) = 0;
};

/// How the jobs of the search run.
struct Jobs {
    std::uint32_t trials = 1;
    std::uint32_t concurrent_trials = 1;  // the throttle of the job array
    double decision_delay_max_s = 0;      // a supervisor reads a report at most this much later
    std::uint64_t reports_max = 0;        // after this many the program has trained to its end
    double budget_s = std::numeric_limits<double>::infinity();  // the search is cut off after it
    std::uint32_t seed = 0;
    std::vector<double> starts_s;  // when the planned trials start; empty: when others end
};

struct SearchResult {
    double budget_s = 0;  // the sum of the training times of all trials
    double best_loss = std::numeric_limits<double>::infinity();
    std::uint64_t reports = 0;
    std::vector<std::uint64_t> reports_of;  // of each trial, those that replace invalid ones last
    std::vector<double> starts_s;           // of the planned trials
    std::uint32_t ended = 0, failed = 0, invalid = 0;
};

/// Runs all trials of a search as a job array does: a trial starts when one ends. A trial with invalid
/// hyperparameters is replaced in its job. `curves` has more trials than are planned.
SearchResult run_search(std::vector<LearningCurve> const& curves, Jobs const& jobs, Judge& judge);

/// Random search: each trial trains to its end.
class NoJudge final : public Judge {
public:
    void on_start(std::uint32_t, std::uint32_t) override {}
    bool on_report(std::uint32_t, std::uint64_t, double, double) override { return false; }
    void on_failure(std::uint32_t, double) override {}
    void on_invalid(std::uint32_t, double) override {}
};

/// The sequential reference, one per bracket.
class ReferenceJudge final : public Judge {
public:
    explicit ReferenceJudge(search::AshaSearch const& search);
    void on_start(std::uint32_t trial, std::uint32_t planned) override;
    bool on_report(std::uint32_t trial, std::uint64_t report, double loss, double now_s) override;
    void on_failure(std::uint32_t trial, double now_s) override;
    void on_invalid(std::uint32_t trial, double now_s) override;

private:
    search::BracketAssignment batch_job_;
    std::vector<ReferenceAsha> brackets_;
    std::vector<std::uint32_t> bracket_of_;  // of each trial
};

/// The search of the product: each trial decides about itself, on a node of its own, by the shared rungs.
class TrialSearchJudge final : public Judge {
public:
    TrialSearchJudge(search::AshaSearch search, Visibility const& visibility);
    void on_start(std::uint32_t trial, std::uint32_t planned) override;
    bool on_report(std::uint32_t trial, std::uint64_t report, double loss, double now_s) override;
    void on_failure(std::uint32_t trial, double now_s) override;
    void on_invalid(std::uint32_t trial, double now_s) override;

    std::vector<SearchDecision> const& decisions() const { return decisions_; }
    SharedRungs const& rungs() const { return rungs_; }
    search::AshaSearch const& search() const { return search_; }

private:
    RungView view_of(std::uint32_t trial);

    search::AshaSearch search_;
    search::BracketAssignment batch_job_;
    SharedRungs rungs_;
    std::vector<std::optional<search::TrialSearch>> trials_;
    std::vector<SearchDecision> decisions_;
    double now_s_ = 0;
};

}  // namespace det::simulation
