#pragma once
#include <det/liveness/wait_page.hpp>

#include <chrono>
#include <memory>

namespace det::liveness {

/// Writes the waiting times of this rank to the WaitPage of its node. Only one thread may use it at a time,
/// as for the collectives that it records.
class WaitRecorder {
public:
    using Clock = std::chrono::steady_clock;

    /// \param local_rank below WaitPage::slots_max
    /// \param rank the number of this rank in the run
    WaitRecorder(WaitPage page, int local_rank, int rank);

    /// Called when a collective operation begins. One store to a cache line of this rank.
    void begin_operation(WaitOperation operation) noexcept {
        operation_ = operation;
        slot_->operations_begun.store(++operations_begun_, std::memory_order_relaxed);
    }
    /// Called before a wait for a message outside of collective operations.
    void begin_control() noexcept { operation_ = WaitOperation::control; }
    /// The operation that has begun last.
    WaitOperation operation() const { return operation_; }

    /// Adds a time in which this rank waited for another one.
    /// \param time at most `slice_max` counts: more means that this process itself was stopped
    void add(WaitOperation operation, int awaited_rank, Clock::duration time);
    /// Counts a wait that has ended.
    void end_wait();

    static constexpr std::chrono::seconds slice_max{1};

private:
    WaitPage::Awaited& entry_for(int rank);

    WaitPage page_;
    WaitPage::Slot* slot_;
    std::uint64_t operations_begun_;
    WaitOperation operation_ = WaitOperation::barrier;
};

/// One wait for other ranks, recorded in slices, so that the page is current during a long wait. A wait
/// without a call of waits_for() is not recorded and reads no clock. The destructor ends the wait.
class RecordedWait {
public:
    using Clock = WaitRecorder::Clock;

    /// \param recorder may be null: nothing is recorded
    explicit RecordedWait(WaitRecorder* recorder) : recorder_(recorder) {}
    RecordedWait(RecordedWait const&) = delete;
    RecordedWait& operator=(RecordedWait const&) = delete;
    ~RecordedWait() { end(); }

    bool is_wanted() const { return recorder_ != nullptr; }
    /// Called from time to time during the wait, with the rank that is awaited now.
    /// \param begin of the wait; used by the first call of a wait
    void waits_for(WaitOperation operation, int rank, Clock::time_point begin, Clock::time_point now);
    /// Ends the wait: the next call of waits_for() begins a new one.
    void end();

private:
    WaitRecorder* recorder_;
    bool has_begun_ = false;
    WaitOperation operation_ = WaitOperation::barrier;
    int rank_ = 0;
    Clock::time_point recorded_to_;
};

}  // namespace det::liveness
