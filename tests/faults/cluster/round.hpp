#pragma once
#include <chrono>
#include <functional>

#include "faults.hpp"

namespace det::faults {

/// When a fault strikes, in the life of a run.
enum class Moment { start_up, restoring, training, saving, saved };

/// One training that meets faults, up to four of them, all chosen by the seed.
class Round {
public:
    Round(Training& training, std::uint32_t seed);

    /// To the end of the training; with no faults it is one in peace.
    Status play();
    /// What it meets, in words.
    std::string story() const;

private:
    struct Plan {
        Fault const* fault;
        Moment moment;
        std::uint64_t steps;              // after the restart, where the moment is `training`
        std::chrono::milliseconds delay;  // after the moment
    };

    void plan_faults();
    Moment choose_moment(std::size_t failures_before);
    std::size_t pick(std::size_t below);
    /// False where the training ends before that, and an Error where neither happens for minutes.
    Result<bool> wait_for(std::string_view what, std::function<Result<bool>()> const& condition);
    Result<bool> has_come(Plan const& plan);
    /// For good: one that was cancelled is continued.
    Result<bool> has_ended();
    Status go_on_where_interrupted();

    Training& training_;
    std::mt19937 random_;
    std::vector<Plan> plans_;
    std::size_t run_ = 0;               // which may be struck next, or a later one
    std::size_t continued_runs_ = 0;    // that there were when it was continued
    std::set<std::string> unfinished_;  // checkpoints that nobody works at
    std::size_t met_ = 0;
};

/// Why what a training left behind is not as it should be; empty: it is. weights: those of a training in
/// peace.
Result<std::string> find_fault(Training const& training, std::string const& weights);

}  // namespace det::faults
