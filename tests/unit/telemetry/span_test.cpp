#include <det/telemetry/span.hpp>

#include <boost/test/unit_test.hpp>
#include <thread>

using namespace det::telemetry;

BOOST_AUTO_TEST_SUITE(spans)

BOOST_AUTO_TEST_CASE(spans_are_counted_and_timed) {
    auto& load = timing("load");
    BOOST_TEST(&timing("load") == &load);
    timing("never passed");
    auto const begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) {
        Span const span(load);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - begin;
    auto const reports = take_timings();
    BOOST_REQUIRE(reports.size() == 1u);
    BOOST_TEST(reports[0].name == "load");
    BOOST_TEST(reports[0].count == 3u);
    BOOST_TEST(reports[0].total_s >= 0.0059);
    BOOST_TEST(reports[0].total_s <= passed.count() * 1.01);
    BOOST_TEST(reports[0].max_s <= reports[0].total_s);
    BOOST_TEST(reports[0].max_s >= reports[0].total_s / 3);
    BOOST_TEST(take_timings().empty());
}

BOOST_AUTO_TEST_CASE(threads_lose_no_pass) {
    auto& step = timing("step");
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&] {
                for (int pass = 0; pass < 10'000; ++pass) Span const span(step);
            });
        }
    }
    auto const reports = take_timings();
    BOOST_REQUIRE(reports.size() == 1u);
    BOOST_TEST(reports[0].count == 40'000u);
}

BOOST_AUTO_TEST_CASE(names_beyond_the_limit_share_a_timing) {
    for (std::size_t i = 0; i <= timings_max; ++i) timing("name " + std::to_string(i));
    BOOST_TEST(timing("one more").name() == "others");
    BOOST_TEST(&timing("one more") == &timing("another one"));
}

BOOST_AUTO_TEST_SUITE_END()
