// Model checking of the agreement: explores every order in which ranks can raise notices, post, peek and
// wait.
#include <det/preemption/agreement.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <unordered_set>

using namespace det;
using namespace det::preemption;

namespace agreement_model_test {

using Role = Agreement::Role;

/// One rank of the model: the members that it reads, and the flag in which each of them posts.
struct Member {
    std::vector<Role> roles;
    std::vector<std::size_t> flags;
    std::size_t own = 0;
    Agreement::CommonNoticeRule common_notice_rule = Agreement::CommonNoticeRule::for_all;
    std::optional<std::size_t> relay_flag = {};  // the flag that its followers read
};

std::vector<Member> all_leaders(std::size_t ranks) {
    Member member{std::vector<Role>(ranks, Role::leader), {}};
    for (std::size_t i = 0; i < ranks; ++i) member.flags.push_back(i);
    std::vector<Member> members(ranks, member);
    for (std::size_t i = 0; i < ranks; ++i) members[i].own = i;
    return members;
}

/// A node of two ranks and one of one. Flags 0 and 1 are the leaders', flag 2 is the follower's.
std::vector<Member> leaders_with_followers() {
    return {{{Role::leader, Role::leader, Role::follower}, {0, 1, 2}, 0},
            {{Role::leader, Role::leader, Role::follower}, {0, 1, 2}, 2},
            {{Role::leader, Role::leader}, {0, 1}, 1}};
}

/// The same with two ranks on each node. Flags 0 and 2 are the leaders'.
std::vector<Member> leaders_of_two_nodes() {
    return {{{Role::leader, Role::follower, Role::leader}, {0, 1, 2}, 0},
            {{Role::leader, Role::follower, Role::leader}, {0, 1, 2}, 1},
            {{Role::leader, Role::leader, Role::follower}, {0, 2, 3}, 1},
            {{Role::leader, Role::leader, Role::follower}, {0, 2, 3}, 2}};
}

/// A node of two ranks and one of one. Flags 0 and 1 are the leaders', 2 and 3 what they relay, 4 is the
/// follower's.
std::vector<Member> leaders_that_relay() {
    using enum Agreement::CommonNoticeRule;
    return {{{Role::leader, Role::leader, Role::follower}, {0, 1, 4}, 0, for_leaders, 2},
            {{Role::leader, Role::follower}, {2, 4}, 1, never},
            {{Role::leader, Role::leader}, {0, 1}, 1, for_leaders, 3}};
}

/// One rank in the middle of a call: the steps of agree(), between which other ranks may run.
struct Rank {
    enum class At : std::uint8_t { before_call, preparing, posting, peeking, waiting, over };

    Member const* member;
    Agreement agreement;
    At at = At::before_call;
    std::size_t next = 0;       // the member to peek at
    PreemptState to_post = {};  // not posted yet
    bool was_agreed = false;    // at the previous call
    bool has_notice = false;
    std::uint64_t counts_from = 0;  // the first call that it began with a notice, or will begin
};

/// The states of all ranks at one moment. `seen` holds the flags.
struct World {
    std::vector<Rank> ranks;
    std::vector<PreemptState> seen;

    std::string key() const {
        std::string text;
        for (auto const& rank : ranks) {
            auto const numbers = {
                static_cast<std::uint64_t>(rank.at), rank.next,        rank.to_post.value(),
                std::uint64_t{rank.was_agreed},      rank.counts_from, rank.agreement.call()};
            for (auto const number : numbers) text.push_back(static_cast<char>(number));
            for (std::size_t index = 0; index < rank.agreement.member_count(); ++index)
                text.push_back(static_cast<char>(rank.agreement.state_of(index).value()));
        }
        for (auto const state : seen) text.push_back(static_cast<char>(state.value()));
        return text;
    }
};

/// Where other ranks may run: at every load and store, or only between the begin and the end of a call.
enum class Cuts { everywhere, between_begin_and_end };

class Model {
public:
    Model(std::vector<Member> members, std::uint64_t calls, Cuts cuts)
        : members_(std::move(members)), calls_(calls), cuts_(cuts) {
        for (auto const& member : members_) {
            start_.ranks.push_back({&member, Agreement(member.roles, member.own, member.common_notice_rule)});
            start_.seen.resize(std::max(
                {start_.seen.size(), std::ranges::max(member.flags) + 1, member.relay_flag.value_or(0) + 1}));
        }
    }

    /// Visits every reachable world once.
    void explore() {
        std::vector<World> open{start_};
        while (!open.empty()) {
            auto const world = std::move(open.back());
            open.pop_back();
            if (!known_.insert(world.key()).second) continue;
            bool can_move = false;
            for (std::size_t i = 0; i < world.ranks.size(); ++i) {
                if (auto next = raise(world, i)) open.push_back(*std::move(next));
                auto next = advance(world, i);
                can_move |= next.has_value();
                if (next) open.push_back(*std::move(next));
            }
            if (!can_move) check_end(world);
        }
    }

    std::size_t worlds() const { return known_.size(); }
    std::size_t ends_with_a_stop() const { return stops_; }

private:
    /// A rank reads the notice only at the begin of a call, so it is raised only right before one.
    static std::optional<World> raise(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        if (rank.has_notice || rank.at != Rank::At::before_call) return std::nullopt;
        rank.has_notice = true;
        rank.counts_from = rank.agreement.call() + 1;
        return world;
    }

    /// The world after the next step of the rank; nullopt if the rank has to wait, or has ended.
    std::optional<World> advance(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        auto& agreement = rank.agreement;
        switch (rank.at) {
            case Rank::At::over:
                return std::nullopt;
            case Rank::At::before_call:
                rank.was_agreed = agreement.decide();
                agreement.begin_call(rank.has_notice);
                rank.at = Rank::At::preparing;
                return cuts_ == Cuts::everywhere ? world : advance(std::move(world), i);
            case Rank::At::preparing:
                if (auto const late = agreement.awaited_before_post()) {
                    if (!set_state(world, i, *late)) return std::nullopt;
                    return advance(std::move(world), i);
                }
                rank.to_post = agreement.prepare_state_to_post();
                rank.at = Rank::At::posting;
                return cuts_ == Cuts::everywhere ? world : advance(std::move(world), i);
            case Rank::At::posting:
                world.seen[rank.member->flags[agreement.own()]] = rank.to_post;
                rank.next = 0;
                rank.at =
                    agreement.awaited() && cuts_ == Cuts::everywhere ? Rank::At::peeking : Rank::At::waiting;
                return world;
            case Rank::At::peeking:
                if (rank.next == agreement.own()) ++rank.next;
                if (rank.next < agreement.member_count()) {
                    agreement.set_state(rank.next, world.seen[rank.member->flags[rank.next]]);
                    ++rank.next;
                } else {
                    rank.at = Rank::At::waiting;
                }
                return world;
            case Rank::At::waiting:
                return wait(std::move(world), i);
        }
        return std::nullopt;
    }

    /// Returns false if the state is too old.
    static bool set_state(World& world, std::size_t i, Agreement::Awaited late) {
        auto& rank = world.ranks[i];
        auto const state = world.seen[rank.member->flags[late.member]];
        if (state.is_enough_for(late.call)) {
            rank.agreement.set_state(late.member, state);
            return true;
        }
        // A rank waits only for a rank that is more than one call behind; with a notice, for any rank behind.
        auto const own_call = rank.agreement.call();
        bool const has_notice = rank.agreement.state_of(rank.agreement.own()).is_notice();
        BOOST_REQUIRE((state.call() + (has_notice ? 0 : 1) < own_call));
        return false;
    }

    std::optional<World> wait(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        auto& agreement = rank.agreement;
        if (auto const late = agreement.awaited()) {
            if (!set_state(world, i, *late)) return std::nullopt;
            return cuts_ == Cuts::everywhere ? world : wait(std::move(world), i);
        }
        auto const call = agreement.call();
        bool answer = agreement.decide();
        if (auto const flag = rank.member->relay_flag) {
            if (!rank.was_agreed)
                world.seen[*flag] = answer ? PreemptState::of_notice(call) : PreemptState::of_call(call);
            answer = rank.was_agreed;
        }
        check_answer(world, call, answer);
        rank.at = answer || call == calls_ ? Rank::At::over : Rank::At::before_call;
        return world;
    }

    /// Call k stops for notices that leaders had before their call k-1, and for notices that all ranks had
    /// before call k. A relayed decision comes one call later. A follower's notice takes up to two calls
    /// more.
    void check_answer(World const& world, std::uint64_t call, bool answer) const {
        bool const relay_flag = members_.front().relay_flag.has_value();
        std::uint64_t const soonest = relay_flag ? 2 : 1;
        bool must_stop = false, may_stop = false;
        bool all_have = true, all_may_have = true;
        for (auto const& rank : world.ranks) {
            bool const is_follower = rank.member->roles[rank.member->own] == Role::follower;
            must_stop |= has_had_notice(rank, soonest + (is_follower ? 2 : 0), call);
            // A follower may be one call ahead of its leader.
            may_stop |= has_had_notice(rank, soonest - (is_follower && !relay_flag ? 1 : 0), call);
            if (is_follower && relay_flag) continue;
            all_have &= has_had_notice(rank, soonest - 1, call);
            all_may_have &= has_had_notice(rank, soonest - 1, call) ||
                            follower_had_notice(world, rank, soonest - 1, call);
        }
        BOOST_REQUIRE((answer ? may_stop || all_may_have : !must_stop && !all_have));
    }

    static bool has_had_notice(Rank const& rank, std::uint64_t calls, std::uint64_t call) {
        return rank.has_notice && rank.counts_from + calls <= call;
    }

    /// Whether the follower of this leader had a notice. There is one follower.
    static bool follower_had_notice(World const& world, Rank const& leader, std::uint64_t calls,
                                    std::uint64_t call) {
        return std::ranges::count(leader.member->roles, Role::follower) > 0 &&
               std::ranges::any_of(world.ranks, [&](Rank const& rank) {
                   return rank.member->roles[rank.member->own] == Role::follower &&
                          has_had_notice(rank, calls, call);
               });
    }

    void check_end(World const& world) {
        auto const call = world.ranks.front().agreement.call();
        for (auto const& rank : world.ranks) {
            BOOST_REQUIRE((rank.at == Rank::At::over));  // no rank waits for ever
            BOOST_REQUIRE(rank.agreement.call() == call);
        }
        stops_ += world.ranks.front().agreement.decide() ? 1 : 0;
    }

    std::vector<Member> members_;
    World start_;
    std::uint64_t calls_;
    Cuts cuts_;
    std::unordered_set<std::string> known_;
    std::size_t stops_ = 0;
};

}  // namespace agreement_model_test

BOOST_AUTO_TEST_SUITE(agreement_model_test)

BOOST_AUTO_TEST_CASE(in_every_order_of_events_all_ranks_stop_at_the_same_call) {
    struct Size {
        std::vector<Member> members;
        std::uint64_t calls;
        Cuts cuts;
    };
    for (auto const& size :
         {Size{all_leaders(2), 5, Cuts::everywhere}, Size{all_leaders(3), 4, Cuts::between_begin_and_end},
          Size{all_leaders(4), 2, Cuts::between_begin_and_end},
          Size{leaders_with_followers(), 4, Cuts::between_begin_and_end},
          Size{leaders_of_two_nodes(), 2, Cuts::between_begin_and_end},
          Size{leaders_that_relay(), 5, Cuts::between_begin_and_end}}) {
        Model model(size.members, size.calls, size.cuts);
        model.explore();
        BOOST_TEST_MESSAGE(size.members.size() << " ranks: " << model.worlds() << " worlds");
        BOOST_TEST(model.worlds() > 1'000u);
        BOOST_TEST(model.ends_with_a_stop() > 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
