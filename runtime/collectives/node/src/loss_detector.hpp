#pragma once
#include <det/collectives/control_channel.hpp>
#include <det/liveness/heartbeat.hpp>
#include <det/liveness/peer_process.hpp>
#include <det/liveness/wait_recorder.hpp>

#include "rank_slot.hpp"

namespace det::collectives::node {

/// The call in which this rank waits, for messages: a collective operation or another function.
struct WaitingCall {
    WaitingCall(collectives::Call const& operation) : call(&operation) {}
    WaitingCall(collectives::NamedCall const& function) : named(&function) {}

    collectives::Call const* call = nullptr;
    collectives::NamedCall const* named = nullptr;
};

/// Detects that a rank for which this rank waits is lost. The rank that detects it writes the Failure of the
/// group, so all ranks get the Error, also those that wait for other ranks.
class LossDetector {
public:
    LossDetector(ControlMemory& control, int rank, collectives::ErrorScope const& error_scope,
                 Options const& options);

    /// Begins a wait.
    void begin();
    /// Called from time to time during a wait. Fails if an awaited rank is lost, the time limit has passed or
    /// the group has ended. Between two calls the caller must poll for the event that it waits for, because a
    /// rank may end after it has done its part.
    Status check(std::vector<int> const& awaited, WaitingCall const& call);

    /// Fails if the group has ended, or if any other rank has left or its process has ended, even if no rank
    /// waits for that rank. Does not end the group.
    Status check_all() const;
    /// Records that this rank has waited for rank `awaited` since begin().
    void record(liveness::RecordedWait& wait, int awaited, WaitingCall const& call) const;
    liveness::WaitRecorder* recorder() const { return options_.waits.recorder.get(); }
    bool is_over() const { return control_.failure().state.load(std::memory_order_acquire) == 2; }
    /// The Error that ended the group, or Ok while it has not ended.
    Status state() const;

private:
    using Clock = liveness::WaitTimer::Clock;

    Status check_each(std::vector<int> const& awaited, WaitingCall const& call, Clock::time_point now);
    std::optional<std::string> reason_of_end(int rank) const;
    std::optional<std::string> reason_of_loss(int awaited, Clock::time_point now);
    bool is_silent(int awaited, Clock::time_point now);
    /// Ends the group with this Error, unless another rank has already ended it. Returns the Error of the
    /// group; this Error, if the rank that ends the group is lost before it has written its own.
    Status end_group(std::string const& text, bool is_timeout);
    std::string describe_loss(int rank, std::string_view reason) const;
    std::string describe_wait(int awaited, WaitingCall const& call) const;

    ControlMemory& control_;
    int rank_;
    collectives::ErrorScope const& error_scope_;
    Options const& options_;
    std::vector<liveness::PeerProcess> processes_;  // by rank; empty if ranks are threads

    liveness::WaitTimer timer_;
    Clock::time_point began_;
    Clock::time_point checked_;
    /// The observations of another rank in this wait.
    struct Observed {
        bool is_suspect = false;
        liveness::HeartbeatObserver heartbeat = {};
    };
    std::vector<Observed> observed_;
};

using liveness::Cores;
/// Whether each rank can have a core of its own: whether the cores of all ranks together are at least as many
/// as the ranks.
Cores cores_of(ControlMemory const& control);

/// One wait for other ranks: a Backoff that sleeps on the futex of the group, and checks that the awaited
/// ranks are alive.
class Wait {
public:
    Wait(RankSlot const& slot, LossDetector& losses, Cores cores)
        : slot_(slot),
          losses_(losses),
          backoff_(cores, {.polls = 20'000, .polls_per_yield = 1}),
          recorded_(losses.recorder()) {}

    /// Begins the next wait, after the awaited event has happened.
    void begin_again() {
        backoff_.restart();
        recorded_.end();
    }
    /// Called after each poll that found nothing. Fails as LossDetector::check() does.
    template <class FindAwaited>
    Status pause(FindAwaited const& find_awaited, WaitingCall const& call) {
        if (backoff_.spin()) {
            liveness::cpu_relax();
            return Ok{};
        }
        if (!pause_longer()) return Ok{};
        auto const awaited = find_awaited();
        if (recorded_.is_wanted() && !awaited.empty()) losses_.record(recorded_, awaited.front(), call);
        return losses_.check(awaited, call);
    }

private:
    /// Yields or sleeps.
    /// \return whether it is time to check that the awaited ranks are alive.
    bool pause_longer();

    RankSlot const& slot_;
    LossDetector& losses_;
    liveness::Backoff backoff_;
    liveness::RecordedWait recorded_;
};

}  // namespace det::collectives::node
