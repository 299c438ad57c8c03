// What people see of an adaptive search: describe --search, list-trials.
#include <det/journal/trial_replacements.hpp>
#include <det/protocol/json.hpp>
#include <det/search/trial_search.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace search_views_test {

/// Experiment 1: async_halving with rungs at 200 and 400 batches, four planned trials on two lanes.
struct Fixture : CliFixture {
    ExperimentLayout experiment = create_example(root, 1, "search");
    ExperimentSpec spec = must(parse_spec(must(read_file(experiment.spec()))));

    Fixture() {
        spec.searcher = {
            "async_halving", "loss", true,
            Json{{"num_rungs", 2}, {"max_trials", 4}, {"divisor", 2}, {"max_length", {{"batches", 400}}}}};
        spec.hyperparameters = Json{{"lr", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}}};
        spec.experiment_seed = 42;
        spec.trial_count = 4;
        must(write_file(experiment.spec(), render_spec(spec)));
    }

    /// The first run of a trial, which reported these losses at 100, 200 ... batches.
    journal::JournalWriter run_trial(std::uint32_t trial, std::vector<double> const& losses) {
        auto const run = experiment.trial(trial).run(0);
        must(make_directories(run.path()));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        std::uint64_t step = 0;
        for (auto const loss : losses)
            must(chief.append(MetricsReported{minute(2), "validation", step += 100, Json{{"loss", loss}}}));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{minute(1), "4711_0", 0, "n0", "n0", 0, "", 0}));
        return life;
    }
    /// The trial arrives at a rung of the bracket and decides.
    void arrive(journal::JournalWriter& life, std::uint32_t trial, std::uint32_t rung, double metric) {
        auto const path = experiment.rung(0, rung);
        must(make_directories(path));
        must(write_file(path / search::rung_entry_name({trial, metric}), ""));
        auto const names = must(list_directory(path));
        auto const entries = search::parse_rung(names);
        auto const verdict = search::decide_at_rung(entries, {trial, metric}, {2, true, rung == 1});
        std::vector<std::uint32_t> trials;
        for (auto const& entry : entries) trials.push_back(entry.trial);
        must(life.append(SearchDecision{
            minute(3), 100 + 300 * rung, 0, rung, search::rung_entry_name({trial, metric}),
            search::render_trial_ranges(trials), search::digest_of(entries), verdict.better_trials,
            verdict.kept_trials, std::string(to_string(verdict.decision))}));
    }
    static RunEnded end(Cause cause, std::string message) {
        return run_end(4, cause, NextAction::stop, cause == Cause::failed ? 1 : 0, std::move(message));
    }
    /// Trial 0 trained to the end, 1 was stopped, 2 was invalid and replaced by 4, 3 failed.
    void run_all() {
        auto life = run_trial(0, {0.5, 0.3, 0.35, 0.25});
        arrive(life, 0, 0, 0.5);
        arrive(life, 0, 1, 0.25);
        must(life.append(end(Cause::finished, "the trainer finished")));
        life = run_trial(1, {0.75});
        arrive(life, 1, 0, 0.75);
        must(life.append(end(Cause::stopped_by_search, "the search ended it")));
        life = run_trial(2, {});
        must(journal::find_or_create_replacement(experiment, 4, 2, ""));
        must(life.append(
            end(Cause::invalid_hyperparameters, "the trainer calls its hyperparameters invalid")));
        life = run_trial(3, {});
        must(write_file(experiment.rung(0, 0) / "3@nan", ""));
        must(life.append(end(Cause::failed, "the trainer ended with exit code 1")));
        for (auto const* absent : {"5@0.01", "999999@-inf"})
            must(write_file(experiment.rung(0, 0) / absent, ""));
        life = run_trial(4, {0.4, 0.2});
        arrive(life, 4, 0, 0.4);
    }
};

}  // namespace search_views_test

BOOST_FIXTURE_TEST_SUITE(search_views_test, Fixture)

BOOST_AUTO_TEST_CASE(a_search_is_described_rung_by_rung) {
    run_all();
    BOOST_TEST(run("experiment describe 1 --search") == 0);
    check_golden("cli/experiment_describe_search.txt", out);
    auto const json = ask("experiment describe 1 --search");
    BOOST_TEST(json["best_trial"]["name"] == "1.4");
    BOOST_TEST(json["best_trial"]["value"] == 0.2);
    BOOST_TEST(json["best_trial"]["steps_completed"] == 200);
    auto const& rung = json["brackets"][0]["rungs"][0];
    BOOST_TEST(rung["entries"].size() == 4);
    BOOST_TEST((rung["entries"][0] == Json{{"trial", 4}, {"metric", 0.4}}));
    BOOST_TEST((rung["entries"][3] == Json{{"trial", 3}, {"metric", nullptr}}));
    BOOST_TEST(rung["kept_trials"] == 2);
    BOOST_TEST(rung["cut_off"] == 0.5);
    BOOST_TEST(rung["stopped_trials"] == 1);
    BOOST_TEST(json["decisions"].size() == 4);
    // All four have arrived at the first rung; three have ended, without the invalid one.
    BOOST_TEST(json["progress"].get<double>() == 4 / 4.8, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(trials_are_listed_with_rung_and_best_metric) {
    run_all();
    BOOST_TEST(run("experiment list-trials 1") == 0);
    check_golden("cli/experiment_list_trials_search.txt", out);
    auto const json = ask("experiment list-trials 1 --by-metric");
    std::vector<std::string> order;
    for (auto const& trial : json) order.push_back(trial["name"]);
    BOOST_TEST(order == (std::vector<std::string>{"1.4", "1.0", "1.1", "1.2", "1.3"}),
               boost::test_tools::per_element());
    BOOST_TEST((json[1]["best_validation"] == Json{{"value", 0.25}, {"steps_completed", 400}}));
    BOOST_TEST(json[1]["rung"] == 1);
    BOOST_TEST(json[3]["rung"].is_null());
    spec.searcher.smaller_is_better = false;
    must(write_file(experiment.spec(), render_spec(spec)));
    BOOST_TEST(ask("experiment list-trials 1 --by-metric")[0]["name"] == "1.1");
}

BOOST_AUTO_TEST_CASE(a_search_that_has_not_begun_is_described_too) {
    BOOST_TEST(run("experiment describe 1 --search") == 0);
    BOOST_TEST(contains(out, "Progress:      0 %"), out);
    BOOST_TEST(!contains(out, "Because"), out);  // the table of ended trials would be empty
    BOOST_TEST(ask("experiment describe 1 --search")["best_trial"].is_null());
    spec.searcher = {"random", "loss", true, Json{{"max_trials", 4}}};
    must(write_file(experiment.spec(), render_spec(spec)));
    BOOST_TEST(run("experiment describe 1 --search") == 0);
    BOOST_TEST(contains(out, "Rungs:         none: this searcher stops no trials"), out);
}

BOOST_AUTO_TEST_SUITE_END()
