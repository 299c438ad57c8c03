// `experiment continue`: which trials run again, which keys may change, and what is refused.
#include <det/experiment/root_directory.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "continue_support.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

BOOST_FIXTURE_TEST_SUITE(continue_test, ContinueFixture)

BOOST_AUTO_TEST_CASE(a_completed_trial_continues_with_a_longer_length) {
    complete_single();
    BOOST_TEST(state() == "COMPLETED");
    auto const told = ask("experiment continue 1 --config searcher.max_length.batches=200");
    BOOST_TEST(told["trials"] == Json{"1.0"});
    BOOST_TEST(told["job_ids"] == Json{"4712"});
    BOOST_REQUIRE(told["changes"].size() == 1u);
    BOOST_TEST(told["changes"][0] ==
               (Json{{"key", "searcher.max_length.batches"}, {"from", 100}, {"to", 200}}));
    BOOST_TEST(was_called("release 4712"));

    show_task(4711, 0, slurm::JobState::completed, "COMPLETED");
    show_task(4712, 0, slurm::JobState::pending, "PENDING");
    BOOST_TEST(state() == "QUEUED");
    BOOST_TEST(spec().first_run_of(0) == 1u);
    BOOST_TEST(spec().config->at("searcher")["max_length"]["batches"] == 200);
    BOOST_TEST(contains(must(read_file(experiment(1).config())), "batches: 200"));
    BOOST_TEST(ask("experiment config 1")["searcher"]["max_length"]["batches"] == 200);

    run_trial(0, finish(15));
    BOOST_TEST(run("experiment wait 1") == 0, err);
    BOOST_TEST(state() == "COMPLETED");
    BOOST_TEST(ask("trial describe 1.0")["runs"].size() == 2u);
}

BOOST_AUTO_TEST_CASE(earlier_configurations_are_kept_and_changes_are_shown) {
    complete_single();
    BOOST_TEST(run("experiment continue 1 --config searcher.max_length.batches=200") == 0, err);
    BOOST_TEST(!contains(err, "has no effect"), err);
    run_trial(0, finish(15));
    BOOST_TEST(run("experiment continue 1 --config max_restarts=1") == 0, err);
    auto const revisions = experiment(1).revisions();
    BOOST_TEST(contains(must(read_file(revisions / "0" / "config.yaml")), "batches: 100"));
    BOOST_TEST(must(parse_spec(must(read_file(revisions / "0" / "spec.json")))).revisions.empty());
    BOOST_TEST(contains(must(read_file(revisions / "1" / "config.yaml")), "batches: 200"));
    BOOST_TEST(must(parse_spec(must(read_file(revisions / "1" / "spec.json")))).max_restarts == 5u);
    BOOST_TEST(spec().max_restarts == 1u);
    auto const continuations = ask("experiment describe 1")["continuations"];
    BOOST_REQUIRE(continuations.size() == 2u);
    BOOST_TEST(continuations[1]["changes"][0]["key"] == "max_restarts");
    BOOST_TEST(continuations[1]["by"].get<std::string>().starts_with(user_name(environment) + "@"));
    BOOST_TEST(run("experiment describe 1") == 0);
    BOOST_TEST(contains(out, ": max_restarts: 5 -> 1\n"), out);  // the last one
    BOOST_TEST(!contains(out, "searcher.max_length.batches"), out);
    // A fork copies the configuration of the last continuation.
    BOOST_TEST(run("experiment fork 1") == 0, err);
    BOOST_TEST(spec(2).max_restarts == 1u);
    BOOST_TEST(spec(2).revisions.empty());
}

BOOST_AUTO_TEST_CASE(a_cancelled_trial_is_desired_again) {
    BOOST_REQUIRE(create() == 0);
    must(journal::write_desired(experiment(1).desired(), DesiredState::cancel));
    must(make_directories(experiment(1).trial(0).path()));
    must(journal::write_desired(experiment(1).trial(0).desired(), DesiredState::kill));
    BOOST_TEST(state() == "CANCELED");
    BOOST_TEST(run("experiment continue 1") == 0, err);
    show_task(4712, 0, slurm::JobState::pending, "PENDING");
    BOOST_TEST(state() == "QUEUED");
    BOOST_TEST((must(journal::load_desired(current().desired())) == DesiredState::run));
    BOOST_TEST(run("experiment cancel 1") == 0, err);
    BOOST_TEST(was_called("cancel 4712_0"));
    slurm.other_jobs.clear();
    BOOST_TEST(state() == "CANCELED");
    BOOST_TEST(run("experiment continue 1") == 0, err);
    BOOST_TEST(spec().revision() == 2u);
}

BOOST_AUTO_TEST_CASE(failed_trials_of_a_grid_run_again_with_the_new_value) {
    fail_in_grid();
    BOOST_TEST(state() == "COMPLETED");
    BOOST_TEST(run("experiment continue 1 --config hyperparameters.units.vals=[8,16,24]") == 0, err);
    BOOST_REQUIRE(slurm.submissions.size() == 4u);  // each was tested first
    auto const& options = slurm.submissions.back().options;
    BOOST_TEST(options.back() == "--array=1%2");
    BOOST_TEST(slurm.submissions.back().script == current().script());
    BOOST_TEST(contains(err, "trial 1.1 has no checkpoint: it starts from the beginning"), err);
    show_task(4712, 1, slurm::JobState::pending, "PENDING");
    BOOST_TEST(state() == "QUEUED");
    auto const trials = ask("experiment list-trials 1");
    std::vector<std::string> states;
    std::vector<int> units;
    for (auto const& trial : trials) {
        states.push_back(trial["state"]);
        units.push_back(trial["hyperparameters"]["units"]);
    }
    BOOST_TEST(states == (std::vector<std::string>{"COMPLETED", "QUEUED", "COMPLETED"}),
               boost::test_tools::per_element());
    BOOST_TEST(units == (std::vector<int>{24, 16, 8}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(completed_trials_keep_their_hyperparameters) {
    fail_in_grid();
    auto const calls = slurm.submissions.size();
    BOOST_TEST(run("experiment continue 1 --config hyperparameters.units.vals=[9,16,24]") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "--config:1:28: error: trial 1.2 has completed"), err);
    BOOST_TEST(contains(err, "experiment fork"), err);
    BOOST_TEST(run("experiment continue 1 --config hyperparameters.units.vals=[8,24]") ==
               to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "has 3 trials and would have 2"), err);
    BOOST_TEST(run("experiment continue 1 --config hyperparameters.seed=8") == to_int(ExitCode::bad_file));
    BOOST_TEST(slurm.submissions.size() == calls);
    BOOST_TEST(spec().revision() == 0u);
}

BOOST_AUTO_TEST_CASE(trials_that_share_nodes_are_claimed_anew) {
    must(write_file(directory / "exp.yaml",
                    "name: example\nentrypoint: ./train\nresources: {slots_per_trial: 1}\n"
                    "searcher: {name: grid, metric: loss}\n"
                    "hyperparameters: {units: {type: categorical, vals: [1, 2, 3, 4]}}\n"));
    BOOST_REQUIRE_MESSAGE(create() == 0, err);
    BOOST_REQUIRE(spec().lanes > 1u);
    for (std::uint32_t trial = 0; trial < 4; ++trial) {
        must(make_directories(experiment(1).trial(trial).path()));
        must(write_file(experiment(1).trial(trial).claimed(), "4711_0\n"));
        run_trial(trial, trial == 2 ? run_end(6, Cause::failed, NextAction::stop, 9, "") : finish(5));
    }
    BOOST_TEST(run("experiment continue 1") == 0, err);
    BOOST_TEST(slurm.submissions.back().options.back().starts_with("--array=0"));
    BOOST_TEST(!path_exists(current().trial(2).claimed()));
    show_task(4712, 0, slurm::JobState::pending, "PENDING");
    auto const trials = ask("experiment list-trials 1");
    BOOST_TEST(trials[1]["state"] == "COMPLETED");
    BOOST_TEST(trials[2]["state"] == "QUEUED");
}

BOOST_AUTO_TEST_CASE(a_file_with_changes_replaces_what_it_names) {
    complete_single();
    must(write_file(directory / "longer.yaml",
                    "searcher:\n  max_length: {epochs: 3}\nrecords_per_epoch: 9\n"
                    "environment: {environment_variables: [A=1]}\n"));
    auto const file = (directory / "longer.yaml").string();
    BOOST_TEST(run("experiment continue 1 " + file + " --config-file " + file) == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment continue 1 " + file) == 0, err);
    BOOST_TEST(spec().config->at("searcher")["max_length"] == (Json{{"epochs", 3}}));
    BOOST_TEST(spec().environment_variables == std::vector<std::string>{"A=1"},
               boost::test_tools::per_element());
    BOOST_TEST(run("experiment config 1 --as-written") == 0);
    BOOST_TEST(out == must(read_file(file)));
}

BOOST_AUTO_TEST_CASE(fixed_keys_are_refused_with_location_and_hint) {
    complete_single();
    must(write_file(directory / "changes.yaml",
                    "name: other\ncheckpoint_storage:\n  host_path: /tmp\n  save_trial_best: 3\n"));
    BOOST_TEST(run("experiment continue 1 --config-file " + (directory / "changes.yaml").string()) ==
               to_int(ExitCode::bad_file));
    for (auto const* part :
         {"changes.yaml:1:7: error: name can't be changed", "experiment set name",
          "changes.yaml:3:14: error: checkpoint_storage.host_path can't be changed", "experiment fork",
          "changes.yaml:4:20: error: checkpoint_storage.save_trial_best", "set gc-policy", "[bad-value]"})
        BOOST_TEST(contains(err, part), part << " in " << err);
    BOOST_TEST(
        run(R"(experiment continue 1 --config searcher={"name":"random","metric":"loss","max_trials":2})") ==
        to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "searcher.name can't be changed"), err);
    BOOST_TEST(run("experiment continue 1 --config slots_per_trial=2") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "unknown key"), err);
    BOOST_TEST(!path_exists(experiment(1).revisions()));
}

BOOST_AUTO_TEST_CASE(only_ended_experiments_with_trials_left_are_continued) {
    complete_single();
    auto const refused = [&](std::string const& why) {
        auto const calls = slurm.submissions.size();
        BOOST_TEST(run("experiment continue 1") != 0);
        BOOST_TEST(contains(err, why), err);
        BOOST_TEST(slurm.submissions.size() == calls);
        BOOST_TEST(!path_exists(experiment(1).revisions()));
    };
    BOOST_TEST(run("experiment archive 1") == 0);
    refused("unarchive 1");
    BOOST_TEST(run("experiment unarchive 1") == 0);
    must(remove_tree(root.contexts()));
    refused("the code is gone");

    BOOST_REQUIRE(create() == 0);
    show_task(4712, 0, slurm::JobState::running, "RUNNING", 2);
    BOOST_TEST(run("experiment continue 2") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "has not ended"), err);
    BOOST_TEST(run("experiment continue 77") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment continue x") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment delete 1 --yes") == 0, err);
    BOOST_TEST(run("experiment continue 1") == to_int(ExitCode::absent));
    slurm.is_down = true;
    BOOST_TEST(run("experiment continue 2") == to_int(ExitCode::slurm_unreachable));
}

BOOST_AUTO_TEST_CASE(an_adaptive_or_completed_search_is_not_continued) {
    BOOST_REQUIRE(create(" --config searcher.name=random --config searcher.max_trials=2") == 0);
    run_trial(0, finish(5));
    run_trial(1, finish(6));
    BOOST_TEST(run("experiment continue 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "all trials of experiment 1 have completed"), err);
    auto learning = spec();
    learning.searcher.name = "adaptive_asha";
    must(write_file(experiment(1).spec(), render_spec(learning)));
    BOOST_TEST(run("experiment continue 1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "searcher 'adaptive_asha'"), err);
}

BOOST_AUTO_TEST_CASE(a_repeated_command_continues_once) {
    complete_single();
    std::string const line = "experiment continue 1 --config searcher.max_length.batches=200";
    BOOST_TEST(run(line) == 0, err);
    show_task(4712, 0, slurm::JobState::pending, "PENDING");
    auto const calls = slurm.submissions.size();
    BOOST_TEST(run(line) == 0, err);
    BOOST_TEST(contains(err, "Continued experiment 1"), err);
    BOOST_TEST(slurm.submissions.size() == calls);
    BOOST_TEST(std::count(slurm.calls.begin(), slurm.calls.end(), "release 4712") == 2);
    BOOST_TEST(run("experiment continue 1 --config max_restarts=1") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "was continued already"), err);
}

BOOST_AUTO_TEST_CASE(a_refusal_of_slurm_changes_nothing) {
    complete_single();
    for (auto const* call : {"test", "submit"}) {
        slurm.refused = {call};
        BOOST_TEST(run("experiment continue 1 --config max_restarts=1") ==
                   to_int(ExitCode::refused_by_slurm));
        BOOST_TEST(state() == "COMPLETED");
        BOOST_TEST(spec().max_restarts == 5u);
    }
    slurm.refused.clear();
    BOOST_TEST(run("experiment continue 1 --config max_restarts=1") == 0, err);
    BOOST_TEST(spec().max_restarts == 1u);
}

BOOST_AUTO_TEST_CASE(jobs_of_an_interrupted_continuation_are_cancelled) {
    complete_single();
    auto held = job_of(1, slurm::JobState::pending, "PENDING");
    held.ref = {99, 0};
    held.comment = job_comment(root, {1});
    slurm.other_jobs = {held};
    must(make_directories(experiment(1).at_revision(1).revision_path()));
    BOOST_TEST(run("experiment continue 1") == 0, err);
    BOOST_TEST(was_called("cancel 99"));
    slurm.calls.clear();
    slurm.other_jobs = {held};
    run_trial(0, finish(15));
    BOOST_TEST(run("experiment delete 1 --yes") == 0, err);
    BOOST_TEST(was_called("cancel 99"));
}

BOOST_AUTO_TEST_SUITE_END()
