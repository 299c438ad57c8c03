#include <det/liveness/wait_recorder.hpp>

#include <algorithm>
#include <utility>

namespace det::liveness {
namespace {

/// Only one thread at a time writes the number, so no atomic addition is needed.
void increase(std::atomic<std::uint64_t>& number, std::uint64_t by) {
    number.store(number.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace

WaitRecorder::WaitRecorder(WaitPage page, int local_rank, int rank)
    : page_(std::move(page)),
      slot_(&page_.join(local_rank, rank)),
      operations_begun_(slot_->operations_begun.load(std::memory_order_relaxed)) {}

void WaitRecorder::add(WaitOperation operation, int awaited_rank, Clock::duration time) {
    auto const counted = std::clamp<std::chrono::nanoseconds>(time, std::chrono::nanoseconds(0), slice_max);
    auto const ns = static_cast<std::uint64_t>(counted.count());
    increase(slot_->waited_ns[static_cast<std::size_t>(operation)], ns);
    increase(entry_for(awaited_rank).ns, ns);
}

void WaitRecorder::end_wait() { increase(slot_->waits_ended, 1); }

/// Finds or creates the entry of a rank. If all entries are used, replaces the one with the shortest time.
WaitPage::Awaited& WaitRecorder::entry_for(int rank) {
    auto const holds = [](int value) {
        return [value](auto const& entry) {
            return entry.rank_plus_one.load(std::memory_order_relaxed) == value;
        };
    };
    auto const found = std::ranges::find_if(slot_->awaited, holds(rank + 1));
    if (found != slot_->awaited.end()) return *found;
    auto free = std::ranges::find_if(slot_->awaited, holds(0));
    if (free == slot_->awaited.end())
        free = std::ranges::min_element(
            slot_->awaited, {}, [](auto const& entry) { return entry.ns.load(std::memory_order_relaxed); });
    free->rank_plus_one.store(0, std::memory_order_release);
    free->ns.store(0, std::memory_order_release);
    free->rank_plus_one.store(rank + 1, std::memory_order_release);
    return *free;
}

void RecordedWait::waits_for(WaitOperation operation, int rank, Clock::time_point begin,
                             Clock::time_point now) {
    if (recorder_ == nullptr) return;
    if (!std::exchange(has_begun_, true)) {
        operation_ = operation;
        rank_ = rank;
        recorded_to_ = begin;
    }
    recorder_->add(operation_, rank_, now - recorded_to_);
    operation_ = operation;
    rank_ = rank;
    recorded_to_ = now;
}

void RecordedWait::end() {
    if (!std::exchange(has_begun_, false)) return;
    recorder_->add(operation_, rank_, Clock::now() - recorded_to_);
    recorder_->end_wait();
}

}  // namespace det::liveness
