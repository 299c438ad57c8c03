// The commands of slurm.event_hook.
#include <det/events/event_hook.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/json.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using det::events::EventHook;

namespace event_hook_test {

struct Fixture : SupervisorFixture {
    /// An experiment whose hook writes each event into a file of its own.
    BatchJob with_hook(std::string const& command) const {
        auto a = batch_job();
        a.spec.name = "digits \"x\"";
        a.spec.config = Json{{"slurm", {{"event_hook", command}}},
                             {"integrations", {{"webhooks", {{"webhook_id", {1}}}}}}};
        return a;
    }
    std::string writing_hook() const {
        must(make_directories(root / "seen"));
        return "cat >\"$(mktemp " + (root / "seen").string() + "/XXXXXX)\"";
    }
    /// The events that the hook has received, by their kinds.
    std::map<std::string, std::vector<Json>> seen() const {
        std::map<std::string, std::vector<Json>> events;
        for (auto const& name : must(list_directory(root / "seen"))) {
            auto const event = parse_json(must(read_file(root / "seen" / name)));
            events[event.at("event")].push_back(event);
        }
        return events;
    }
    bool has_logged(std::string_view text) const {
        return std::any_of(log_lines.begin(), log_lines.end(),
                           [&](auto const& line) { return line.find(text) != std::string::npos; });
    }
};

}  // namespace event_hook_test

BOOST_FIXTURE_TEST_SUITE(event_hook_test, event_hook_test::Fixture)

BOOST_AUTO_TEST_CASE(each_event_of_a_trial_calls_the_hook) {
    step_is("[ \"$DET_TRIAL_RUN_ID\" != 0 ]");
    BOOST_TEST(supervise(with_hook(writing_hook())) == 0);
    auto const events = seen();
    BOOST_TEST(events.at("started").size() == 2u);
    BOOST_TEST(events.at("failed").size() == 1u);
    BOOST_TEST(events.at("completed").size() == 1u);
    auto const& failed = events.at("failed").front();
    BOOST_TEST(failed.at("trial") == "7.0");
    BOOST_TEST(failed.at("run") == 0);
    BOOST_TEST(failed.at("job") == "123_0");
    BOOST_TEST(failed.at("hosts") == "n[0-1]");
    BOOST_TEST(failed.at("next") == "restart-in-place");
    BOOST_TEST(failed.at("name") == "digits \"x\"");
    BOOST_TEST(failed.at("webhooks").at("webhook_id").at(0) == 1);
    BOOST_TEST(!has_logged("event_hook"));
}

BOOST_AUTO_TEST_CASE(a_preemption_is_an_event) {
    acknowledging_step("");
    slurm.job->preempt_time = clock.now();
    slurm.job->end_time = UtcTime{clock.now().microseconds + 600'000'000};
    BOOST_TEST(supervise(with_hook(writing_hook())) == 0);
    BOOST_TEST(seen().at("preempted").size() == 1u);
    BOOST_TEST(!seen().contains("failed"));
}

BOOST_AUTO_TEST_CASE(ends_that_the_user_asks_for_are_events_of_a_run) {
    must(journal::write_desired(root / "kill", DesiredState::kill));
    for (auto const* wanted : {"pause", "kill"}) {
        must(journal::write_desired(experiment.desired(), DesiredState::run));
        step_is("cp \"$DET_ROOT/" + std::string(wanted) + "\" \"$DET_EXPERIMENT_PATH/desired\"; exit 143");
        BOOST_TEST(supervise(with_hook(writing_hook())) == 0, wanted);
    }
    auto const events = seen();
    BOOST_TEST(events.at("paused").size() == 1u);
    BOOST_TEST(events.at("paused").front().at("next") == "requeue-held");
    BOOST_TEST(events.at("canceled").size() == 1u);
    BOOST_TEST(events.at("canceled").front().at("message") == "the user killed it");
    BOOST_TEST(!events.contains("failed"));
}

BOOST_AUTO_TEST_CASE(a_hook_that_fails_is_logged_and_changes_nothing) {
    step_is("exit 0");
    BOOST_TEST(supervise(with_hook("echo no network >&2; exit 3")) == 0);
    BOOST_TEST(has_logged("slurm.event_hook for 'completed' failed: exit code 3: no network"));
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
}

BOOST_AUTO_TEST_CASE(a_hook_that_takes_too_long_is_ended) {
    auto const a = with_hook("exec sleep 600");
    EventHook hook(
        a.spec, Environment::of_this_process(), [&](auto const& line) { log_lines.push_back(line); },
        std::chrono::milliseconds(50));
    for (int i = 0; i < 20; ++i) hook.notify("started", Json::object());  // more than run at once
    hook.wait();
    BOOST_TEST(std::count_if(log_lines.begin(), log_lines.end(), [](auto const& line) {
                   return line.find("'started' failed") != std::string::npos;
               }) == 20);
}

BOOST_AUTO_TEST_CASE(without_a_hook_nothing_is_run) {
    EventHook hook(batch_job().spec, Environment::of_this_process(),
                   [&](auto const& line) { log_lines.push_back(line); });
    hook.notify("started", Json::object());
    hook.wait();
    BOOST_TEST(log_lines.empty());
}

BOOST_AUTO_TEST_SUITE_END()
