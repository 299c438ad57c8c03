#pragma once
#include <det/collectives/control_channel.hpp>

#include <memory>
#include <optional>

#include "liveness.hpp"

namespace det::collectives::node {

/// The call in which this rank waits, for messages: a collective operation or another function.
struct WaitingCall {
    WaitingCall(collectives::Call const& operation) : call(&operation) {}
    WaitingCall(collectives::NamedCall const& function) : named(&function) {}

    collectives::Call const* call = nullptr;
    collectives::NamedCall const* named = nullptr;
};

/// Detects the loss of an awaited rank. The rank that detects it ends the group for all ranks, also for those
/// that wait for other ranks.
class Watch {
public:
    Watch(Segment& segment, int rank, collectives::ErrorScope const& error_scope, Options const& options,
          std::unique_ptr<Liveness> liveness)
        : segment_(segment),
          rank_(rank),
          error_scope_(error_scope),
          options_(options),
          liveness_(std::move(liveness)) {}

    /// Starts a wait.
    void begin();
    /// Called periodically during the wait. Fails if an awaited rank is lost, or if another rank has ended
    /// the group. Between two calls the caller must check its condition again, because a rank may end after
    /// it has completed its part.
    Status look(std::vector<int> const& awaited, WaitingCall const& call);

    /// Fails also if any other rank has ended. Does not end the group.
    Status check() const;
    bool is_over() const { return segment_.failure().state.load(std::memory_order_acquire) == 2; }
    /// The error that has ended the group; success while it is usable.
    Status state() const;

private:
    using Clock = std::chrono::steady_clock;

    Status look_closer(std::vector<int> const& awaited, WaitingCall const& call, Clock::time_point now);
    std::optional<std::string> reason_of_end(int rank) const;
    std::optional<std::string> reason_of_loss(int awaited, Clock::time_point now);
    bool is_silent(int awaited, Clock::time_point now);
    void warn_once(int awaited, WaitingCall const& call, Clock::time_point now);
    /// Ends the group with this error, unless another rank has ended it.
    Status end_group(std::string const& text, bool is_timeout);
    std::string describe_wait(int awaited, WaitingCall const& call) const;

    Segment& segment_;
    int rank_;
    collectives::ErrorScope const& error_scope_;
    Options const& options_;
    std::unique_ptr<Liveness> liveness_;

    Clock::time_point begun_, looked_;
    bool has_warned_ = false;
    /// The knowledge about another rank during this wait.
    struct Known {
        bool is_suspect = false;
        std::optional<std::uint64_t> beat = {};
        Clock::duration silence = {};  // counted only while this process ran
    };
    std::vector<Known> known_;
};

}  // namespace det::collectives::node
