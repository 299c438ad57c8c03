#pragma once
#include <det/foundation/result.hpp>

#include <memory>
#include <utility>

namespace det::collectives {

/// An operation that was started, as whoever connects the ranks keeps it.
class Pending {
public:
    virtual ~Pending() = default;
    virtual Result<bool> test() = 0;
    virtual Status wait() = 0;
    /// Of what goes on on a device, what its streams may wait for.
    virtual void* event() const { return nullptr; }
};

/// An operation that was started and whose buffers are not to be touched until it is over. Nothing happens
/// behind the program's back: operations that were started go on, in the order in which they were started,
/// inside test() and wait() of any handle and inside any other operation of the context; so other ranks may
/// wait for this one until it makes one of these calls.
///
/// On devices, what was started goes on by itself, in the order of its stream.
///
/// A handle that is destroyed waits first. It ends before its context does.
class [[nodiscard]] Handle {
public:
    /// One that is over already, with its result.
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

    /// Whether wait() would return at once.
    Result<bool> test() {
        if (!pending_) return true;
        return pending_->test();
    }
    /// A cudaEvent_t behind which the result is there, on a device; null where it is in host memory.
    void* event() const { return pending_ ? pending_->event() : nullptr; }
    /// May be called again: the result stays.
    Status wait() {
        if (pending_) result_ = std::exchange(pending_, nullptr)->wait();
        return result_;
    }

private:
    std::unique_ptr<Pending> pending_;  // none: it is over
    Status result_ = Ok{};
};

}  // namespace det::collectives
