#include <det/search/trial_search.hpp>

#include <cmath>
#include <map>

#include "check_result.hpp"
#include "search_support.hpp"

using namespace det;
using namespace det::search;

namespace trial_search_test {

/// Rungs in memory. A test may hide entries of other trials, as a file system with delayed listings does.
struct MemoryStore : RungStore {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::string>> rungs;
    bool lags = false;
    mutable int hidden_lists = 0;  // how many calls of list() return nothing

    Status add(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override {
        rungs[{bracket, rung}].push_back(entry);
        return Ok{};
    }
    Result<std::vector<std::string>> list(std::uint32_t bracket, std::uint32_t rung) const override {
        auto const found = rungs.find({bracket, rung});
        if (hidden_lists > 0 && hidden_lists-- > 0) return std::vector<std::string>();
        if (lags || found == rungs.end()) return std::vector<std::string>();
        return found->second;
    }
    Status remove(std::uint32_t bracket, std::uint32_t rung, std::string const& entry) override {
        std::erase(rungs[{bracket, rung}], entry);
        return Ok{};
    }
};

AshaSearch search_of_three_rungs() {
    AshaSearch search;
    search.brackets = {{{900}, 1, 1}, {{100, 300, 900}, 9, 9}};
    search.divisor = 3;
    search.length = {900};
    return search;
}

struct Fixture {
    MemoryStore store;

    TrialSearch trial(std::uint32_t index, bool is_resumed = false) {
        return {search_of_three_rungs(), 1, index, is_resumed};
    }
    /// The decisions that follow from one report: "advance stop".
    std::string report(TrialSearch& trial, double time, double metric) {
        std::string text;
        for (;;) {
            auto const decision = must(trial.decide({10, time, metric}, store));
            if (!decision) return text;
            text += (text.empty() ? "" : " ") + decision->decision;
            trial.apply(*decision);
        }
    }
    std::vector<std::string> const& rung(std::uint32_t index) { return store.rungs[{1, index}]; }
};

using Names = std::vector<std::string>;

std::string error_of(Json const& metrics, ReportFormat const& format) {
    return must_fail(read_report({UtcTime{1}, "validation", 100, metrics}, format)).message;
}

}  // namespace trial_search_test

BOOST_FIXTURE_TEST_SUITE(trial_search_test, trial_search_test::Fixture)

BOOST_AUTO_TEST_CASE(a_trial_decides_at_each_rung_once) {
    auto first = trial(0);
    BOOST_TEST(report(first, 99, .5) == "");
    BOOST_TEST(report(first, 100, .5) == "advance");
    BOOST_TEST(report(first, 150, .1) == "");
    BOOST_TEST(report(first, 899, .4) == "advance");
    BOOST_TEST(report(first, 900, .3) == "complete");
    BOOST_TEST(report(first, 1000, .2) == "");
    BOOST_TEST(first.end_decision()->decision == "complete");
    BOOST_TEST((rung(0) == Names{"0@0.5"}));
    BOOST_TEST((rung(1) == Names{"0@0.4"}));
    BOOST_TEST((rung(2) == Names{"0@0.3"}));
    BOOST_TEST(store.rungs.size() == 3);
}

BOOST_AUTO_TEST_CASE(one_report_may_reach_several_rungs) {
    auto first = trial(0);
    BOOST_TEST(report(first, 350, .5) == "advance advance");
    BOOST_TEST((rung(0) == rung(1)));
    auto second = trial(1);
    BOOST_TEST(report(second, 2000, .6) == "stop");
    BOOST_TEST((rung(1) == Names{"0@0.5"}));
    auto third = trial(2);
    BOOST_TEST(report(third, 2000, .4) == "advance advance complete");
}

BOOST_AUTO_TEST_CASE(a_decision_records_from_which_list_it_follows) {
    for (std::uint32_t index = 0; index < 3; ++index) {
        auto other = trial(index);
        report(other, 100, .1 * (index + 1));
    }
    auto own = trial(7);
    auto const decision = must(own.decide({42, 100, .25}, store)).value();
    BOOST_TEST(decision.steps_completed == 42);
    BOOST_TEST(decision.bracket == 1);
    BOOST_TEST(decision.rung == 0);
    BOOST_TEST(decision.entry == "7@0.25");
    BOOST_TEST(decision.trials == "0-2,7");
    BOOST_TEST(decision.better_trials == 2);
    BOOST_TEST(decision.kept_trials == 1);
    BOOST_TEST(decision.decision == "stop");
    BOOST_TEST(decision.digest == digest_of(parse_rung(rung(0))));
    BOOST_TEST(describe(decision) == "2 of 4 trials at rung 0 are better, 1 train on");
    // printf '0@0.1\n1@0.2\n2@0.30000000000000004\n7@0.25\n' | sha256sum
    BOOST_TEST(decision.digest == "ece9dc67e3e71b2a0cb210b9326153ada76f93c42284a584c2e64e3e7f0dcd97");
}

BOOST_AUTO_TEST_CASE(a_restarted_trial_goes_on_after_its_recorded_decisions) {
    auto first = trial(0);
    auto const recorded = must(first.decide({10, 100, .5}, store)).value();
    auto again = trial(0, true);
    again.apply(recorded);
    again.apply(recorded);  // a second time
    BOOST_TEST(report(again, 100, .5) == "");
    BOOST_TEST(report(again, 300, .5) == "advance");
    BOOST_TEST((rung(0) == Names{"0@0.5"}));
    SearchDecision stop;
    stop.rung = 2;
    stop.decision = "stop";
    again.apply(stop);
    BOOST_TEST(report(again, 2000, .1) == "");
    BOOST_TEST(again.end_decision()->decision == "stop");
}

BOOST_AUTO_TEST_CASE(an_entry_whose_decision_was_lost_counts_with_its_first_metric) {
    auto first = trial(0);
    must(first.decide({10, 100, .5}, store));  // not recorded: the process was killed
    auto other = trial(1);
    report(other, 100, .4);
    auto again = trial(0, true);
    BOOST_TEST(report(again, 100, .3) == "stop");
    BOOST_TEST((rung(0) == Names{"0@0.5", "1@0.4"}));
}

BOOST_AUTO_TEST_CASE(a_decision_is_about_the_entry_that_counts_for_the_other_trials) {
    auto other = trial(1);
    report(other, 100, .4);
    auto again = trial(0, true);
    must(store.add(1, 0, "0@0.3"));  // by a run that was cut off
    store.hidden_lists = 1;          // it becomes visible after the own entry was added
    auto const decision = must(again.decide({10, 100, .5}, store)).value();
    BOOST_TEST((rung(0) == Names{"1@0.4", "0@0.3", "0@0.5"}));
    BOOST_TEST(decision.entry == "0@0.3");
    BOOST_TEST(decision.decision == "advance");
    BOOST_TEST(decision.digest == digest_of(parse_rung(rung(0))));
}

BOOST_AUTO_TEST_CASE(a_decision_of_a_later_run_replaces_that_of_a_run_that_was_cut_off) {
    auto const decided = [](std::uint32_t rung, char const* what) {
        SearchDecision decision;
        decision.rung = rung;
        decision.decision = what;
        return decision;
    };
    auto first = trial(0);
    first.apply(decided(0, "stop"));     // recorded after the later run had begun
    first.apply(decided(0, "advance"));  // by the later run, which had not seen the other decision
    BOOST_TEST(!first.end_decision());
    BOOST_TEST(report(first, 300, .5) == "advance");
    auto second = trial(1);
    second.apply(decided(0, "advance"));
    second.apply(decided(1, "advance"));
    second.apply(decided(0, "stop"));
    BOOST_REQUIRE(second.end_decision());
    BOOST_TEST(second.end_decision()->rung == 0);
}

BOOST_AUTO_TEST_CASE(a_listing_that_lags_still_counts_the_own_entry) {
    store.lags = true;
    auto first = trial(3);
    auto const decision = must(first.decide({10, 100, .5}, store)).value();
    BOOST_TEST(decision.trials == "3");
    BOOST_TEST(decision.decision == "advance");
}

BOOST_AUTO_TEST_CASE(a_failed_trial_is_the_worst_of_its_current_rung) {
    auto first = trial(0);
    report(first, 100, .5);
    must(first.add_failure(store));
    BOOST_TEST((rung(1) == Names{"0@nan"}));
    auto again = trial(0, true);
    again.apply(must(first.decide({10, 300, .5}, store)).value());
    auto stopped = trial(1);
    report(stopped, 100, .9);
    must(stopped.add_failure(store));
    BOOST_TEST((rung(0) == Names{"0@0.5", "1@0.9"}));
}

BOOST_AUTO_TEST_CASE(an_invalid_trial_leaves_no_entry) {
    auto first = trial(1), other = trial(11);
    report(first, 350, .5);
    report(other, 350, .4);
    must(first.remove_entries(store));
    BOOST_TEST((rung(0) == Names{"11@0.4"}));
    BOOST_TEST((rung(1) == Names{"11@0.4"}));
}

BOOST_AUTO_TEST_CASE(the_time_of_a_report_is_found_in_this_order) {
    auto const time_of = [](Json const& metrics, TrainingLength const& length, BatchSize const& size = {}) {
        return must(read_report({UtcTime{1}, "validation", 30, metrics}, {"loss", length, size})).time;
    };
    BOOST_TEST(time_of({{"loss", 1}, {"hours", 2.5}}, {9, LengthUnit::steps, "hours"}) == 2.5);
    BOOST_TEST(time_of({{"loss", 1}, {"epochs", 2.5}}, {9, LengthUnit::epochs}) == 2.5);
    BOOST_TEST(time_of({{"loss", 1}}, {9, LengthUnit::epochs}, {32, 640}) == 1.5);
    BOOST_TEST(time_of({{"loss", 1}, {"epochs", 7}}, {9, LengthUnit::batches}) == 30);
    BOOST_TEST(time_of({{"loss", 1}}, {9}) == 30);
}

BOOST_AUTO_TEST_CASE(a_report_without_the_searchers_metric_is_an_error_that_names_the_others) {
    ReportFormat const format{"loss", {9}, {}};
    BOOST_TEST(
        error_of({{"accuracy", 1}, {"error\n", 2}}, format) ==
        "the validation at step 100 reports no 'loss' (searcher.metric); it reports accuracy, error\\n");
    BOOST_TEST(error_of(Json::object(), format) ==
               "the validation at step 100 reports no 'loss' (searcher.metric); it reports nothing");
    BOOST_TEST(
        error_of({{"loss", "low"}}, format) ==
        "the validation at step 100 reports 'loss' (searcher.metric) as \"low\", which is not a number");
    BOOST_TEST(error_of({{"loss", 1}}, {"loss", {9, LengthUnit::steps, "hours"}, {}}) ==
               "the validation at step 100 reports no 'hours' (searcher.time_metric); it reports loss");
    auto const lost = must(read_report({UtcTime{1}, "validation", 1, Json{{"loss", nullptr}}}, format));
    BOOST_TEST(std::isnan(lost.metric));
    auto const metric_of = [&](char const* name) {
        return must(read_report({UtcTime{1}, "validation", 1, Json{{"loss", name}}}, format)).metric;
    };
    BOOST_TEST(std::isnan(metric_of("NaN")));
    BOOST_TEST(metric_of("Infinity") == std::numeric_limits<double>::infinity());
    BOOST_TEST(metric_of("-Infinity") == -std::numeric_limits<double>::infinity());
}

BOOST_AUTO_TEST_SUITE_END()
