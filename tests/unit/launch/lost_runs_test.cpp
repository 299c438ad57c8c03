// What a supervisor does that det-batch has started because the first one was killed.
#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using slurm::JobState;

namespace lost_runs_test {

struct Fixture : SupervisorFixture {
    RunLayout lost = experiment.trial(0).run(0);

    /// Run 0 as a killed supervisor leaves it.
    void lose_run(std::string const& job = "123_0", std::uint32_t restart_count = 0) const {
        lose_run(lost, job, restart_count);
    }
    static void lose_run(RunLayout const& run, std::string const& job = "123_0",
                         std::uint32_t restart_count = 0) {
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{UtcTime{1}, job, restart_count, "n0", "n[0-1]", 0, "", 0, {}}));
    }
    BatchJob second() const {
        auto a = batch_job();
        a.is_started_again = true;
        return a;
    }
    bool has_cancelled() const {
        return std::ranges::find(slurm.calls, "cancel-step 123_0 7.0.0") != slurm.calls.end();
    }
};

}  // namespace lost_runs_test

BOOST_FIXTURE_TEST_SUITE(lost_runs_test, lost_runs_test::Fixture)

BOOST_AUTO_TEST_CASE(the_run_of_a_killed_supervisor_is_ended_and_the_trial_goes_on_without_a_restart) {
    lose_run();
    must(write_file(lost.heartbeat(1), ""));
    clock.on_sleep = [&](std::chrono::milliseconds elapsed) {
        if (elapsed >= std::chrono::seconds(1)) must(remove_tree(lost.heartbeat(1)));
    };
    step_is("exit 0");
    BOOST_TEST(supervise(second()) == 0);
    BOOST_TEST(has_cancelled());
    auto const end = end_of(0);
    BOOST_TEST(to_string(end.cause) == "interrupted");
    BOOST_TEST(to_string(end.next_action) == "restart-in-place");
    BOOST_TEST(end.message == "its supervisor was killed and started again");
    BOOST_TEST(!path_exists(lost.abandoned()));
    auto const life = must(journal::load_journal(experiment.trial(0).run(1).supervisor_journal()));
    BOOST_TEST(std::get<RunStarted>(life.records.at(0)).restarts == 0u);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(a_step_that_cannot_be_cancelled_is_abandoned) {
    lose_run();
    slurm.refused.insert("cancel-step");
    step_is("exit 0");
    BOOST_TEST(supervise(second()) == 0);
    BOOST_TEST(path_exists(lost.abandoned()));
    BOOST_TEST(end_of(0).message.find("its step could not be cancelled") != std::string::npos);
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(runs_of_other_executions_of_the_job_stay_as_they_are) {
    slurm.job->restarts = 1;
    auto a = second();
    a.incarnation.restart_count = 1;
    lose_run();
    step_is("exit 0");
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(!has_cancelled());
    BOOST_TEST(must(journal::load_journal(lost.supervisor_journal())).records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(nothing_starts_in_a_job_that_has_ended_or_runs_elsewhere) {
    lose_run();
    step_is("exit 0");
    auto const running = *slurm.job;
    for (auto const& change : std::vector<std::function<void(slurm::JobStatus&)>>{
             [](auto& job) { job.state = JobState::completing; },
             [](auto& job) { job.state = JobState::pending; }, [](auto& job) { job.restarts = 1; },
             [](auto& job) { job.batch_host = "n1"; }}) {
        slurm.job = running;
        change(*slurm.job);
        BOOST_TEST(supervise(second()) == 1);
    }
    slurm.job.reset();
    BOOST_TEST(supervise(second()) == 1);
    slurm.is_down = true;
    BOOST_TEST(supervise(second()) == 6);
    BOOST_TEST(!path_exists(run_path(1)));
    BOOST_TEST(must(journal::load_journal(lost.supervisor_journal())).records.size() == 1u);
}

BOOST_AUTO_TEST_CASE(trials_that_share_the_job_go_on_too) {
    lose_run();
    must(write_file(experiment.trial(0).claimed(), "123_0\n"));
    step_is("exit 0");
    auto a = packed_assignment(2);
    a.is_started_again = true;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "interrupted");
    BOOST_TEST(to_string(end_of(1).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(the_nodes_of_all_lost_runs_get_the_same_moment_to_end) {
    constexpr std::uint32_t trials = 4;
    for (std::uint32_t trial = 0; trial < trials; ++trial) {
        lose_run(experiment.trial(trial).run(0));
        must(write_file(experiment.trial(trial).claimed(), "123_0\n"));
    }
    step_is("exit 0");
    auto a = packed_assignment(trials);
    a.spec.lanes = static_cast<int>(trials);
    a.is_started_again = true;
    std::chrono::steady_clock::time_point ended{};
    on_log = [&](std::string const& line) {
        // The clock stands still but for waits.
        if (line.find(" begins on ") != std::string::npos && ended.time_since_epoch().count() == 0)
            ended = clock.steady_now();
    };
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST((ended.time_since_epoch() >= std::chrono::seconds(5)));
    BOOST_TEST((ended.time_since_epoch() < std::chrono::seconds(7)));
    for (std::uint32_t trial = 0; trial < trials; ++trial) {
        auto const life = must(journal::load_journal(experiment.trial(trial).run(0).supervisor_journal()));
        BOOST_TEST(to_string(last_of<RunEnded>(life.records).value().cause) == "interrupted");
    }
}

BOOST_AUTO_TEST_SUITE_END()
