#pragma once
#include <chrono>
#include <functional>

#include "faults.hpp"

namespace det::faults {

/// The phase of a run in which a fault is injected.
enum class Moment { start_up, restoring, training, saving, saved };

/// One training with up to four random faults, which the seed determines.
class Round {
public:
    Round(Training& training, std::uint32_t seed);

    /// Injects the faults and waits for the end of the training. Seed 0 injects none.
    Status play();
    /// The planned faults, for the output.
    std::string description() const;

private:
    struct Plan {
        Fault const* fault;
        Moment moment;
        std::uint64_t steps;              // for Moment::training: steps after the restart
        std::chrono::milliseconds delay;  // after the moment
    };

    void plan_faults();
    Moment choose_moment(std::size_t failures_before);
    std::size_t pick(std::size_t below);
    /// Returns true when the condition holds, false if the training ends first. Fails after a few minutes.
    Result<bool> wait_for(std::string_view what, std::function<Result<bool>()> const& condition);
    Result<bool> is_reached(Plan const& plan);
    /// Whether the training has ended for good. Continues an experiment that a fault has cancelled.
    Result<bool> has_ended();
    Status activate_if_interrupted();

    Training& training_;
    std::mt19937 random_;
    std::vector<Plan> plans_;
    std::size_t run_ = 0;               // the first run in which the next fault may be injected
    std::size_t continued_runs_ = 0;    // number of runs when the experiment was continued
    std::set<std::string> unfinished_;  // checkpoints that were incomplete before the current fault
    std::size_t injected_ = 0;
};

/// Checks the files of a training that has ended. `weights` are those of a training without faults. Returns
/// "" or a description of the first failure.
Result<std::string> check_training(Training const& training, std::string const& weights);

}  // namespace det::faults
