// Jobs that start after other experiments.

#include "dependencies.hpp"

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace dependencies_test {

struct Fixture : SupervisorFixture {
    ExperimentLayout other{RootLayout(root.path()), {5}};

    /// Experiment 5 with two trials.
    Fixture() {
        ExperimentSpec spec;
        spec.id = {5};
        spec.searcher = {"random", "loss", true, Json::object()};
        spec.trial_count = 2;
        spec.root = root.path();
        must(make_directories(other.trials()));
        must(write_file(other.spec(), render_spec(spec)));
    }
    void end_trial(std::uint32_t trial, Cause cause, NextAction next = NextAction::stop) const {
        auto const run = other.trial(trial).run(0);
        must(remove_tree(run.path()));
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{}));
        must(life.append(RunEnded{{}, cause, next, 0, ""}));
    }
    BatchJob after(Json const& list, char const* key = "after") const {
        auto a = batch_job();
        a.spec.config = Json{{"slurm", {{key, list}}}};
        return a;
    }
    StartPermission permission(Json const& list, char const* key = "after") const {
        return must(check_dependencies(after(list, key).spec));
    }
};

}  // namespace dependencies_test

BOOST_FIXTURE_TEST_SUITE(dependencies_test, dependencies_test::Fixture)

BOOST_AUTO_TEST_CASE(a_job_starts_after_the_good_end_of_its_dependencies) {
    auto const list = Json::array({"5"});
    BOOST_TEST(permission(list).waits_for == "experiment 5");
    end_trial(0, Cause::finished);
    BOOST_TEST(permission(list).waits_for == "experiment 5");
    BOOST_TEST(permission(Json::array({"5.0"})).waits_for == "");
    BOOST_TEST(permission(Json::array({"5.1"})).waits_for == "trial 5.1");
    // A run that was queued again has not ended.
    end_trial(1, Cause::preempted, NextAction::requeue);
    BOOST_TEST(permission(list).waits_for == "experiment 5");
    end_trial(1, Cause::failed);
    BOOST_TEST(permission(list).waits_for == "");
    BOOST_TEST(permission(list).refusal == "");  // one trial has completed
    BOOST_TEST(permission(Json::array({"5.1"})).refusal ==
               "trial 5.1, after which it was to start, did not end well");
    BOOST_TEST(permission(Json::array({"5.1"}), "after_any").refusal == "");
    end_trial(0, Cause::canceled);
    BOOST_TEST(permission(list).refusal == "experiment 5, after which it was to start, did not end well");
    BOOST_TEST(permission(list, "after_any").refusal == "");
}

BOOST_AUTO_TEST_CASE(a_dependency_that_was_cancelled_before_it_began_has_ended) {
    must(journal::write_desired(other.desired(), DesiredState::cancel));
    BOOST_TEST(permission(Json::array({"5"})).refusal ==
               "experiment 5, after which it was to start, did not end well");
    BOOST_TEST(permission(Json::array({"5"}), "after_any").waits_for == "");
}

BOOST_AUTO_TEST_CASE(a_dependency_that_was_cancelled_while_it_was_queued_again_has_ended) {
    end_trial(0, Cause::paused, NextAction::requeue_held);
    end_trial(1, Cause::preempted, NextAction::requeue);
    BOOST_TEST(permission(Json::array({"5"})).waits_for == "experiment 5");
    must(journal::write_desired(other.trial(0).desired(), DesiredState::cancel));
    BOOST_TEST(permission(Json::array({"5.0"}), "after_any").waits_for == "");
    BOOST_TEST(permission(Json::array({"5.1"}), "after_any").waits_for == "trial 5.1");
    must(journal::write_desired(other.desired(), DesiredState::kill));
    BOOST_TEST(permission(Json::array({"5"}), "after_any").waits_for == "");
    BOOST_TEST(permission(Json::array({"5"})).refusal ==
               "experiment 5, after which it was to start, did not end well");
    // The supervisor starts the next run in the same allocation and records how that ends.
    end_trial(1, Cause::failed, NextAction::restart_in_place);
    BOOST_TEST(permission(Json::array({"5.1"}), "after_any").waits_for == "trial 5.1");
}

BOOST_AUTO_TEST_CASE(a_search_that_was_killed_did_not_end_well_although_a_trial_has_completed) {
    end_trial(0, Cause::finished);
    must(journal::write_desired(other.desired(), DesiredState::kill));
    BOOST_TEST(permission(Json::array({"5"})).refusal ==
               "experiment 5, after which it was to start, did not end well");
    BOOST_TEST(permission(Json::array({"5.0"})).refusal == "");
    BOOST_TEST(permission(Json::array({"5"}), "after_any").waits_for == "");
    end_trial(1, Cause::finished);
    BOOST_TEST(permission(Json::array({"5"})).refusal == "");
}

BOOST_AUTO_TEST_CASE(a_dependency_that_was_deleted_has_ended) {
    BOOST_TEST(permission(Json::array({"4"})).refusal ==
               "experiment 4, after which it was to start, was deleted");
    BOOST_TEST(permission(Json::array({"5.2"})).refusal ==
               "trial 5.2, after which it was to start, was deleted");
    BOOST_TEST(permission(Json::array({"4"}), "after_any").refusal == "");
}

BOOST_AUTO_TEST_CASE(a_job_goes_back_into_the_queue_while_its_dependency_has_not_ended) {
    step_is("exit 0");
    BOOST_TEST(supervise(after(Json::array({"5"}))) == 0);
    BOOST_TEST(std::ranges::count_if(slurm.calls,
                                     [](auto const& call) { return call.starts_with("requeue"); }) == 1);
    BOOST_TEST(!path_exists(experiment.trial(0).runs()));
    end_trial(0, Cause::finished);
    end_trial(1, Cause::finished);
    BOOST_TEST(supervise(after(Json::array({"5"}))) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(a_trial_whose_dependency_failed_ends_without_a_step) {
    step_is("exit 0");
    end_trial(0, Cause::failed);
    end_trial(1, Cause::failed);
    BOOST_TEST(supervise(after(Json::array({"5"}))) == 1);
    BOOST_TEST(to_string(end_of(0).cause) == "not-launched");
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).message == "experiment 5, after which it was to start, did not end well");
}

BOOST_AUTO_TEST_SUITE_END()
