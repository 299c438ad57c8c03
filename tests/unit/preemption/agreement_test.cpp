// The agreement: what single calls tell, wait for and return.
#include <det/preemption/agreement.hpp>

#include <array>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <random>
#include <thread>

#include "check_result.hpp"

using namespace det;
using namespace det::preemption;

namespace {

using Part = Agreement::Part;

/// Ranks that are threads, and their words.
class Words final : public Board {
public:
    Words(std::vector<std::atomic<std::uint64_t>>& words, std::size_t own) : words_(words), own_(own) {}
    Status tell(Word word) override {
        words_[own_].store(word.value(), std::memory_order_release);
        return Ok{};
    }
    Word look(std::size_t part) override { return Word::from(words_[part].load(std::memory_order_acquire)); }
    Result<Word> await(Agreement::Awaited awaited) override {
        auto const [part, call] = awaited;
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

/// A call up to what is told.
Word begin(Agreement& agreement, bool has_notice) {
    agreement.begin_call(has_notice);
    return agreement.speak();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(agreement_test)

BOOST_AUTO_TEST_CASE(a_notice_of_one_before_the_first_call_stops_all_at_the_second) {
    Agreement agreement({Part::voice, Part::voice}, 0);
    BOOST_TEST((begin(agreement, true) == Word::of_common_notice(1)));
    BOOST_TEST(agreement.awaited().value().part == 1u);  // does it have one too?
    agreement.hear(1, Word::of_call(1));
    BOOST_TEST(!agreement.awaited());
    BOOST_TEST(!agreement.decide());
    BOOST_TEST((begin(agreement, true) == Word::of_common_notice(1)));
    BOOST_TEST(!agreement.awaited());  // whatever the others say
    BOOST_TEST(agreement.decide());
}

BOOST_AUTO_TEST_CASE(a_notice_of_all_stops_them_at_the_call_that_they_begin_with_it) {
    Agreement agreement({Part::voice, Part::voice, Part::voice}, 0);
    begin(agreement, true);
    agreement.hear(1, Word::of_common_notice(1));
    BOOST_TEST(!agreement.decide());
    BOOST_TEST(agreement.awaited().value().part == 2u);
    agreement.hear(2, Word::of_common_notice(1));
    BOOST_TEST(!agreement.awaited());
    BOOST_TEST(agreement.decide());
    // Who had it a call later is told by the others.
    Agreement later({Part::voice, Part::voice}, 0);
    begin(later, false);
    later.hear(1, Word::of_common_notice(1));
    BOOST_TEST(!later.decide());
    begin(later, true);
    BOOST_TEST(later.decide());
}

BOOST_AUTO_TEST_CASE(a_voice_says_what_all_of_its_node_have_when_all_of_them_have_spoken) {
    Agreement voice({Part::voice, Part::request, Part::request}, 0);
    voice.begin_call(true);
    BOOST_TEST(voice.awaited_to_speak().value().part == 1u);
    voice.hear(1, Word::of_notice(1));
    BOOST_TEST(voice.awaited_to_speak().value().part == 2u);
    auto divided = voice;
    voice.hear(2, Word::of_notice(1));
    BOOST_TEST(!voice.awaited_to_speak());
    BOOST_TEST((voice.speak() == Word::of_common_notice(1)));
    BOOST_TEST(voice.decide());
    divided.hear(2, Word::of_call(1));
    BOOST_TEST((divided.speak() == Word::of_notice(1)));
    BOOST_TEST(!divided.decide());
    divided.begin_call(true);
    BOOST_TEST(!divided.awaited_to_speak());
    BOOST_TEST(divided.decide());
}

BOOST_AUTO_TEST_CASE(a_notice_of_a_rank_that_is_spoken_for_is_told_by_its_voice) {
    Agreement voice({Part::voice, Part::request, Part::voice}, 0);
    begin(voice, false);
    voice.hear(1, Word::of_notice(1));
    voice.hear(2, Word::of_call(1));
    BOOST_TEST(!voice.decide());
    BOOST_TEST((begin(voice, false) == Word::of_common_notice(2)));
    voice.hear(2, Word::of_call(2));
    BOOST_TEST(!voice.decide());
    begin(voice, false);
    BOOST_TEST(voice.decide());
    // Whoever is spoken for waits for the voices.
    Agreement request({Part::voice, Part::request}, 1);
    BOOST_TEST((begin(request, true) == Word::of_notice(1)));
    begin(request, true);
    BOOST_TEST(!request.decide());
    BOOST_TEST(request.awaited().value().part == 0u);
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
        BOOST_TEST(stopped_at[0] > 0u);
        BOOST_TEST(stopped_at[0] == stopped_at[1]);
        BOOST_TEST(stopped_at[0] == stopped_at[2]);
    }
}

BOOST_AUTO_TEST_SUITE_END()
