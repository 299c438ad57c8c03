#pragma once
#include <det/collectives/control_channel.hpp>
#include <det/liveness/peer_process.hpp>

#include <chrono>
#include <memory>
#include <optional>

#include "segment.hpp"

namespace det::collectives::node {

inline constexpr char loss_hint[] = "end this rank, or make a new group of those that are left";

/// Fills in which process the member is, on which node and cores; does not mark it as present.
void introduce(Member& member, Options const& options);

/// The call in which this rank waits, for messages: a collective operation or another function.
struct WaitingCall {
    WaitingCall(collectives::Call const& operation) : call(&operation) {}
    WaitingCall(collectives::NamedCall const& function) : named(&function) {}

    collectives::Call const* call = nullptr;
    collectives::NamedCall const* named = nullptr;
};

/// Sees that somebody who is awaited is lost. What one rank sees, all are told: those who wait for others who
/// wait for the lost one as well.
class Watch {
public:
    Watch(Segment& segment, int rank, collectives::ErrorScope const& error_scope, Options const& options)
        : segment_(segment), rank_(rank), error_scope_(error_scope), options_(options) {
        // Ranks that are threads end by leaving.
        if (options.members == Members::threads) return;
        for (int each = 0; each < segment.ranks(); ++each)
            processes_.emplace_back(segment.member(each).pid, segment.member(each).pid_namespace);
    }

    /// One wait begins.
    void begin();
    /// While it lasts, now and then: an Error once `awaited` is lost, or the group has ended by what another
    /// saw. Between two calls the caller looks whether what it waits for has come: a rank may end after it
    /// did its part.
    Status look(std::vector<int> const& awaited, WaitingCall const& call);

    /// An Error too where another rank has ended, though nobody waits for it. The group goes on.
    Status check() const;
    bool is_over() const { return segment_.failure().state.load(std::memory_order_acquire) == 2; }
    /// What has ended the group, once it has.
    Status state() const;

private:
    using Clock = std::chrono::steady_clock;

    Status look_closer(std::vector<int> const& awaited, WaitingCall const& call, Clock::time_point now);
    std::optional<std::string> reason_of_end(int rank) const;
    std::optional<std::string> reason_of_loss(int awaited, Clock::time_point now);
    bool is_silent(int awaited, Clock::time_point now);
    void warn_once(int awaited, WaitingCall const& call, Clock::time_point now);
    /// Ends the group, unless somebody else has.
    Status end_group(std::string const& text, bool is_timeout);
    std::string describe_wait(int awaited, WaitingCall const& call) const;

    Segment& segment_;
    int rank_;
    collectives::ErrorScope const& error_scope_;
    Options const& options_;
    std::vector<liveness::PeerProcess> processes_;  // by rank; empty if ranks are threads

    Clock::time_point begun_, looked_;
    bool has_warned_ = false;
    /// What is known of another rank in this wait.
    struct Known {
        bool is_suspect = false;
        std::optional<std::uint64_t> beat = {};
        Clock::duration silence = {};  // as long as we were awake
    };
    std::vector<Known> known_;
};

}  // namespace det::collectives::node
