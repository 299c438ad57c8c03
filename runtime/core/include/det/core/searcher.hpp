#pragma once
#include <det/core/preempt.hpp>
#include <det/foundation/result.hpp>
#include <det/search/training_length.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::core {

struct ContextData;

/// How long the searcher wants the trial to train. Obtained from Context::searcher(). One thread at a time.
///
/// A program asks either for the number of batches that are left:
///
///     while (context.searcher().batches_left(step).value_or(default_batches - step) > 0) { ... ++step; }
///
/// or for operations, as with Determined's older API. An operation is a length up to which the trial trains,
/// counted from the beginning of the trial, in the unit of the searcher. There is one operation, the whole
/// length; adaptive_asha and async_halving have one for each rung of the trial's bracket. The search never
/// blocks the training: no call waits for other trials, and a trial that is worse than others gets a
/// preemption notice.
class Searcher {
public:
    explicit Searcher(ContextData& data) : data_(data) {}

    /// Which ranks call next_operation().
    enum class Mode : std::uint8_t {
        workers_ask_chief,  // all ranks, which get the same answer
        chief_only,
    };

    /// \return max_length, or max_time with its time_metric; nullopt if neither is configured and outside of
    ///     an experiment
    std::optional<search::TrainingLength> training_length() const;

    /// Converts the length to batches with records_per_epoch of the configuration and the hyperparameter
    /// global_batch_size. If a value that the conversion needs is not configured, the length is not
    /// converted: steps_completed must then count in its unit.
    /// \param steps_completed number of batches since the beginning of the trial
    /// \return the number of batches that the trial has yet to train, 0 when it has reached the length;
    ///     nullopt without a length, and if a time_metric measures it
    std::optional<std::uint64_t> batches_left(std::uint64_t steps_completed) const;

    /// Begins the next operation. The first call begins the first operation that no earlier run of the trial
    /// has completed. After a preemption notice there are no more operations, so that the program ends.
    /// Outside of an experiment there is one operation, of length 1. Collective with Mode::workers_ask_chief.
    /// \param acknowledge at_once: if the notice ends the operations, the chief records the acknowledgement.
    ///     later: the caller calls acknowledge_end().
    /// \return the length of the operation; nullopt if there are no more. codes::misuse if no length is
    ///     configured, or if the chief has not called report_completed() for the operation before
    Result<std::optional<std::uint64_t>> next_operation(
        Mode mode = Mode::workers_ask_chief,
        Preempt::Acknowledge acknowledge = Preempt::Acknowledge::at_once);
    /// Records that the program exits because of the preemption, if a notice has ended the operations.
    /// Otherwise it does nothing. Not collective.
    Status acknowledge_end();

    // Reports of the chief: on other ranks they fail with codes::misuse. Outside of an experiment they are
    // discarded.

    /// \param length the completed length, from 0 to the training length; anything else is codes::misuse
    Status report_progress(double length);
    /// Records that the trial has trained up to the length of the current operation. codes::misuse if there
    /// is none, or if it was reported as completed already.
    /// \param metric the value of the searcher's metric
    Status report_completed(double metric);

private:
    Result<std::optional<std::uint64_t>> begin_operation();
    Result<std::vector<std::uint64_t>> load_operations() const;

    ContextData& data_;
    // On the chief:
    std::optional<std::vector<std::uint64_t>> remaining_;  // loaded by the first next_operation()
    std::optional<std::uint64_t> current_;                 // begun and not completed
    bool was_ended_by_notice_ = false;
};

}  // namespace det::core
