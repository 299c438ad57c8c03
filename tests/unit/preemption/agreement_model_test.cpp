// The agreement as a model: every order in which ranks can raise notices, tell, look and wait is gone
// through.
#include <det/preemption/agreement.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <string>
#include <unordered_set>

using namespace det;
using namespace det::preemption;

namespace {

using Part = Agreement::Part;

/// Where a rank finds the words of its parts, among the lines that ranks can read.
struct Seat {
    std::vector<Part> parts;
    std::vector<std::size_t> lines;
    std::size_t own = 0;
    Agreement::AtOnce at_once = Agreement::AtOnce::for_all;
    std::optional<std::size_t> passes_on = {};  // the line for those of its node
};

std::vector<Seat> all_voices(std::size_t ranks) {
    Seat seat{std::vector<Part>(ranks, Part::voice), {}};
    for (std::size_t i = 0; i < ranks; ++i) seat.lines.push_back(i);
    std::vector<Seat> seats(ranks, seat);
    for (std::size_t i = 0; i < ranks; ++i) seats[i].own = i;
    return seats;
}

/// A node of two ranks and one of one. Lines 0 and 1 are the voices', 2 that of the rank beside the first.
std::vector<Seat> voices_that_speak_for_others() {
    return {{{Part::voice, Part::voice, Part::request}, {0, 1, 2}, 0},
            {{Part::voice, Part::voice, Part::request}, {0, 1, 2}, 2},
            {{Part::voice, Part::voice}, {0, 1}, 1}};
}

/// The same with two ranks on each node. Lines 0 and 2 are the voices'.
std::vector<Seat> voices_of_two_nodes() {
    return {{{Part::voice, Part::request, Part::voice}, {0, 1, 2}, 0},
            {{Part::voice, Part::request, Part::voice}, {0, 1, 2}, 1},
            {{Part::voice, Part::voice, Part::request}, {0, 2, 3}, 1},
            {{Part::voice, Part::voice, Part::request}, {0, 2, 3}, 2}};
}

/// A node of two ranks and one of one. Lines 0 and 1 are the voices', 2 and 3 what they pass on, 4 the
/// other's.
std::vector<Seat> voices_that_pass_on() {
    using enum Agreement::AtOnce;
    return {{{Part::voice, Part::voice, Part::request}, {0, 1, 4}, 0, for_voices, 2},
            {{Part::voice, Part::request}, {2, 4}, 1, never},
            {{Part::voice, Part::voice}, {0, 1}, 1, for_voices, 3}};
}

/// One rank in the middle of a call: what `agree` does, cut where another rank can come between.
struct Rank {
    enum class At : std::uint8_t { before_call, speaking, telling, looking, waiting, over };

    Seat const* seat;
    Agreement agreement;
    At at = At::before_call;
    std::size_t next = 0;     // to be looked at
    Word said = {};           // what it is about to tell
    bool was_agreed = false;  // at the call before
    bool has_notice = false;
    std::uint64_t counts_from = 0;  // the first call that it began with a notice, or will begin
};

/// What `seen` holds is what ranks can read.
struct World {
    std::vector<Rank> ranks;
    std::vector<Word> seen;

    std::string key() const {
        std::string text;
        for (auto const& rank : ranks) {
            auto const numbers = {
                static_cast<std::uint64_t>(rank.at), rank.next,        rank.said.value(),
                std::uint64_t{rank.was_agreed},      rank.counts_from, rank.agreement.call()};
            for (auto const number : numbers) text.push_back(static_cast<char>(number));
            for (std::size_t part = 0; part < rank.agreement.size(); ++part)
                text.push_back(static_cast<char>(rank.agreement.heard(part).value()));
        }
        for (auto const word : seen) text.push_back(static_cast<char>(word.value()));
        return text;
    }
};

/// Where another rank may come between: at every load and store, or between calls' beginnings and ends.
enum class Cuts { everywhere, between_begin_and_end };

class Model {
public:
    Model(std::vector<Seat> seats, std::uint64_t calls, Cuts cuts)
        : seats_(std::move(seats)), calls_(calls), cuts_(cuts) {
        for (auto const& seat : seats_) {
            start_.ranks.push_back({&seat, Agreement(seat.parts, seat.own, seat.at_once)});
            start_.seen.resize(std::max(
                {start_.seen.size(), std::ranges::max(seat.lines) + 1, seat.passes_on.value_or(0) + 1}));
        }
    }

    /// Every world that can be reached, once.
    void explore() {
        std::vector<World> open{start_};
        while (!open.empty()) {
            auto const world = std::move(open.back());
            open.pop_back();
            if (!known_.insert(world.key()).second) continue;
            bool can_move = false;
            for (std::size_t i = 0; i < world.ranks.size(); ++i) {
                if (auto next = raise(world, i)) open.push_back(*std::move(next));
                auto next = go_on(world, i);
                can_move |= next.has_value();
                if (next) open.push_back(*std::move(next));
            }
            if (!can_move) check_end(world);
        }
    }

    std::size_t worlds() const { return known_.size(); }
    std::size_t ends_with_a_stop() const { return stops_; }

private:
    /// Only a call that begins looks at it: so it is enough that it comes right before any of them.
    static std::optional<World> raise(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        if (rank.has_notice || rank.at != Rank::At::before_call) return std::nullopt;
        rank.has_notice = true;
        rank.counts_from = rank.agreement.call() + 1;
        return world;
    }

    /// Nothing when it has to wait, or has ended.
    std::optional<World> go_on(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        auto& agreement = rank.agreement;
        switch (rank.at) {
            case Rank::At::over:
                return std::nullopt;
            case Rank::At::before_call:
                rank.was_agreed = agreement.decide();
                agreement.begin_call(rank.has_notice);
                rank.at = Rank::At::speaking;
                return cuts_ == Cuts::everywhere ? world : go_on(std::move(world), i);
            case Rank::At::speaking:
                if (auto const late = agreement.awaited_to_speak()) {
                    if (!hear(world, i, *late)) return std::nullopt;
                    return go_on(std::move(world), i);
                }
                rank.said = agreement.speak();
                rank.at = Rank::At::telling;
                return cuts_ == Cuts::everywhere ? world : go_on(std::move(world), i);
            case Rank::At::telling:
                world.seen[rank.seat->lines[agreement.own()]] = rank.said;
                rank.next = 0;
                rank.at =
                    agreement.awaited() && cuts_ == Cuts::everywhere ? Rank::At::looking : Rank::At::waiting;
                return world;
            case Rank::At::looking:
                if (rank.next == agreement.own()) ++rank.next;
                if (rank.next < agreement.size()) {
                    agreement.hear(rank.next, world.seen[rank.seat->lines[rank.next]]);
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

    /// False: it has told too little.
    static bool hear(World& world, std::size_t i, Agreement::Awaited late) {
        auto& rank = world.ranks[i];
        auto const word = world.seen[rank.seat->lines[late.part]];
        if (word.is_enough_for(late.call)) {
            rank.agreement.hear(late.part, word);
            return true;
        }
        // Whoever is waited for is more than one call behind; who has a notice waits for anybody behind.
        auto const own_call = rank.agreement.call();
        bool const has_notice = rank.agreement.heard(rank.agreement.own()).is_notice();
        BOOST_REQUIRE((word.call() + (has_notice ? 0 : 1) < own_call));
        return false;
    }

    std::optional<World> wait(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        auto& agreement = rank.agreement;
        if (auto const late = agreement.awaited()) {
            if (!hear(world, i, *late)) return std::nullopt;
            return cuts_ == Cuts::everywhere ? world : wait(std::move(world), i);
        }
        auto const call = agreement.call();
        bool answer = agreement.decide();
        if (auto const line = rank.seat->passes_on) {
            if (!rank.was_agreed) world.seen[*line] = answer ? Word::of_notice(call) : Word::of_call(call);
            answer = rank.was_agreed;
        }
        check_answer(world, call, answer);
        rank.at = answer || call == calls_ ? Rank::At::over : Rank::At::before_call;
        return world;
    }

    /// Notices of voices that were there before their call k-1, and those of all ranks that were there before
    /// call k. Those that are passed on are one call later, and up to two more where a rank had to ask its
    /// voice.
    void check_answer(World const& world, std::uint64_t call, bool answer) const {
        bool const passes_on = seats_.front().passes_on.has_value();
        std::uint64_t const soonest = passes_on ? 2 : 1;
        bool must_stop = false, may_stop = false;
        bool all_have = true, all_may_have = true;
        for (auto const& rank : world.ranks) {
            bool const is_request = rank.seat->parts[rank.seat->own] == Part::request;
            must_stop |= has_had_notice(rank, soonest + (is_request ? 2 : 0), call);
            // Who asks may be a call ahead of its voice.
            may_stop |= has_had_notice(rank, soonest - (is_request && !passes_on ? 1 : 0), call);
            if (is_request && passes_on) continue;
            all_have &= has_had_notice(rank, soonest - 1, call);
            all_may_have &=
                has_had_notice(rank, soonest - 1, call) || was_asked(world, rank, soonest - 1, call);
        }
        BOOST_REQUIRE((answer ? may_stop || all_may_have : !must_stop && !all_have));
    }

    static bool has_had_notice(Rank const& rank, std::uint64_t calls, std::uint64_t call) {
        return rank.has_notice && rank.counts_from + calls <= call;
    }

    /// By a rank of its node: there is but one that asks.
    static bool was_asked(World const& world, Rank const& voice, std::uint64_t calls, std::uint64_t call) {
        return std::ranges::count(voice.seat->parts, Part::request) > 0 &&
               std::ranges::any_of(world.ranks, [&](Rank const& rank) {
                   return rank.seat->parts[rank.seat->own] == Part::request &&
                          has_had_notice(rank, calls, call);
               });
    }

    void check_end(World const& world) {
        auto const call = world.ranks.front().agreement.call();
        for (auto const& rank : world.ranks) {
            BOOST_REQUIRE((rank.at == Rank::At::over));  // nobody waits for ever
            BOOST_REQUIRE(rank.agreement.call() == call);
        }
        stops_ += world.ranks.front().agreement.decide() ? 1 : 0;
    }

    std::vector<Seat> seats_;
    World start_;
    std::uint64_t calls_;
    Cuts cuts_;
    std::unordered_set<std::string> known_;
    std::size_t stops_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(agreement_model_test)

BOOST_AUTO_TEST_CASE(in_every_order_of_events_all_ranks_stop_at_the_same_call) {
    struct Size {
        std::vector<Seat> seats;
        std::uint64_t calls;
        Cuts cuts;
    };
    for (auto const& size :
         {Size{all_voices(2), 5, Cuts::everywhere}, Size{all_voices(3), 4, Cuts::between_begin_and_end},
          Size{all_voices(4), 2, Cuts::between_begin_and_end},
          Size{voices_that_speak_for_others(), 4, Cuts::between_begin_and_end},
          Size{voices_of_two_nodes(), 2, Cuts::between_begin_and_end},
          Size{voices_that_pass_on(), 5, Cuts::between_begin_and_end}}) {
        Model model(size.seats, size.calls, size.cuts);
        model.explore();
        BOOST_TEST_MESSAGE(size.seats.size() << " ranks: " << model.worlds() << " worlds");
        BOOST_TEST(model.worlds() > 1'000u);
        BOOST_TEST(model.ends_with_a_stop() > 0u);
    }
}

BOOST_AUTO_TEST_SUITE_END()
