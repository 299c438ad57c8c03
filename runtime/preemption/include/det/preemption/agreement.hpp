#pragma once
#include <det/foundation/result.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace det::preemption {

/// What a rank publishes: the number of calls of should_preempt() that it has begun without a notice, or the
/// call at which it had one. A published state with a notice does not change any more. It is one 64-bit
/// number, so that one store and one load of shared memory are enough.
class PreemptState {
public:
    constexpr PreemptState() = default;
    static constexpr PreemptState of_call(std::uint64_t call) { return PreemptState(call << 2); }
    static constexpr PreemptState of_notice(std::uint64_t call) {
        return PreemptState(call << 2 | notice_bit);
    }
    /// All ranks that this state stands for had a notice when they began the call.
    static constexpr PreemptState of_common_notice(std::uint64_t call) {
        return PreemptState(call << 2 | notice_bit | common_bit);
    }
    static constexpr PreemptState from(std::uint64_t value) { return PreemptState(value); }

    constexpr std::uint64_t value() const { return value_; }
    constexpr std::uint64_t call() const { return value_ >> 2; }
    constexpr bool is_notice() const { return (value_ & notice_bit) != 0; }
    /// Whether another rank can decide its call `call` with this state: it must cover call `call` - 1.
    constexpr bool is_enough_for(std::uint64_t call) const { return is_notice() || this->call() + 1 >= call; }
    constexpr bool is_notice_before(std::uint64_t call) const { return is_notice() && this->call() < call; }
    constexpr bool is_common_notice_at(std::uint64_t call) const { return *this == of_common_notice(call); }
    friend constexpr bool operator==(PreemptState, PreemptState) = default;

private:
    static constexpr std::uint64_t notice_bit = 1, common_bit = 2;

    explicit constexpr PreemptState(std::uint64_t value) : value_(value) {}
    std::uint64_t value_ = 0;  // the call, above two bits
};

/// The rule by which all ranks stop at the same call of should_preempt(). Pure.
///
/// Call k returns true on every rank if a leader had a notice at its call k-1 or earlier. A rank therefore
/// waits only for ranks that are more than one call behind, and a state has the time of one training step to
/// arrive.
///
/// Call k also returns true if all ranks had a notice when they began it. Slurm notifies all nodes at the
/// same time, so this is the common case, and no step is trained in vain. Only a rank with a notice can find
/// this out: it waits for the states of the other ranks at call k. A rank without a notice knows that the
/// condition is false and continues.
class Agreement {
public:
    /// The states of leaders decide. A follower is represented by the leader of its node, which takes over
    /// the follower's notice.
    enum class Role { leader, follower };
    /// Which members may stop at the same call at which all of them have a notice.
    enum class CommonNoticeRule {
        never,
        for_leaders,  // leaders only; followers get the leaders' decision (agree_and_relay())
        for_all,      // followers decide as leaders do
    };
    /// The state of `member` is needed for `call`.
    struct Awaited {
        std::size_t member = 0;
        std::uint64_t call = 0;
    };

    /// \param roles of all members whose states this rank reads, its own included.
    /// \param own index of this rank in `roles`.
    Agreement(std::vector<Role> roles, std::size_t own,
              CommonNoticeRule common_notice_rule = CommonNoticeRule::for_all);

    /// Begins the next call.
    void begin_call(bool has_notice);
    /// The member whose state is needed before this rank can post its own; nullopt: post now.
    std::optional<Awaited> awaited_before_post() const;
    /// Returns the state that this rank must post in this call. If this rank is a leader with a notice of
    /// this call (for_all: and all its followers have one too), first changes its state to a common notice.
    PreemptState prepare_state_to_post();
    void set_state(std::size_t member, PreemptState state) { states_[member] = state; }
    /// A member whose state is too old for this call; none: call decide(). If a leader had a notice at an
    /// earlier call, no further state is needed.
    std::optional<Awaited> awaited() const;
    /// Whether all ranks stop at this call. Requires that awaited() is none.
    bool decide() const;

    PreemptState state_of(std::size_t member) const { return states_[member]; }
    std::uint64_t call() const { return call_; }
    /// The number of members whose states this rank reads, its own included; not the number of ranks.
    std::size_t member_count() const { return roles_.size(); }
    std::size_t own() const { return own_; }

private:
    bool follower_has_notice() const;
    bool leader_had_notice() const;
    bool all_may_have_notice() const;

    std::vector<Role> roles_;
    std::vector<PreemptState> states_;
    std::size_t own_;
    CommonNoticeRule common_notice_rule_;
    std::uint64_t call_ = 0;
};

/// Carries states between ranks.
class Channel {
public:
    virtual ~Channel() = default;
    /// Publishes this rank's state to the ranks that read it. Does not block.
    virtual Status post(PreemptState state) = 0;
    /// The newest state of `member` that this rank has read. Does not block.
    virtual PreemptState peek(std::size_t member) = 0;
    /// Blocks until the member's state is enough for the call.
    /// \return codes::transport if a rank is lost; codes::timed_out at the time limit of the WaitPolicy
    virtual Result<PreemptState> wait(Agreement::Awaited awaited) = 0;
    /// Publishes the leaders' decision to the followers of this node, if it has any.
    virtual Status relay(PreemptState agreed) = 0;
};

/// Makes one call of should_preempt(). Returns whether all ranks stop at this call.
Result<bool> agree(Agreement& agreement, Channel& channel, bool has_notice);
/// Like agree(), for a leader that relays the result to its followers. A follower reads the result of call
/// k-1 only at its call k, so leaders too return at call k what they agreed on at call k-1.
Result<bool> agree_and_relay(Agreement& agreement, Channel& channel, bool has_notice);

}  // namespace det::preemption
