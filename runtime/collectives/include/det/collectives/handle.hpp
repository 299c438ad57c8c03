#pragma once
#include <det/foundation/result.hpp>

#include <memory>
#include <utility>

namespace det::collectives {

/// The interface behind a Handle, which each RankGroup implements for its started operations.
class Pending {
public:
    virtual ~Pending() = default;
    virtual Result<bool> test() = 0;
    virtual Status wait() = 0;
    /// The event that streams can wait for, if the operation is on device memory; else nullptr.
    virtual void* event() const { return nullptr; }
};

/// A started operation. The program must not write to its buffers, nor read its output, until it is complete.
///
/// Host memory: there is no progress thread. Operations make progress in the order in which they were
/// started, inside test() and wait() of any handle and inside other operations of the context. Other ranks
/// may therefore wait until this rank makes one of these calls. Device memory: operations make progress by
/// themselves, in the order of their stream.
///
/// The destructor waits for the operation. A handle must be destroyed before its context. Not thread-safe.
class [[nodiscard]] Handle {
public:
    /// A complete operation with its result.
    explicit Handle(Status result) : result_(std::move(result)) {}
    explicit Handle(std::unique_ptr<Pending> pending) : pending_(std::move(pending)) {}
    Handle(Handle&&) noexcept = default;
    Handle& operator=(Handle&& other) noexcept {
        std::swap(pending_, other.pending_);
        std::swap(result_, other.result_);
        return *this;
    }
    ~Handle() {
        if (pending_) static_cast<void>(pending_->wait());
    }

    /// Makes progress without blocking.
    /// \return true if the operation is complete, also if it has failed: then wait() returns its Error. An
    ///     Error if a rank is lost, a wait has reached its time limit, or a device has failed meanwhile.
    Result<bool> test() {
        if (!pending_) return true;
        return pending_->test();
    }
    /// The cudaEvent_t after which the result is in device memory. nullptr for host memory, after wait(), and
    /// if the operation failed when it was started.
    void* event() const { return pending_ ? pending_->event() : nullptr; }
    /// Blocks until the operation is complete. Further calls return the same result.
    Status wait() {
        if (pending_) result_ = std::exchange(pending_, nullptr)->wait();
        return result_;
    }

private:
    std::unique_ptr<Pending> pending_;  // null: the operation is complete
    Status result_ = Ok{};
};

}  // namespace det::collectives
