// The ranks of a training call should_preempt() at the same steps, but get the notice at different times. All
// must stop at the same call: a rank that trained on alone would wait for ever in its next collective
// operation. An agreement or a save in the signal handler would interrupt other operations: the handler of
// Lightning, which saves, sometimes never completes (issue 21406 of pytorch-lightning). So each rank posts
// one state per call, and call k is true if
//
// - (a) a leader had a notice at call k-1 or earlier, or
// - (b) all ranks had a notice when they began call k.
//
// A rank writes only its own state, and a state with a notice never changes. A rank decides call k when it
// has seen a notice of a leader from before call k, or has each leader's state of call k-1 or later. So every
// rank answers (a) alike: a leader that had a notice at call c < k posts no state without a notice from c on,
// so its state of call k-1 or later shows the notice. Only a rank with a notice can find (b) true, and it
// waits for the states of call k; for a rank without a notice (b) is false, which its state shows to the
// others. Followers are represented by the leader of their node: it posts a common notice only if all of its
// followers have a notice, and takes over the notice of one follower at its next call.
//
// Why it ends: a rank posts its state of call k before it waits for other leaders, and waits at most for
// states of call k. A leader with a notice waits for its followers' states of call k before it posts
// (for_all); followers post without waiting. A lost rank ends the wait with an Error of the Channel.
//
// Cost: without a notice a state has the time of one step to arrive, so usually no rank waits. Slurm notifies
// all nodes at the same time, so (b) is the usual end and saves the step that (a) would train in vain.
// agreement_model_test explores every order of events of two to four ranks.
#include <det/preemption/agreement.hpp>

#include <algorithm>
#include <utility>

namespace det::preemption {

Agreement::Agreement(std::vector<Role> roles, std::size_t own, CommonNoticeRule common_notice_rule)
    : roles_(std::move(roles)), states_(roles_.size()), own_(own), common_notice_rule_(common_notice_rule) {}

bool Agreement::follower_has_notice() const {
    if (roles_[own_] == Role::follower) return false;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (roles_[i] == Role::follower && states_[i].is_notice()) return true;
    }
    return false;
}

bool Agreement::leader_had_notice() const {
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (roles_[i] == Role::leader && states_[i].is_notice_before(call_)) return true;
    }
    return false;
}

/// Whether this rank has a notice and no leader is known to have begun this call without one, or with a
/// follower that had none.
bool Agreement::all_may_have_notice() const {
    if (common_notice_rule_ == CommonNoticeRule::never || !states_[own_].is_notice()) return false;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        bool const has_posted = states_[i].call() >= call_;
        if (roles_[i] == Role::leader && has_posted && !states_[i].is_common_notice_at(call_)) return false;
    }
    return true;
}

void Agreement::begin_call(bool has_notice) {
    ++call_;
    auto& state = states_[own_];
    if (state.is_notice()) return;
    state =
        has_notice || follower_has_notice() ? PreemptState::of_notice(call_) : PreemptState::of_call(call_);
}

std::optional<Agreement::Awaited> Agreement::awaited_before_post() const {
    bool const leads_followers =
        roles_[own_] == Role::leader && common_notice_rule_ == CommonNoticeRule::for_all;
    if (!leads_followers || states_[own_] != PreemptState::of_notice(call_)) return std::nullopt;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (roles_[i] == Role::follower && !states_[i].is_enough_for(call_ + 1)) return Awaited{i, call_ + 1};
    }
    return std::nullopt;
}

PreemptState Agreement::prepare_state_to_post() {
    auto& state = states_[own_];
    if (roles_[own_] == Role::follower || state != PreemptState::of_notice(call_)) return state;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        bool const counts = roles_[i] == Role::follower && common_notice_rule_ == CommonNoticeRule::for_all;
        if (counts && !states_[i].is_notice_before(call_ + 1)) return state;
    }
    return state = PreemptState::of_common_notice(call_);
}

std::optional<Agreement::Awaited> Agreement::awaited() const {
    if (leader_had_notice()) return std::nullopt;
    bool const waits_for_all = all_may_have_notice();
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        auto const call = waits_for_all && roles_[i] == Role::leader ? call_ + 1 : call_;
        if (!states_[i].is_enough_for(call)) return Awaited{i, call};
    }
    return std::nullopt;
}

bool Agreement::decide() const {
    if (leader_had_notice()) return true;
    if (!all_may_have_notice()) return false;
    for (std::size_t i = 0; i < roles_.size(); ++i) {
        if (roles_[i] == Role::leader && !states_[i].is_common_notice_at(call_)) return false;
    }
    return true;
}

Result<bool> agree(Agreement& agreement, Channel& channel, bool has_notice) {
    agreement.begin_call(has_notice);
    while (auto const late = agreement.awaited_before_post()) {
        DET_TRY_ASSIGN(auto const state, channel.wait(*late));
        agreement.set_state(late->member, state);
    }
    DET_TRY(channel.post(agreement.prepare_state_to_post()));
    if (agreement.awaited()) {
        for (std::size_t member = 0; member < agreement.member_count(); ++member) {
            if (member != agreement.own()) agreement.set_state(member, channel.peek(member));
        }
    }
    while (auto const late = agreement.awaited()) {
        DET_TRY_ASSIGN(auto const state, channel.wait(*late));
        agreement.set_state(late->member, state);
    }
    return agreement.decide();
}

Result<bool> agree_and_relay(Agreement& agreement, Channel& channel, bool has_notice) {
    bool const was_agreed = agreement.decide();
    DET_TRY_ASSIGN(bool const is_agreed, agree(agreement, channel, has_notice));
    auto const call = agreement.call();
    if (!was_agreed)
        DET_TRY(channel.relay(is_agreed ? PreemptState::of_notice(call) : PreemptState::of_call(call)));
    return was_agreed;
}

}  // namespace det::preemption
