#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace det::telemetry {

/// A bounded queue of byte strings in one block of memory. Several threads may push at the same time, and one
/// thread may pop. push() takes no lock, makes no system call and allocates nothing.
class ReportRing {
public:
    /// \param capacity_bytes a power of two, at least 64
    explicit ReportRing(std::size_t capacity_bytes);

    /// The largest entry that push() accepts: a quarter of the capacity.
    std::size_t entry_limit_bytes() const { return capacity_bytes_ / 4; }

    /// Reserves memory for an entry, calls `fill(char* bytes)` to write it, and publishes it.
    /// \param size_bytes at least 1, at most entry_limit_bytes()
    /// \return false if the ring is full
    template <class Fill>
    bool push(std::size_t size_bytes, Fill&& fill) {
        auto const entry = reserve(size_bytes);
        if (entry == nullptr) return false;
        fill(entry + head_size_bytes);
        publish(entry, size_bytes);
        return true;
    }

    /// Removes the published entries in order, up to the first one that a thread is still writing, and calls
    /// `take` with each. One thread at a time.
    void pop_all(std::function<void(std::string_view entry)> const& take);

private:
    // An entry begins with its state: 0 while it is being written, then its size; the highest bit marks
    // unused bytes at the end of the memory.
    using EntryState = std::uint64_t;
    static constexpr std::size_t head_size_bytes = sizeof(EntryState);

    char* reserve(std::size_t size_bytes);
    void publish(char* entry, EntryState state);
    std::atomic_ref<EntryState> state_at(char* entry) const;

    std::size_t capacity_bytes_;
    std::unique_ptr<EntryState[]> memory_;
    // Bytes reserved and released since the construction. They are on separate cache lines, because different
    // threads write them.
    alignas(64) std::atomic<std::uint64_t> reserved_ = 0;
    alignas(64) std::atomic<std::uint64_t> released_ = 0;
};

}  // namespace det::telemetry
