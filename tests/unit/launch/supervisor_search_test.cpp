// Trials that the search ends, and trials whose hyperparameters are invalid.
#include <det/journal/trial_replacements.hpp>
#include <det/search/rung.hpp>

#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace supervisor_search_test {

using Names = std::vector<std::string>;

/// Experiment 7 searches with two rungs, at 100 and 400 batches, in one bracket.
struct Fixture : SupervisorFixture {
    BatchJob search_assignment(std::uint32_t lanes = 1) const {
        auto a = batch_job();
        a.spec.searcher = {
            "async_halving", "loss", true,
            Json{{"num_rungs", 2}, {"max_trials", 4}, {"max_length", {{"batches", 400}}}, {"divisor", 4}}};
        a.spec.hyperparameters = Json{{"lr", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}}};
        a.spec.trial_count = 4;
        a.spec.lanes = lanes;
        a.spec.max_restarts = 0;
        return a;
    }
    /// A journal of a chief that reported these records, for steps to copy.
    std::string journal_with(std::vector<Record> const& records) {
        auto const path = root / ("chief-" + std::to_string(++journals_));
        auto chief = must(journal::JournalWriter::create(path));
        for (auto const& record : records) must(chief.append(record));
        return path;
    }
    static Record validation(std::uint64_t step, double loss) {
        return MetricsReported{UtcTime{1}, "validation", step, Json{{"loss", loss}}};
    }
    /// A step that reports and then waits until it is asked to stop.
    void reporting_step(std::vector<Record> const& records, std::string const& then = "exit 0") {
        step_is("cp " + journal_with(records) +
                " \"$DET_RUN_PATH/journal\"; kill -USR2 $PPID\n"
                "while [ ! -e \"$DET_RUN_PATH/asked\" ]; do sleep 0.01; done\n" +
                then);
    }
    void others_arrived(std::uint32_t rung, Names const& entries) {
        must(make_directories(experiment.rung(0, rung)));
        for (auto const& entry : entries) must(write_file(experiment.rung(0, rung) / entry, ""));
    }
    Names entries(std::uint32_t rung) const { return must(list_directory(experiment.rung(0, rung))); }
    std::vector<SearchDecision> decisions_of(std::uint32_t run) const {
        std::vector<SearchDecision> found;
        for (auto const& record :
             must(journal::load_journal(experiment.trial(0).run(run).supervisor_journal())).records) {
            if (auto const* decision = std::get_if<SearchDecision>(&record)) found.push_back(*decision);
        }
        return found;
    }
    /// A run of trial 0 whose supervisor was killed: its life has no end.
    void earlier_run(std::vector<Record> const& life, std::vector<Record> const& reports) {
        auto const run = experiment.trial(0).run(0);
        must(make_directories(run.path()));
        auto writer = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(writer.append(RunStarted{UtcTime{1}, "123_0", 0, "n0", "n[0-1]", 0, "", 0}));
        for (auto const& record : life) must(writer.append(record));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        for (auto const& record : reports) must(chief.append(record));
    }

private:
    int journals_ = 0;
};

}  // namespace supervisor_search_test

BOOST_FIXTURE_TEST_SUITE(supervisor_search_test, supervisor_search_test::Fixture)

using supervisor_search_test::Names;

BOOST_AUTO_TEST_CASE(a_trial_that_loses_at_a_rung_is_asked_to_stop_and_completes) {
    others_arrived(0, {"1@0.1", "2@0.2"});
    reporting_step({validation(50, 0.9), validation(100, 0.5)},
                   R"(cp "$DET_RUN_PATH/asked" "$DET_EXPERIMENT_PATH/was-asked"; exit 0)");
    BOOST_TEST(supervise(search_assignment()) == 0);
    auto const end = end_of(0);
    BOOST_TEST(end.cause_name() == "stopped-by-search");
    BOOST_TEST(to_string(end.next_action) == "stop");
    BOOST_TEST(end.message == "the search ended it: 2 of 3 trials at rung 0 are better, 1 train on");
    BOOST_TEST(must(read_file(experiment.path() / "was-asked")) == "search\n");
    BOOST_TEST(!path_exists(run_path(0) + "/asked"));
    BOOST_TEST((entries(0) == Names{"0@0.5", "1@0.1", "2@0.2"}));
    BOOST_TEST(!was_requeued_after(0));
    auto const decisions = decisions_of(0);
    BOOST_REQUIRE(decisions.size() == 1);
    BOOST_TEST(decisions[0].trials == "0-2");
    BOOST_TEST(decisions[0].steps_completed == 100);
}

BOOST_AUTO_TEST_CASE(entries_of_trials_that_do_not_exist_decide_nothing) {
    others_arrived(0, {"1@0.9", "77@0.1", "999999@-inf"});
    step_is("cp " + journal_with({validation(100, 0.5)}) + " \"$DET_RUN_PATH/journal\"");
    BOOST_TEST(supervise(search_assignment()) == 0);
    auto const decisions = decisions_of(0);
    BOOST_REQUIRE(decisions.size() == 1);
    BOOST_TEST(decisions[0].trials == "0-1");
    BOOST_TEST(decisions[0].decision == "advance");
}

BOOST_AUTO_TEST_CASE(the_searchs_stop_wins_over_a_preemption_at_the_same_time) {
    others_arrived(0, {"1@0.1"});
    slurm.job->preempt_time = clock.now();
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    reporting_step({validation(100, 0.5), PreemptionAcknowledged{UtcTime{1}}}, "exit 1");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(end_of(0).cause_name() == "stopped-by-search");
    BOOST_TEST(std::ranges::count(slurm.calls, "requeue-incomplete 123_0") == 0);
}

BOOST_AUTO_TEST_CASE(reports_that_come_with_the_end_of_the_program_are_counted) {
    step_is("cp " + journal_with({validation(100, 0.5), validation(400, 0.3)}) +
            " \"$DET_RUN_PATH/journal\"");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(end_of(0).cause_name() == "finished");
    BOOST_TEST((entries(0) == Names{"0@0.5"}));
    BOOST_TEST((entries(1) == Names{"0@0.3"}));
    BOOST_TEST(decisions_of(0).size() == 2);
}

BOOST_AUTO_TEST_CASE(an_end_that_was_decided_but_not_recorded_is_recorded_without_another_step) {
    SearchDecision stop;
    stop.entry = "0@0.5";
    stop.trials = "0-2";
    stop.better_trials = 2;
    stop.kept_trials = 1;
    stop.decision = "stop";
    earlier_run({stop}, {validation(100, 0.5)});
    step_is("touch \"$DET_ROOT/began\"");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(end_of(1).cause_name() == "stopped-by-search");
    BOOST_TEST(!path_exists(root / "began"));
    BOOST_TEST(decisions_of(1).empty());
}

BOOST_AUTO_TEST_CASE(reports_of_a_run_whose_supervisor_was_killed_are_decided_by_the_next_one) {
    others_arrived(0, {"1@0.1"});
    earlier_run({}, {validation(100, 0.5)});
    step_is("touch \"$DET_ROOT/began\"");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(end_of(1).cause_name() == "stopped-by-search");
    BOOST_TEST(!path_exists(root / "began"));
    BOOST_TEST(decisions_of(1).size() == 1);
    BOOST_TEST((entries(0) == Names{"0@0.5", "1@0.1"}));
}

BOOST_AUTO_TEST_CASE(reports_that_cannot_be_used_end_the_trial_also_after_the_supervisor_was_killed) {
    earlier_run({}, {MetricsReported{UtcTime{1}, "validation", 10, Json{{"accuracy", 1}}}});
    step_is("touch \"$DET_ROOT/began\"");
    BOOST_TEST(supervise(search_assignment()) == 1);
    BOOST_TEST(end_of(1).cause_name() == "failed");
    BOOST_TEST(to_string(end_of(1).next_action) == "stop");
    BOOST_TEST(!path_exists(root / "began"));
    BOOST_TEST((entries(0) == Names{"0@nan"}));
}

BOOST_AUTO_TEST_CASE(a_report_without_the_searchers_metric_ends_the_trial_and_names_the_others) {
    step_is("cp " + journal_with({MetricsReported{UtcTime{1}, "validation", 10, Json{{"accuracy", 1}}}}) +
            " \"$DET_RUN_PATH/journal\"; kill -USR2 $PPID; sleep 60 & wait $!");
    BOOST_TEST(supervise(search_assignment()) == 1);
    BOOST_TEST(end_of(0).cause_name() == "failed");
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).message ==
               "the search can't go on: the validation at step 10 reports no 'loss' (searcher.metric); it "
               "reports accuracy");
    BOOST_TEST((entries(0) == Names{"0@nan"}));
}

BOOST_AUTO_TEST_CASE(a_trial_that_failed_for_good_is_the_worst_of_its_rung) {
    step_is("cp " + journal_with({validation(100, 0.5)}) + " \"$DET_RUN_PATH/journal\"; exit 3");
    auto a = search_assignment();
    a.spec.max_restarts = 1;
    BOOST_TEST(supervise(a) == 1);
    BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
    BOOST_TEST(to_string(end_of(1).next_action) == "stop");
    BOOST_TEST((entries(0) == Names{"0@0.5"}));
    BOOST_TEST((entries(1) == Names{"0@nan"}));
}

BOOST_AUTO_TEST_CASE(a_trial_with_invalid_hyperparameters_is_replaced_in_the_same_job) {
    step_is("[ $DET_TRIAL_ID -ge 7000005 ] && exit 0\ncp " +
            journal_with({validation(100, 0.5), EarlyExitReported{UtcTime{1}, "INVALID_HP"}}) +
            " \"$DET_RUN_PATH/journal\"; exit 1");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(end_of(0).cause_name() == "invalid-hyperparameters");
    BOOST_TEST(end_of(0).message == "the trainer calls its hyperparameters invalid; trial 4 replaces it");
    BOOST_TEST((must(journal::load_replacements(experiment, 4)) == journal::Replacements{{4, 0}, {5, 4}}));
    BOOST_TEST(path_exists(experiment.trial(5).run(0).supervisor_journal()));
    BOOST_TEST(!path_exists(experiment.trial(6).path()));
    BOOST_TEST(entries(0).empty());
    // The next incarnation of the job runs the last replacement, not the trial of its array task.
    must(remove_tree(experiment.trial(5).runs()));
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST(path_exists(experiment.trial(5).run(0).supervisor_journal()));
    BOOST_TEST(!path_exists(experiment.trial(0).run(1).path()));
}

BOOST_AUTO_TEST_CASE(replacements_of_trials_that_share_a_node_are_claimed) {
    step_is("[ $DET_TRIAL_ID != 7000001 ] && exit 0\ncp " +
            journal_with({EarlyExitReported{UtcTime{1}, "INVALID_HP"}}) + " \"$DET_RUN_PATH/journal\"");
    BOOST_TEST(supervise(search_assignment(2)) == 0);
    for (auto const trial : {0U, 1U, 2U, 3U, 4U}) {
        BOOST_TEST(path_exists(experiment.trial(trial).run(0).supervisor_journal()), trial);
        BOOST_TEST(must(read_file(experiment.trial(trial).claimed())) == "123_0\n");
    }
    BOOST_TEST((must(journal::load_replacements(experiment, 4)) == journal::Replacements{{4, 1}}));
}

BOOST_AUTO_TEST_CASE(a_trial_of_a_grid_is_not_replaced) {
    step_is("cp " + journal_with({EarlyExitReported{UtcTime{1}, "INVALID_HP"}}) +
            " \"$DET_RUN_PATH/journal\"");
    auto a = search_assignment();
    a.spec.searcher = {"grid", "loss", true, Json::object()};
    a.spec.hyperparameters = Json{{"x", {{"type", "categorical"}, {"vals", {1, 2, 3, 4}}}}};
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(end_of(0).message == "the trainer calls its hyperparameters invalid");
    BOOST_TEST(!path_exists(experiment.trial(4).path()));
}

BOOST_AUTO_TEST_CASE(a_replacement_competes_in_the_bracket_of_the_trial_that_it_replaces) {
    must(journal::find_or_create_replacement(experiment, 4, 0, ""));
    step_is("cp " + journal_with({validation(100, 0.5)}) + " \"$DET_RUN_PATH/journal\"");
    BOOST_TEST(supervise(search_assignment()) == 0);
    BOOST_TEST((entries(0) == Names{"4@0.5"}));
}

BOOST_AUTO_TEST_SUITE_END()
