#pragma once
#include <det/protocol/record.hpp>
#include <det/telemetry/reporter.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <utility>

namespace det::core {

/// The state from memory that the program has loaded last, until a call shows that it continues from there: a
/// program may load a state in several calls, and take another one if a later call fails. Thread-safe.
class ContinuedState {
public:
    /// On the chief.
    void set(ContinuedFromMemory loaded) {
        std::lock_guard const lock(mutex_);
        loaded_ = loaded;
        is_pending_ = true;
    }
    void clear() {
        std::lock_guard const lock(mutex_);
        loaded_.reset();
        is_pending_ = false;
    }
    /// Records the state before the first report, snapshot or checkpoint. One of fewer steps shows that the
    /// program does not continue from this state: then it is forgotten. Cheap after the first call.
    Status confirm(telemetry::Reporter* reporter, std::uint64_t steps_completed) {
        if (!is_pending_ || ::getpid() != owner_) return Ok{};
        std::lock_guard const lock(mutex_);
        auto const loaded = std::exchange(loaded_, std::nullopt);
        is_pending_ = false;
        if (!loaded || reporter == nullptr || steps_completed < loaded->steps_completed) return Ok{};
        return reporter->append_in_background(*loaded);
    }

private:
    pid_t const owner_ = ::getpid();  // a forked child has no reporter
    std::mutex mutex_;
    std::atomic<bool> is_pending_ = false;
    std::optional<ContinuedFromMemory> loaded_;
};

}  // namespace det::core
