#include <det/lifecycle/state.hpp>

#include <boost/test/unit_test.hpp>

using namespace det;
using namespace det::lifecycle;
using slurm::JobState;

namespace state_test {

RunView running_run() { return {RunStarted{}, std::nullopt}; }
RunView ended_run(Cause cause, NextAction next_action) {
    return {RunStarted{}, RunEnded{{}, cause, next_action, 0, "x"}};
}

std::string_view state(std::vector<RunView> const& runs, std::optional<JobState> job,
                       DesiredState desired = DesiredState::run) {
    TrialFacts facts{runs, desired, true, std::nullopt};
    if (job) {
        facts.job = slurm::JobStatus{};
        facts.job->state = *job;
    }
    return to_string(state_of_trial(facts));
}

std::string_view experiment(std::vector<State> const& trials, bool created = true,
                            DesiredState desired = DesiredState::run) {
    return to_string(state_of_experiment(created, desired, trials));
}

}  // namespace state_test

BOOST_AUTO_TEST_SUITE(state_test)

BOOST_AUTO_TEST_CASE(a_trial_passes_from_queued_to_completed) {
    BOOST_TEST(state({}, JobState::pending) == "QUEUED");
    BOOST_TEST(state({}, JobState::running) == "STARTING");
    BOOST_TEST(state({running_run()}, JobState::running) == "RUNNING");
    BOOST_TEST(state({ended_run(Cause::finished, NextAction::stop)}, JobState::completed) == "COMPLETED");
    BOOST_TEST(state({ended_run(Cause::failed, NextAction::stop)}, std::nullopt) == "ERROR");
    BOOST_TEST(state({ended_run(Cause::canceled, NextAction::stop)}, std::nullopt) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_preempted_trial_is_queued_again_and_runs_again) {
    auto const preempted = ended_run(Cause::preempted, NextAction::requeue);
    BOOST_TEST(state({preempted}, JobState::completing) == "QUEUED");
    BOOST_TEST(state({preempted}, JobState::pending) == "QUEUED");
    BOOST_TEST(state({preempted}, JobState::running) == "STARTING");
    BOOST_TEST(state({preempted, running_run()}, JobState::running) == "RUNNING");
    BOOST_TEST(state({preempted}, JobState::canceled) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(runs_before_a_continuation_do_not_count) {
    std::vector<RunView> runs{ended_run(Cause::failed, NextAction::stop)};
    TrialFacts facts{runs, DesiredState::run, true, slurm::JobStatus{}};
    facts.job->state = JobState::pending;
    BOOST_TEST((state_of_trial(facts) == State::error));
    facts.first_run = 1;
    BOOST_TEST((state_of_trial(facts) == State::queued));
    runs.push_back(ended_run(Cause::finished, NextAction::stop));
    facts.runs = runs;
    BOOST_TEST((state_of_trial(facts) == State::completed));
}

BOOST_AUTO_TEST_CASE(the_journals_decide_about_a_job_that_slurm_has_forgotten) {
    BOOST_TEST(state({ended_run(Cause::finished, NextAction::stop)}, std::nullopt) == "COMPLETED");
    BOOST_TEST(state({running_run()}, std::nullopt) == "INTERRUPTED");
    BOOST_TEST(state({}, std::nullopt) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_killed_supervisor_leaves_an_interrupted_trial) {
    BOOST_TEST(state({running_run()}, JobState::failed) == "INTERRUPTED");
    BOOST_TEST(state({running_run()}, JobState::node_failed) == "INTERRUPTED");
}

BOOST_AUTO_TEST_CASE(an_interrupted_trial_that_the_user_has_ended_is_canceled) {
    BOOST_TEST(state({running_run()}, JobState::failed, DesiredState::kill) == "CANCELED");
    BOOST_TEST(state({running_run()}, std::nullopt, DesiredState::cancel) == "CANCELED");
    TrialFacts unclaimed{{}, DesiredState::kill, true, slurm::JobStatus{}};
    unclaimed.is_unclaimed = true;
    unclaimed.job->state = JobState::completed;
    BOOST_TEST((state_of_trial(unclaimed) == State::canceled));
}

BOOST_AUTO_TEST_CASE(a_replacement_is_interrupted_if_its_job_ends_before_its_first_run) {
    auto const replacement = [](std::optional<JobState> job, DesiredState desired = DesiredState::run) {
        TrialFacts facts;
        facts.desired = desired;
        if (job) {
            facts.job = slurm::JobStatus{};
            facts.job->state = *job;
        }
        facts.is_replacement = true;
        return to_string(state_of_trial(facts));
    };
    BOOST_TEST(replacement(JobState::running) == "STARTING");
    BOOST_TEST(replacement(JobState::failed) == "INTERRUPTED");
    BOOST_TEST(replacement(std::nullopt) == "INTERRUPTED");
    BOOST_TEST(replacement(JobState::canceled) == "CANCELED");
    BOOST_TEST(replacement(std::nullopt, DesiredState::cancel) == "CANCELED");
    BOOST_TEST(state({}, JobState::failed) == "ERROR");
}

BOOST_AUTO_TEST_CASE(an_interrupted_run_stays_interrupted_unless_its_job_continues) {
    auto const unclear = ended_run(Cause::interrupted, NextAction::left_to_slurm);
    BOOST_TEST(state({unclear}, JobState::failed) == "INTERRUPTED");
    BOOST_TEST(state({unclear}, std::nullopt) == "INTERRUPTED");
    BOOST_TEST(state({unclear}, JobState::pending) == "QUEUED");
    BOOST_TEST(state({unclear}, JobState::running) == "STARTING");
    BOOST_TEST(state({unclear}, JobState::canceled) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_cancelled_trial_is_stopping_until_it_has_ended) {
    BOOST_TEST(state({running_run()}, JobState::running, DesiredState::cancel) == "STOPPING_CANCELED");
    BOOST_TEST(state({}, JobState::pending, DesiredState::kill) == "STOPPING_KILLED");
    BOOST_TEST(state({ended_run(Cause::canceled, NextAction::stop)}, JobState::completing,
                     DesiredState::cancel) == "CANCELED");
    BOOST_TEST(state({}, std::nullopt, DesiredState::cancel) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(without_slurm_the_journals_decide) {
    std::vector<RunView> const runs{running_run()};
    BOOST_TEST((state_of_trial({runs, DesiredState::run, false, {}}) == State::running));
    BOOST_TEST((state_of_trial({{}, DesiredState::run, false, {}}) == State::queued));
}

BOOST_AUTO_TEST_CASE(an_experiment_succeeds_if_one_of_its_trials_does) {
    BOOST_TEST(experiment({State::completed, State::error}) == "COMPLETED");
    BOOST_TEST(experiment({State::error, State::canceled}) == "ERROR");
    BOOST_TEST(experiment({State::canceled}) == "CANCELED");
    BOOST_TEST(experiment({State::completed, State::running}) == "RUNNING");
    BOOST_TEST(experiment({State::queued, State::starting}) == "STARTING");
    BOOST_TEST(experiment({State::interrupted, State::completed}) == "INTERRUPTED");
    BOOST_TEST(experiment({}, false) == "SUBMITTING");
    BOOST_TEST(experiment({}) == "QUEUED");
}

BOOST_AUTO_TEST_CASE(an_experiment_that_the_user_ends_before_all_trials_have_completed_is_canceled) {
    for (auto const desired : {DesiredState::cancel, DesiredState::kill}) {
        BOOST_TEST(experiment({State::completed, State::canceled}, true, desired) == "CANCELED");
        BOOST_TEST(experiment({State::completed, State::error}, true, desired) == "CANCELED");
        BOOST_TEST(experiment({State::error, State::canceled}, true, desired) == "CANCELED");
        BOOST_TEST(experiment({State::completed, State::completed}, true, desired) == "COMPLETED");
    }
    // The user has killed a trial, and not the experiment.
    BOOST_TEST(experiment({State::completed, State::canceled}) == "COMPLETED");
    BOOST_TEST(experiment({State::completed, State::canceled}, true, DesiredState::pause) == "COMPLETED");
}

BOOST_AUTO_TEST_CASE(a_state_is_found_by_its_name) {
    for (int i = 0; i <= static_cast<int>(State::interrupted); ++i) {
        auto const state = static_cast<State>(i);
        BOOST_TEST((lifecycle::parse_state(to_string(state)) == state));
    }
    BOOST_TEST((lifecycle::parse_state("Stopping_Killed") == State::stopping_killed));
    BOOST_TEST(!lifecycle::parse_state(""));
    BOOST_TEST(!lifecycle::parse_state("RUNNIN"));
}

BOOST_AUTO_TEST_SUITE_END()
