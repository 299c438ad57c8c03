#include <det/search/asha.hpp>
#include <det/search/rung.hpp>

#include <cmath>
#include <limits>

#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace rung_test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Ladder {
    std::vector<std::uint64_t> lengths{100, 300, 900};
    double divisor = 3;
    bool smaller_is_better = true;
    std::vector<std::vector<RungEntry>> rungs{3};

    /// Runs one trial that reports the same metric at each rung. Returns the length at which it ended.
    std::uint64_t run(double metric) {
        auto const trial = static_cast<std::uint32_t>(rungs[0].size());
        for (std::size_t rung = 0;; ++rung) {
            rungs[rung].push_back({trial, metric});
            auto const verdict = decide_at_rung(rungs[rung], rungs[rung].back(),
                                                {divisor, smaller_is_better, rung + 1 == rungs.size()});
            if (verdict.decision != RungDecision::advance) return lengths[rung];
        }
    }
    std::vector<std::uint64_t> run_all(std::vector<double> const& metrics) {
        std::vector<std::uint64_t> ends;
        for (auto const metric : metrics) ends.push_back(run(metric));
        return ends;
    }
};

using Ends = std::vector<std::uint64_t>;

}  // namespace rung_test

BOOST_AUTO_TEST_SUITE(rung_test)

BOOST_AUTO_TEST_CASE(sequential_trials_end_where_determined_ends_them) {
    BOOST_TEST((Ladder().run_all({.5, .4, .6, .3, .45, .35, .31, .9, .2}) ==
                Ends{900, 900, 100, 900, 100, 300, 300, 100, 900}));
    BOOST_TEST((Ladder().run_all({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) ==
                Ends{900, 100, 100, 100, 100, 100, 100, 100, 100, 100}));
    BOOST_TEST((Ladder().run_all({9, 8, 7, 6, 5}) == Ends{900, 900, 900, 900, 900}));
    BOOST_TEST((Ladder().run_all({1, 1, 1, 1, 1}) == Ends{900, 900, 900, 900, 900}));
    Ladder largest;
    largest.smaller_is_better = false;
    BOOST_TEST((largest.run_all({.1, .2, .3, .05}) == Ends{900, 900, 900, 100}));
}

BOOST_AUTO_TEST_CASE(the_best_share_of_a_rung_trains_on) {
    auto const decide = [](std::vector<RungEntry> entries, double metric, double divisor) {
        entries.push_back({99, metric});
        return decide_at_rung(entries, entries.back(), {divisor, true, false});
    };
    std::vector<RungEntry> const seven{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}};
    // 8 entries, divisor 4: the best two train on.
    auto const verdict = decide(seven, 1.5, 4);
    BOOST_TEST((verdict.decision == RungDecision::advance));
    BOOST_TEST(verdict.better_trials == 1);
    BOOST_TEST(verdict.kept_trials == 2);
    BOOST_TEST((decide(seven, 2, 4).decision == RungDecision::advance));  // equal metrics are not better
    BOOST_TEST((decide(seven, 2.5, 4).decision == RungDecision::stop));
    std::vector<RungEntry> const six{seven.begin(), seven.end() - 1};
    BOOST_TEST((decide(six, 1.5, 4).decision == RungDecision::stop));  // 7 / 4: only the best one
    BOOST_TEST((decide(six, 1.5, 3.5).decision == RungDecision::advance));
    BOOST_TEST((decide({}, 5, 4).decision == RungDecision::advance));
}

BOOST_AUTO_TEST_CASE(failed_trials_are_worse_than_every_number) {
    auto const decide = [](std::vector<RungEntry> const& others, double metric, bool smaller_is_better) {
        auto entries = others;
        entries.push_back({99, metric});
        return decide_at_rung(entries, entries.back(), {4, smaller_is_better, false}).decision;
    };
    for (bool const smaller : {true, false}) {
        BOOST_TEST((decide({{0, nan}}, 1, smaller) == RungDecision::advance));
        BOOST_TEST((decide({{0, nan}}, infinity, smaller) == RungDecision::advance));
        BOOST_TEST((decide({{0, nan}}, -infinity, smaller) == RungDecision::advance));
        BOOST_TEST((decide({{0, 1}}, nan, smaller) == RungDecision::stop));
    }
    BOOST_TEST((decide({{0, nan}}, nan, true) == RungDecision::advance));
}

BOOST_AUTO_TEST_CASE(the_last_rung_ends_a_trial_whatever_its_metric) {
    std::vector<RungEntry> const entries{{0, 1}, {1, 5}};
    BOOST_TEST((decide_at_rung(entries, entries[0], {4, true, true}).decision == RungDecision::complete));
    BOOST_TEST((decide_at_rung(entries, entries[1], {4, true, true}).decision == RungDecision::complete));
}

BOOST_AUTO_TEST_CASE(names_of_entries_keep_the_metric_exactly) {
    for (double const metric : {0.1, -2.5e-300, 1e22, 0.0, infinity, -infinity, 1.0 / 3}) {
        auto const entry = parse_rung_entry_name(rung_entry_name({12, metric}));
        BOOST_REQUIRE(entry);
        BOOST_TEST(entry->trial == 12);
        BOOST_TEST(entry->metric == metric);
    }
    BOOST_TEST(rung_entry_name({7, 0.25}) == "7@0.25");
    BOOST_TEST(rung_entry_name({7, -nan}) == "7@nan");
    BOOST_TEST(std::isnan(parse_rung_entry_name("7@nan")->metric));
    for (auto const name : {"", "7", "@1", "7@", "x@1", "7@1x", ".7@1", "-1@1", "1000000@1", "7@1@2"})
        BOOST_TEST(!parse_rung_entry_name(name).has_value(), name);
    BOOST_TEST(parse_rung_entry_name("999999@1").has_value());
}

BOOST_AUTO_TEST_CASE(a_trial_counts_once_in_a_rung) {
    std::vector<std::string> const names{"3@0.5", "1@2", "3@0.25", ".tmp-9", "2@nan", "3@0.5"};
    auto const entries = parse_rung(names);
    BOOST_REQUIRE(entries.size() == 3);
    BOOST_TEST(entries[0].trial == 1);
    BOOST_TEST(entries[1].trial == 2);
    BOOST_TEST(entries[2].trial == 3);
    BOOST_TEST(entries[2].metric == 0.25);
}

BOOST_AUTO_TEST_CASE(lists_of_trials_are_written_as_ranges) {
    auto const both_ways = [](std::vector<std::uint32_t> const& trials, std::string const& text) {
        BOOST_TEST(render_trial_ranges(trials) == text);
        auto const parsed = parse_trial_ranges(text);
        BOOST_REQUIRE(parsed.has_value());
        BOOST_TEST(*parsed == trials);
    };
    both_ways({}, "");
    both_ways({0}, "0");
    both_ways({0, 1}, "0-1");
    both_ways({0, 1, 2, 5, 7, 8, 999'999}, "0-2,5,7-8,999999");
    for (auto const text : {"x", "1-", "-1", "2-1", "1,1", "3,2", "1,,2", "1000000", "0-1000000", "1-2-3"})
        BOOST_TEST(!parse_trial_ranges(text).has_value(), text);
}

BOOST_AUTO_TEST_SUITE_END()
