// The agreement as a model: every order in which ranks can raise notices, tell, look and wait is gone
// through.
#include <det/preemption/agreement.hpp>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <random>
#include <thread>
#include <unordered_set>

#include "check_result.hpp"

using namespace det;
using namespace det::preemption;

namespace {

using Part = Agreement::Part;

/// Where a rank finds the words of its parts, among the lines that ranks can read.
struct Seat {
    std::vector<Part> parts;
    std::vector<std::size_t> lines;
    std::size_t own = 0;
    std::optional<std::size_t> passes_on = {};  // the line for those of its node
};

std::vector<Seat> all_voices(std::size_t ranks) {
    Seat seat{std::vector<Part>(ranks, Part::voice), {}};
    for (std::size_t i = 0; i < ranks; ++i) seat.lines.push_back(i);
    std::vector<Seat> seats(ranks, seat);
    for (std::size_t i = 0; i < ranks; ++i) seats[i].own = i;
    return seats;
}

/// A node of two ranks and one of one. Lines 0 and 1 are the voices', 2 and 3 what they pass on, 4 the
/// other's.
std::vector<Seat> voices_that_pass_on() {
    return {{{Part::voice, Part::voice, Part::request}, {0, 1, 4}, 0, 2},
            {{Part::voice, Part::request}, {2, 4}, 1},
            {{Part::voice, Part::voice}, {0, 1}, 1, 3}};
}

/// One rank in the middle of a call: what `agree` does, cut where another rank can come between.
struct Rank {
    enum class At : std::uint8_t { before_call, telling, looking, waiting, over };

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
            start_.ranks.push_back({&seat, Agreement(seat.parts, seat.own)});
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
                rank.said = agreement.begin_call(rank.has_notice);
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

    std::optional<World> wait(World world, std::size_t i) {
        auto& rank = world.ranks[i];
        auto& agreement = rank.agreement;
        if (auto const late = agreement.awaited()) {
            auto const word = world.seen[rank.seat->lines[*late]];
            if (!word.is_enough_for(agreement.call())) {
                // Whoever is waited for is more than one call behind.
                BOOST_REQUIRE(word.call() + 1 < agreement.call());
                return std::nullopt;
            }
            agreement.hear(*late, word);
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

    /// All voices: exactly the notices that were there before call k-1 of their rank, so the same on all
    /// ranks. Those that are passed on are one call later, and up to two more where a rank had to ask its
    /// voice.
    void check_answer(World const& world, std::uint64_t call, bool answer) const {
        std::uint64_t const soonest = seats_.front().passes_on ? 2 : 1;
        bool must_stop = false;
        bool may_stop = false;
        for (auto const& rank : world.ranks) {
            std::uint64_t const latest =
                soonest + (rank.seat->parts[rank.seat->own] == Part::request ? 2 : 0);
            may_stop |= rank.has_notice && rank.counts_from + soonest <= call;
            must_stop |= rank.has_notice && rank.counts_from + latest <= call;
        }
        BOOST_REQUIRE((answer ? may_stop : !must_stop));
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

/// Ranks that are threads, and their words.
class Words final : public Board {
public:
    Words(std::vector<std::atomic<std::uint64_t>>& words, std::size_t own) : words_(words), own_(own) {}
    Status tell(Word word) override {
        words_[own_].store(word.value(), std::memory_order_release);
        return Ok{};
    }
    Word look(std::size_t part) override { return Word::from(words_[part].load(std::memory_order_acquire)); }
    Result<Word> await(std::size_t part, std::uint64_t call) override {
        auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!look(part).is_enough_for(call)) {
            if (std::chrono::steady_clock::now() > limit) return Error{codes::timed_out, "nobody came"};
            std::this_thread::yield();
        }
        return look(part);
    }
    Status pass_on(Word) override { return Error{codes::misuse, "all are voices"}; }

private:
    std::vector<std::atomic<std::uint64_t>>& words_;
    std::size_t own_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(agreement_test)

BOOST_AUTO_TEST_CASE(in_every_order_of_events_all_ranks_stop_at_the_same_call) {
    struct Size {
        std::vector<Seat> seats;
        std::uint64_t calls;
        Cuts cuts;
    };
    for (auto const& size :
         {Size{all_voices(2), 5, Cuts::everywhere}, Size{all_voices(3), 4, Cuts::between_begin_and_end},
          Size{all_voices(4), 2, Cuts::between_begin_and_end},
          Size{voices_that_pass_on(), 5, Cuts::between_begin_and_end}}) {
        Model model(size.seats, size.calls, size.cuts);
        model.explore();
        BOOST_TEST_MESSAGE(size.seats.size() << " ranks: " << model.worlds() << " worlds");
        BOOST_TEST(model.worlds() > 1'000u);
        BOOST_TEST(model.ends_with_a_stop() > 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_notice_before_the_first_call_stops_all_at_the_second) {
    Agreement agreement({Part::voice, Part::voice}, 0);
    BOOST_TEST((agreement.begin_call(true) == Word::of_notice(1)));
    BOOST_TEST(!agreement.awaited());
    BOOST_TEST(!agreement.decide());
    BOOST_TEST((agreement.begin_call(true) == Word::of_notice(1)));
    BOOST_TEST(!agreement.awaited());  // whatever the others say
    BOOST_TEST(agreement.decide());
}

BOOST_AUTO_TEST_CASE(a_notice_of_a_rank_that_is_spoken_for_is_told_by_its_voice) {
    Agreement voice({Part::voice, Part::request, Part::voice}, 0);
    voice.begin_call(false);
    voice.hear(1, Word::of_notice(1));
    voice.hear(2, Word::of_call(1));
    BOOST_TEST(!voice.decide());
    BOOST_TEST((voice.begin_call(false) == Word::of_notice(2)));
    BOOST_TEST(!voice.decide());
    voice.begin_call(false);
    BOOST_TEST(voice.decide());
    // Whoever is spoken for waits for the voices.
    Agreement request({Part::voice, Part::request}, 1);
    BOOST_TEST((request.begin_call(true) == Word::of_notice(1)));
    request.begin_call(true);
    BOOST_TEST(!request.decide());
    BOOST_TEST(request.awaited().value() == 0u);
    request.hear(0, Word::of_notice(1));
    BOOST_TEST(request.decide());
}

BOOST_AUTO_TEST_CASE(threads_stop_at_the_same_call_whenever_a_notice_comes) {
    constexpr std::size_t ranks = 3;
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        std::vector<std::atomic<std::uint64_t>> words(ranks);
        std::array<std::uint64_t, ranks> stopped_at{};
        std::vector<std::thread> threads;
        for (std::size_t own = 0; own < ranks; ++own) {
            // Some rank has a notice at call 100 at the latest.
            auto const notice_at = std::uniform_int_distribution<std::uint64_t>(1, 100)(random);
            threads.emplace_back([&, own, notice_at] {
                Agreement agreement(std::vector<Part>(ranks, Part::voice), own);
                Words board(words, own);
                for (std::uint64_t call = 1;; ++call) {
                    auto const stop = agree(agreement, board, call >= notice_at);
                    if (!stop) return;
                    if (!*stop) continue;
                    stopped_at[own] = call;
                    return;
                }
            });
        }
        for (auto& thread : threads) thread.join();
        BOOST_TEST(stopped_at[0] > 1u);
        BOOST_TEST(stopped_at[0] == stopped_at[1]);
        BOOST_TEST(stopped_at[0] == stopped_at[2]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
