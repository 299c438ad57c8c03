#include "run_phases.hpp"

#include <det/tracker/usage/allocations.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::tracker;
using namespace det::tracker::usage;

namespace run_phases_test {

constexpr UtcTime at(std::int64_t seconds) { return {seconds * 1'000'000}; }

/// A trial whose run N starts at 100 N and trains from 100 N + 10.
struct Fixture {
    history::TrialRecord trial{{ExperimentId{1}, 0}, DesiredState::run, {}, {}};
    std::vector<history::RunReports> reports;

    std::size_t add_run(std::string const& checkpoint = "", std::uint32_t restart_count = 0) {
        auto const number = static_cast<std::int64_t>(trial.runs.size());
        RunStarted started;
        started.time = at(100 * number);
        started.job = "7_0";
        started.restart_count = restart_count;
        started.latest_checkpoint = checkpoint;
        started.steps_completed = checkpoint.empty() ? 0 : 50;
        trial.runs.push_back({started, {}});
        auto& run = reports.emplace_back();
        run.add(started);
        run.add(FirstStep{at(100 * number + 10)});
        return trial.runs.size() - 1;
    }
    void end(std::size_t run, std::int64_t time, Cause cause) {
        trial.runs[run].ended = RunEnded{at(time), cause, NextAction::requeue, 0, ""};
    }
    void save(std::size_t run, std::string const& uuid, std::int64_t time) {
        reports[run].add(CheckpointCommitted{at(time), uuid, 50, {}, {}, 1.5});
    }
    void report(std::size_t run, std::uint64_t step, std::int64_t time) {
        reports[run].add(MetricsReported{at(time), "training", step, {}});
    }
    std::vector<RunPhases> phases() {
        history::set_cut_offs(reports);
        auto phases = run_phases(trial, reports);
        for (auto& each : phases) each.slots = 4;
        return phases;
    }
    std::optional<UtcTime> kept(std::size_t run) { return phases().at(run).kept_until; }
};

ExperimentSpec make_spec() {
    ExperimentSpec spec;
    spec.shape = {2, 2, SlotType::cpu};
    return spec;
}

slurm::JobStatus make_job(slurm::JobState state, std::uint32_t restarts) {
    slurm::JobStatus job;
    job.ref = {7, 0};
    job.state = state;
    job.restarts = restarts;
    job.end_time = at(500);
    return job;
}

}  // namespace run_phases_test

BOOST_FIXTURE_TEST_SUITE(run_phases_test, Fixture)

BOOST_AUTO_TEST_CASE(a_run_is_kept_until_the_checkpoint_from_which_the_next_one_started) {
    auto const first = add_run();
    save(first, "a", 40);
    save(first, "b", 60);
    end(first, 70, Cause::failed);
    add_run("a");
    BOOST_TEST((kept(first) == at(40)));
    auto const phases = this->phases();
    BOOST_TEST((phases[0].trained == at(10)));
    BOOST_TEST((phases[0].lost_as == Use::redone));
    BOOST_TEST(phases[0].cause == "failed");
    BOOST_TEST(phases[0].start_cause == "first");
    BOOST_TEST(phases[1].start_cause == "failed");
    BOOST_REQUIRE_EQUAL(phases[0].saves.size(), 2u);
    BOOST_TEST(phases[0].saves[0].blocked_us == 1'500'000);
    BOOST_TEST(!kept(1));  // it still runs
}

BOOST_AUTO_TEST_CASE(nothing_is_kept_of_runs_after_the_checkpoint_or_without_one) {
    save(add_run(), "a", 40);
    end(0, 70, Cause::preempted);
    save(add_run("a"), "damaged", 140);
    end(1, 170, Cause::node_failed);
    add_run("a");
    BOOST_TEST((kept(0) == at(40)));
    BOOST_TEST((phases()[0].lost_as == Use::lost_to_preemption));
    BOOST_TEST((kept(1) == at(100)));
    BOOST_TEST((phases()[1].lost_as == Use::lost_to_node));
}

BOOST_AUTO_TEST_CASE(a_later_run_that_starts_earlier_counts) {
    save(add_run(), "a", 40);
    save(0, "b", 60);
    end(0, 70, Cause::preempted);
    add_run("b");
    end(1, 120, Cause::failed);
    add_run("a");
    BOOST_TEST((kept(0) == at(40)));
    BOOST_TEST((kept(1) == at(100)));
}

BOOST_AUTO_TEST_CASE(a_last_run_that_failed_is_kept_until_its_last_checkpoint) {
    add_run();
    end(0, 70, Cause::failed);
    BOOST_TEST((kept(0) == at(0)));
    save(0, "a", 40);
    BOOST_TEST((kept(0) == at(40)));
    end(0, 70, Cause::canceled);
    BOOST_TEST(!kept(0));
    end(0, 70, Cause::finished);
    BOOST_TEST(!kept(0));
}

BOOST_AUTO_TEST_CASE(without_checkpoints_of_det_the_repeated_reports_are_lost) {
    add_run();
    report(0, 10, 20);
    report(0, 20, 30);
    report(0, 30, 40);
    end(0, 70, Cause::preempted);
    report(add_run(), 20, 120);
    BOOST_TEST((kept(0) == at(20)));
}

BOOST_AUTO_TEST_CASE(of_a_program_that_reports_nothing_all_but_failures_is_training) {
    add_run();
    end(0, 70, Cause::preempted);
    add_run();
    end(1, 170, Cause::failed);
    add_run();
    reports.clear();
    auto const phases = this->phases();
    BOOST_TEST((phases[0].trained == at(0)));
    BOOST_TEST(!phases[0].kept_until);
    BOOST_TEST((phases[1].kept_until == at(100)));
    BOOST_TEST(!phases[2].kept_until);
}

BOOST_AUTO_TEST_CASE(a_run_that_never_trained_only_started) {
    save(add_run(), "a", 40);
    end(0, 70, Cause::failed);
    add_run("a");
    reports[1].first_step.reset();
    BOOST_TEST(!phases()[1].trained);
}

BOOST_AUTO_TEST_CASE(a_requeued_job_is_two_allocations_with_slurms_times) {
    add_run();
    end(0, 70, Cause::preempted);
    trial.runs[0].allocation = JobAllocated{at(1), at(-2), at(-9), {}, 3};
    add_run("", 1);
    end(1, 170, Cause::finished);
    trial.runs[1].allocation = JobAllocated{at(101), at(98), at(72), {}, 3};
    AllocationFinder finder(make_spec());
    finder.add(trial, reports);
    auto const found = finder.find({make_job(slurm::JobState::completed, 1)}, {}, at(900));
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    BOOST_TEST((found[0].submitted == at(-9)));
    BOOST_TEST((found[0].started == at(-2)));
    BOOST_TEST((found[0].ended == at(72)));
    BOOST_TEST((found[0].end_source == EndSource::requeue));
    BOOST_TEST(found[0].nodes == 3u);
    BOOST_TEST(found[0].slots == 6u);
    BOOST_TEST((found[1].ended == at(500)));
    BOOST_TEST((found[1].end_source == EndSource::slurm));
}

BOOST_AUTO_TEST_CASE(the_execution_that_accounting_knows_counts_before_the_requeue) {
    add_run();
    end(0, 70, Cause::preempted);
    trial.runs[0].allocation = JobAllocated{at(1), at(-2), at(-9), {}, 3};
    add_run("", 1);
    end(1, 170, Cause::finished);
    AllocationFinder finder(make_spec());
    finder.add(trial, reports);
    auto const job = *slurm::parse_job_ref(trial.runs[0].started->job);
    auto const found = finder.find({},
                                   {{job, at(-9000), at(-8000), 9},  // the number was used before
                                    {job, at(-2), at(61), 2},
                                    {{job.job + 1, job.task}, at(-2), at(62), 2},
                                    {job, at(98), at(171), 3}},
                                   at(900));
    BOOST_REQUIRE_EQUAL(found.size(), 2u);
    BOOST_TEST((found[0].started == at(-2)));
    BOOST_TEST((found[0].ended == at(61)));
    BOOST_TEST((found[0].end_source == EndSource::accounting));
    BOOST_TEST(found[0].slots == 4u);
    // The supervisor did not ask Slurm for this start: it began in this execution, which it did not record.
    BOOST_TEST((found[1].started == at(98)));
    BOOST_TEST((found[1].ended == at(171)));
    // A start that slurmctld has forgotten, or an end that the database has not learnt of.
    auto const unknown = finder.find({}, {{job, at(20), at(61), 2}, {job, at(98), {}, 3}}, at(900));
    BOOST_TEST((unknown[0].ended == at(70)));
    BOOST_TEST((unknown[1].ended == at(170)));
    BOOST_TEST((unknown[1].end_source == EndSource::journal));
    // The job started again within a second.
    auto const at_once = finder.find({}, {{job, at(-2), at(99), 2}, {job, at(99), at(171), 3}}, at(900));
    BOOST_TEST((at_once[1].started == at(99)));
    BOOST_TEST((at_once[1].ended == at(171)));
    // The start of an execution that was requeued soon after it, and a job that was cancelled in the queue.
    auto const short_one = finder.find({}, {{job, {}, at(66), 2}, {job, {}, at(140), 0}}, at(900));
    BOOST_TEST((short_one[0].started == at(-2)));
    BOOST_TEST((short_one[0].ended == at(66)));
    BOOST_TEST((short_one[0].end_source == EndSource::accounting));
}

BOOST_AUTO_TEST_CASE(without_slurms_times_the_journals_times_are_used) {
    add_run();
    end(0, 70, Cause::failed);
    add_run();
    AllocationFinder finder(make_spec());
    report(1, 5, 190);
    finder.add(trial, reports);
    auto const found = finder.find({}, {}, at(900));
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_TEST((found[0].started == at(0)));
    BOOST_TEST((found[0].ended == at(190)));  // the last report of the run that has no recorded end
    BOOST_TEST((found[0].end_source == EndSource::journal));
    BOOST_TEST(found[0].slots == 4u);
    BOOST_TEST(found[0].runs.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_running_job_is_counted_until_now) {
    add_run();
    AllocationFinder finder(make_spec());
    finder.add(trial, reports);
    BOOST_TEST((finder.find({make_job(slurm::JobState::running, 0)}, {}, at(900))[0].ended == at(900)));
    // The times of another execution of the job are not used.
    BOOST_TEST((finder.find({make_job(slurm::JobState::running, 1)}, {}, at(900))[0].ended == at(10)));
}

BOOST_AUTO_TEST_SUITE_END()
