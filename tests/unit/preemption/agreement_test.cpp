// Tests what single calls of the agreement post, wait for and return.
#include <det/preemption/agreement.hpp>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <random>
#include <thread>

#include "check_result.hpp"

using namespace det;
using namespace det::preemption;

namespace agreement_test {

using Role = Agreement::Role;

/// States in memory that threads share.
class AtomicFlags final : public Channel {
public:
    AtomicFlags(std::vector<std::atomic<std::uint64_t>>& states, std::size_t own)
        : states_(states), own_(own) {}
    Status post(PreemptState state) override {
        states_[own_].store(state.value(), std::memory_order_release);
        return Ok{};
    }
    PreemptState peek(std::size_t member) override {
        return PreemptState::from(states_[member].load(std::memory_order_acquire));
    }
    Result<PreemptState> wait(Agreement::Awaited awaited) override {
        auto const [member, call] = awaited;
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!peek(member).is_enough_for(call)) {
            if (std::chrono::steady_clock::now() > limit) return Error{codes::timed_out, "no state came"};
            std::this_thread::yield();
        }
        return peek(member);
    }
    Status relay(PreemptState) override { return Error{codes::misuse, "all ranks are leaders"}; }

private:
    std::vector<std::atomic<std::uint64_t>>& states_;
    std::size_t own_;
};

/// Begins a call and returns the state that the rank posts.
PreemptState begin(Agreement& agreement, bool has_notice) {
    agreement.begin_call(has_notice);
    return agreement.prepare_state_to_post();
}

}  // namespace agreement_test

BOOST_AUTO_TEST_SUITE(agreement_test)

BOOST_AUTO_TEST_CASE(a_notice_of_one_rank_before_the_first_call_stops_all_ranks_at_the_second) {
    Agreement agreement({Role::leader, Role::leader}, 0);
    BOOST_TEST((begin(agreement, true) == PreemptState::of_common_notice(1)));
    BOOST_TEST(agreement.awaited().value().member == 1u);  // it may have a notice too
    agreement.set_state(1, PreemptState::of_call(1));
    BOOST_TEST(!agreement.awaited());
    BOOST_TEST(!agreement.decide());
    BOOST_TEST((begin(agreement, true) == PreemptState::of_common_notice(1)));
    BOOST_TEST(!agreement.awaited());  // the decision does not depend on the others
    BOOST_TEST(agreement.decide());
}

BOOST_AUTO_TEST_CASE(a_notice_of_all_ranks_stops_them_at_the_call_that_they_begin_with_it) {
    Agreement agreement({Role::leader, Role::leader, Role::leader}, 0);
    begin(agreement, true);
    agreement.set_state(1, PreemptState::of_common_notice(1));
    BOOST_TEST(!agreement.decide());
    BOOST_TEST(agreement.awaited().value().member == 2u);
    agreement.set_state(2, PreemptState::of_common_notice(1));
    BOOST_TEST(!agreement.awaited());
    BOOST_TEST(agreement.decide());
    // A rank that has it one call later reads it from the others.
    Agreement later({Role::leader, Role::leader}, 0);
    begin(later, false);
    later.set_state(1, PreemptState::of_common_notice(1));
    BOOST_TEST(!later.decide());
    begin(later, true);
    BOOST_TEST(later.decide());
}

BOOST_AUTO_TEST_CASE(a_leader_posts_a_common_notice_when_all_ranks_of_its_node_have_one) {
    Agreement leader({Role::leader, Role::follower, Role::follower}, 0);
    leader.begin_call(true);
    BOOST_TEST(leader.awaited_before_post().value().member == 1u);
    leader.set_state(1, PreemptState::of_notice(1));
    BOOST_TEST(leader.awaited_before_post().value().member == 2u);
    auto divided = leader;
    leader.set_state(2, PreemptState::of_notice(1));
    BOOST_TEST(!leader.awaited_before_post());
    BOOST_TEST((leader.prepare_state_to_post() == PreemptState::of_common_notice(1)));
    BOOST_TEST(leader.decide());
    divided.set_state(2, PreemptState::of_call(1));
    BOOST_TEST((divided.prepare_state_to_post() == PreemptState::of_notice(1)));
    BOOST_TEST(!divided.decide());
    divided.begin_call(true);
    BOOST_TEST(!divided.awaited_before_post());
    BOOST_TEST(divided.decide());
}

BOOST_AUTO_TEST_CASE(a_leader_takes_over_the_notice_of_a_follower) {
    Agreement leader({Role::leader, Role::follower, Role::leader}, 0);
    begin(leader, false);
    leader.set_state(1, PreemptState::of_notice(1));
    leader.set_state(2, PreemptState::of_call(1));
    BOOST_TEST(!leader.decide());
    BOOST_TEST((begin(leader, false) == PreemptState::of_common_notice(2)));
    leader.set_state(2, PreemptState::of_call(2));
    BOOST_TEST(!leader.decide());
    begin(leader, false);
    BOOST_TEST(leader.decide());
    // A follower waits for the leaders.
    Agreement follower({Role::leader, Role::follower}, 1);
    BOOST_TEST((begin(follower, true) == PreemptState::of_notice(1)));
    begin(follower, true);
    BOOST_TEST(!follower.decide());
    BOOST_TEST(follower.awaited().value().member == 0u);
    follower.set_state(0, PreemptState::of_notice(1));
    BOOST_TEST(follower.decide());
}

BOOST_AUTO_TEST_CASE(threads_stop_at_the_same_call_at_whichever_call_a_notice_comes) {
    constexpr std::size_t ranks = 3;
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::atomic<std::uint64_t>> states(ranks);
        std::array<std::uint64_t, ranks> stopped_at{};
        std::vector<std::thread> threads;
        for (std::size_t own = 0; own < ranks; ++own) {
            // One rank has a notice at call 100 at the latest.
            auto const notice_at = std::uniform_int_distribution<std::uint64_t>(1, 100)(random);
            threads.emplace_back([&, own, notice_at] {
                Agreement agreement(std::vector<Role>(ranks, Role::leader), own);
                AtomicFlags channel(states, own);
                for (std::uint64_t call = 1;; ++call) {
                    auto const stop = agree(agreement, channel, call >= notice_at);
                    if (!stop) return;
                    if (!*stop) continue;
                    stopped_at[own] = call;
                    return;
                }
            });
        }
        for (auto& thread : threads) thread.join();
        BOOST_TEST(stopped_at[0] > 0u);
        BOOST_TEST(stopped_at[0] == stopped_at[1]);
        BOOST_TEST(stopped_at[0] == stopped_at[2]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
