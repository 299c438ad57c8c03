// The events of slurm.event_hook that det-submit reports, because no supervisor sees them.
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "create_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace event_hook_test {

/// The hook appends its events to a file.
struct Fixture : CreateFixture {
    Fixture() {
        must(
            write_file(directory / "exp.yaml",
                       config_text() +
                           "integrations: {webhooks: {webhook_name: [team]}}\nslurm: {event_hook: \"cat >>'" +
                           (directory / "events").string() + "'\"}\n"));
    }
    std::vector<Json> events() const {
        std::vector<Json> found;
        auto const text = read_file(directory / "events").value_or("");
        for (auto const line : split_lines(text)) found.push_back(parse_json(line));
        return found;
    }
    void show_job(slurm::JobState state, std::string const& text) {
        auto job = job_of(1, state, text);
        job.ref = {4711, 0};
        slurm.job = job;
    }
};

}  // namespace event_hook_test

BOOST_FIXTURE_TEST_SUITE(event_hook_test, event_hook_test::Fixture)

BOOST_AUTO_TEST_CASE(a_submission_is_an_event) {
    BOOST_TEST(create() == 0, err);
    BOOST_REQUIRE(events().size() == 1u);
    auto const event = events()[0];
    BOOST_TEST(event.at("event") == "submitted");
    BOOST_TEST(event.at("experiment") == 1);
    BOOST_TEST(event.at("name") == "example");
    BOOST_TEST(event.at("jobs") == Json{"4711"});
    BOOST_TEST(event.at("webhooks").at("webhook_name").at(0) == "team");
    BOOST_TEST(event.contains("time"));
    BOOST_TEST(create(" --dry-run") == 0, err);
    slurm.submit_error = Error{codes::slurm_refused, "no"};
    BOOST_TEST(create() == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(events().size() == 1u);
}

BOOST_AUTO_TEST_CASE(waiting_trials_that_are_paused_or_ended_are_events_once) {
    BOOST_TEST(create() == 0, err);
    show_job(slurm::JobState::pending, "PENDING");
    BOOST_TEST(run("experiment pause 1") == 0, err);
    BOOST_TEST(run("experiment pause 1") == 0, err);
    BOOST_REQUIRE(events().size() == 2u);
    BOOST_TEST(events()[1].at("event") == "paused");
    BOOST_TEST(events()[1].at("trials") == Json{"1.0"});
    BOOST_TEST(run("experiment kill 1") == 0, err);
    BOOST_REQUIRE(events().size() == 3u);
    BOOST_TEST(events()[2].at("event") == "canceled");
    BOOST_TEST(events()[2].at("message") == "the user killed it");
    show_job(slurm::JobState::canceled, "CANCELLED");
    BOOST_TEST(run("experiment kill 1") == to_int(ExitCode::could_not));
    BOOST_TEST(events().size() == 3u);
}

BOOST_AUTO_TEST_CASE(of_a_trial_that_runs_the_supervisor_tells) {
    BOOST_TEST(create() == 0, err);
    show_job(slurm::JobState::running, "RUNNING");
    BOOST_TEST(run("experiment pause 1") == 0, err);
    BOOST_TEST(run("trial kill 1.0") == 0, err);
    BOOST_TEST(run("experiment cancel 1") == 0, err);
    BOOST_TEST(events().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_hook_that_fails_is_a_warning) {
    must(write_file(directory / "exp.yaml",
                    config_text() + "slurm: {event_hook: \"echo no network >&2; exit 3\"}\n"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(contains(err, "warning: slurm.event_hook for 'submitted' failed: exit code 3: no network"),
               err);
    BOOST_TEST(!slurm.calls.empty());
}

BOOST_AUTO_TEST_SUITE_END()
