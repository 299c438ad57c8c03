#pragma once
#include <det/collectives/control_channel.hpp>
#include <det/liveness/peer_process.hpp>

#include <chrono>
#include <memory>
#include <optional>

#include "segment.hpp"

namespace det::collectives::node {

inline constexpr char loss_hint[] = "end this rank, or make a new group of those that are left";

/// Writes this process, its node and its cores into `member`. Does not mark the member as present.
void introduce(Member& member, Options const& options);

/// The call in which this rank waits, for messages: a collective operation or another function.
struct WaitingCall {
    WaitingCall(collectives::Call const& operation) : call(&operation) {}
    WaitingCall(collectives::NamedCall const& function) : named(&function) {}

    collectives::Call const* call = nullptr;
    collectives::NamedCall const* named = nullptr;
};

/// Detects that a rank for which this rank waits is lost. The rank that detects it writes the Failure of the
/// group, so all ranks get the Error, also those that wait for other ranks.
class Watch {
public:
    Watch(Segment& segment, int rank, collectives::ErrorScope const& error_scope, Options const& options)
        : segment_(segment), rank_(rank), error_scope_(error_scope), options_(options) {
        // Ranks that are threads end by leaving.
        if (options.members == Members::threads) return;
        for (int each = 0; each < segment.ranks(); ++each)
            processes_.emplace_back(segment.member(each).pid, segment.member(each).pid_namespace);
    }

    /// Begins a wait.
    void begin();
    /// Called from time to time during a wait. Fails if an awaited rank is lost, the collective timeout has
    /// passed or the group has ended. Between two calls the caller must poll for the event that it waits for,
    /// because a rank may end after it has done its part.
    Status look(std::vector<int> const& awaited, WaitingCall const& call);

    /// Fails if the group has ended, or if any other rank has left or its process has ended, even if no rank
    /// waits for that rank. Does not end the group.
    Status check() const;
    bool is_over() const { return segment_.failure().state.load(std::memory_order_acquire) == 2; }
    /// The Error that ended the group, or Ok while it has not ended.
    Status state() const;

private:
    using Clock = std::chrono::steady_clock;

    Status look_closer(std::vector<int> const& awaited, WaitingCall const& call, Clock::time_point now);
    std::optional<std::string> reason_of_end(int rank) const;
    std::optional<std::string> reason_of_loss(int awaited, Clock::time_point now);
    bool is_silent(int awaited, Clock::time_point now);
    void warn_once(int awaited, WaitingCall const& call, Clock::time_point now);
    /// Ends the group with this Error, unless another rank has already ended it. Returns the Error of the
    /// group.
    Status end_group(std::string const& text, bool is_timeout);
    std::string describe_wait(int awaited, WaitingCall const& call) const;

    Segment& segment_;
    int rank_;
    collectives::ErrorScope const& error_scope_;
    Options const& options_;
    std::vector<liveness::PeerProcess> processes_;  // by rank; empty if ranks are threads

    Clock::time_point begun_, looked_;
    bool has_warned_ = false;
    /// The observations of another rank in this wait.
    struct Known {
        bool is_suspect = false;
        std::optional<std::uint64_t> beat = {};
        Clock::duration silence = {};  // time without a heartbeat, while this process was running
    };
    std::vector<Known> known_;
};

}  // namespace det::collectives::node
