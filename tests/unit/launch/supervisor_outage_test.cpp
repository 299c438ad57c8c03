// The supervisor while files of the experiment can not be written.
#include <cstdlib>
#include <thread>

#include "stalled_writes.hpp"
#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace supervisor_outage_test {

/// Lets writes below the experiment not return.
struct StallFixture : SupervisorFixture {
    std::optional<StalledWrites> stall;
    std::optional<Error> end;  // of the process, after which writes return again

    StallFixture() {
        end_process = [this](Error const& error) {
            end = error;
            stall.reset();
        };
    }
    StallFixture(StallFixture const&) = delete;
    StallFixture& operator=(StallFixture const&) = delete;
    ~StallFixture() { ::unsetenv("DET_STORAGE_TIMEOUT_S"); }

    static void limit_s(int seconds) {
        ::setenv("DET_STORAGE_TIMEOUT_S", std::to_string(seconds).c_str(), 1);
    }
    void stall_writes() { stall.emplace(experiment.path()); }
    /// Lets writes not return once so many runs have been logged as begun.
    void stall_after_begins(int count) {
        on_log = [this, count, begins = 0](std::string const& line) mutable {
            if (line.find(" begins on ") != std::string::npos && ++begins == count) stall_writes();
        };
    }
    /// Supervises; writes return again when the supervisor and its probe wait.
    int supervise_through_stall() {
        std::jthread const release([this](std::stop_token const& stop) {
            while (StalledWrites::waiting() < 2 && !stop.stop_requested()) ::usleep(1000);
            stall.reset();
        });
        return supervise();
    }
    std::string what_ended() const { return end ? end->message : "nothing"; }
};

}  // namespace supervisor_outage_test

BOOST_FIXTURE_TEST_SUITE(supervisor_outage_test, StallFixture)

BOOST_AUTO_TEST_CASE(a_run_begins_when_writes_return) {
    step_is("exit 0");
    stall_writes();
    BOOST_TEST(supervise_through_stall() == 0);
    BOOST_TEST(what_ended() == "nothing");
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_is_recorded_when_writes_return) {
    step_is("exit 0");
    stall_after_begins(1);
    BOOST_TEST(supervise_through_stall() == 0);
    BOOST_TEST(what_ended() == "nothing");
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(a_run_that_can_not_begin_is_given_up_after_the_limit) {
    step_is("exit 0");
    limit_s(5);
    stall_writes();
    supervise();
    BOOST_TEST(what_ended() ==
               "the shared file system has not answered for 5 s: no run of trial 0 has begun");
}

BOOST_AUTO_TEST_CASE(the_end_of_a_run_is_given_up_after_the_limit_and_named) {
    step_is("exit 0");
    limit_s(5);
    stall_after_begins(1);
    supervise();
    BOOST_TEST(what_ended() ==
               "the shared file system has not answered for 5 s: the end of run 7.0.0 is not recorded");
    BOOST_REQUIRE(end);
    BOOST_TEST(end->code.name == "file-system");
}

BOOST_AUTO_TEST_CASE(no_end_is_given_up_while_another_trial_of_the_job_runs) {
    step_is(R"([ "$DET_TRIAL_ID" = 7000000 ] && exit 0
        until [ -e "$DET_ROOT/delayed" ]; do sleep 0.01; done
        touch "$DET_ROOT/ended")");
    limit_s(5);
    bool has_ended = false;
    on_log = [this, begins = 0](std::string const& line) mutable {
        if (line.find(" begins on ") != std::string::npos && ++begins == 2) stall_writes();
        if (line.find("Other trials of this job run") != std::string::npos)
            must(write_file(root / "delayed", ""));
    };
    end_process = [&](Error const& error) {
        has_ended = path_exists(root / "ended");
        end = error;
        stall.reset();
    };
    supervise(packed_assignment(2));
    BOOST_TEST(what_ended() ==
               "the shared file system has not answered for 5 s: the end of run 7.0.0 is not recorded");
    BOOST_TEST(has_ended);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_no_number_is_refused) {
    ::setenv("DET_STORAGE_TIMEOUT_S", "soon", 1);
    auto const refused = supervise_trials(
        batch_job(), {slurm, clock, Environment::of_this_process(), "/x", [](std::string const&) {}, {}});
    BOOST_REQUIRE(!refused);
    BOOST_TEST(refused.error().code.name == "misuse");
}

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
