// The supervisor while files of the experiment can not be written.
#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_FIXTURE_TEST_SUITE(supervisor_outage_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(a_rung_that_can_not_be_written_is_written_before_the_end_of_the_run_is_recorded) {
    auto job = batch_job();
    job.spec.searcher = {
        "async_halving", "loss", true,
        Json{{"num_rungs", 2}, {"max_trials", 4}, {"max_length", {{"batches", 400}}}, {"divisor", 4}}};
    job.spec.trial_count = 4;
    {
        auto chief = must(journal::JournalWriter::create(root / "chief"));
        must(chief.append(MetricsReported{UtcTime{1}, "validation", 100, Json{{"loss", 0.5}}}));
    }
    step_is("cp '" + (root / "chief").string() + "' \"$DET_RUN_PATH/journal\"");
    auto const rungs = experiment.rung(0, 0).parent_path();
    must(write_file(rungs, "in place of a directory"));
    clock.on_sleep = [&](auto elapsed) {
        if (elapsed >= std::chrono::seconds(3)) std::filesystem::remove(rungs);
    };
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST((must(list_directory(experiment.rung(0, 0))) == std::vector<std::string>{"0@0.5"}));
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST((clock.steady_now().time_since_epoch() >= std::chrono::seconds(3)));
}

BOOST_AUTO_TEST_CASE(a_trial_that_can_not_be_claimed_is_claimed_later) {
    step_is("exit 0");
    auto const trial = experiment.trial(0).path();
    must(remove_tree(trial));
    must(write_file(trial, "in place of a directory"));
    clock.on_sleep = [&](auto) { std::filesystem::remove(trial); };
    BOOST_TEST(supervise(packed_assignment(1)) == 0);
    BOOST_TEST(must(read_file(experiment.trial(0).claimed())) == "123_0\n");
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_SUITE_END()
