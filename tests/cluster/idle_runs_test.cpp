// slurm.idle_timeout on a real Slurm: runs that sleep are warned of or ended, and those that work are not.
#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace idle_runs {

/// Two nodes without GPUs, whose CPUs are slots. The hook writes events to a file in the home directory.
struct Site : LoopbackCluster {
    Site() : LoopbackCluster(options()) {
        must(write_file(home() / "idle.yaml",
                        "name: idle\n"
                        "entrypoint: sleep 600\n"
                        "searcher: {name: single, metric: x, max_length: {batches: 100}}\n"
                        "resources: {slots_per_trial: 4}\n"
                        "slurm: {slots_per_node: 2, event_hook: 'cat >>$HOME/events; echo >>$HOME/events'}\n"
                        "max_restarts: 3\n",
                        0644));
        shell("mkdir code");
        must(write_file(home() / "code" / "work.sh",
                        "test $SLURM_NODEID = 1 || exec sleep 600\n"
                        "while true; do seq 20000 | tail -n 1 >/dev/null; done\n",
                        0644));
    }
    static LoopbackOptions options() {
        LoopbackOptions options;
        options.slots = 0;
        return options;
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    int create(std::string const& more) const {
        return ask("experiment create idle.yaml code " + more)["id"].get<int>();
    }
    nlohmann::json experiment(int id) const { return ask(fmt::format("experiment describe {}", id)); }
    nlohmann::json first_run(int id) const {
        auto const runs = experiment(id).at("trials").at(0).at("runs");
        return runs.empty() ? nlohmann::json{{"alerts", nlohmann::json::array()}} : runs.at(0);
    }
    bool is_warned_of(int id) const { return !first_run(id).at("alerts").empty(); }
    std::uint64_t windows(int id, int node) const {
        auto const file =
            shared() / fmt::format("det/experiments/{}/trials/0/runs/0/node-{}.usage", id, node);
        auto const text = read_file(file);
        return text ? nlohmann::json::parse(*text).at("windows").get<std::uint64_t>() : 0;
    }
    std::vector<nlohmann::json> idle_events() const {
        std::vector<nlohmann::json> found;
        auto const events = shell("cat events 2>/dev/null || true");
        for (auto const line : split_lines(events)) {
            if (line.empty()) continue;
            auto event = nlohmann::json::parse(line);
            if (event.at("event") == "idle") found.push_back(std::move(event));
        }
        return found;
    }
};

bool has(std::string const& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace idle_runs

BOOST_FIXTURE_TEST_SUITE(idle_runs, Site)

BOOST_AUTO_TEST_CASE(a_run_that_sleeps_is_warned_of_once_and_goes_on) {
    auto const id = create("--config slurm.idle_timeout=10s");
    wait_until([&] { return is_warned_of(id); }, 90s, "the run is warned of");
    // Twice the timeout, because the program reports no step, and not before.
    auto const run = first_run(id);
    BOOST_TEST(run.at("ended").is_null(), run.dump(2));
    auto const alert = run.at("alerts").at(0);
    BOOST_TEST(alert.at("level") == "warn");
    BOOST_TEST(has(alert.at("description").get<std::string>(), "used less than 5 % of a processor"),
               alert.dump());
    auto const waited_us = parse_utc(alert.at("time").get<std::string>())->microseconds -
                           parse_utc(run.at("started").get<std::string>())->microseconds;
    BOOST_TEST(waited_us >= 18'000'000);  // one check before it may count for less
    BOOST_TEST((windows(id, 0) > 0 && windows(id, 1) > 0));
    BOOST_TEST(has(shell(fmt::format("det-submit trial describe {}.0", id)), "warn: the run is idle: "));
    BOOST_TEST(has(shell(fmt::format("det-submit experiment describe {}", id)), "\nIdle:          trial "));
    auto const seen = windows(id, 1);
    wait_until([&] { return windows(id, 1) >= seen + 12; }, 90s, "another timeout has passed");
    BOOST_TEST(first_run(id).at("alerts").size() == 1u);
    BOOST_TEST(experiment(id).at("state") == "RUNNING");
    auto const events = idle_events();
    BOOST_REQUIRE(events.size() == 1u);
    BOOST_TEST(events[0].at("trial") == fmt::format("{}.0", id));
    shell(fmt::format("det-submit experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_run_that_sleeps_is_ended_and_not_restarted_if_the_user_says_so) {
    auto const id =
        create("--config 'slurm.idle_timeout={after: 10, action: end}' --config preemption_timeout=5");
    wait_until([&] { return experiment(id).at("state") == "CANCELED"; }, 120s, "the run has ended");
    auto const runs = experiment(id).at("trials").at(0).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 1u, runs.dump(2));
    BOOST_TEST(runs[0].at("cause") == "idle", runs.dump(2));
    BOOST_TEST(runs[0].at("follow") == "stop", runs.dump(2));
    auto const message = runs[0].at("message").get<std::string>();
    BOOST_TEST(message.starts_with("it was idle: its processes used less than 5 %"), message);
    auto const events = idle_events();
    BOOST_REQUIRE(events.size() == 1u);
    BOOST_TEST(events[0].at("next") == "stop");
    BOOST_TEST(!has(shell(fmt::format("det-submit experiment describe {}", id)), "Last failure"));
}

BOOST_AUTO_TEST_CASE(a_run_that_works_on_one_node_is_not_idle) {
    // The second node computes, by short processes, and the first one sleeps.
    auto const id = create("--config slurm.idle_timeout=10s --config 'entrypoint=bash work.sh'");
    wait_until([&] { return windows(id, 0) >= 25 && windows(id, 1) >= 25; }, 180s,
               "two timeouts and the start have passed");
    BOOST_TEST(experiment(id).at("state") == "RUNNING");
    BOOST_TEST(first_run(id).at("alerts").empty());
    shell(fmt::format("det-submit experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_job_that_is_suspended_is_not_idle_meanwhile) {
    auto const id = create("--config slurm.idle_timeout=15s");
    wait_until([&] { return windows(id, 0) >= 2 && windows(id, 1) >= 2; }, 60s, "the nodes measure");
    auto const job = experiment(id).at("trials").at(0).at("runs").at(0).at("job").get<std::string>();
    BOOST_REQUIRE(login("root", {"scontrol", "suspend", job}).exit_code == 0);
    shell("sleep 20");  // longer than the timeout: the time itself is what is tested
    BOOST_REQUIRE(login("root", {"scontrol", "resume", job}).exit_code == 0);
    BOOST_TEST(!is_warned_of(id));
    auto const seen = windows(id, 0);
    wait_until([&] { return windows(id, 0) >= seen + 2; }, 60s, "the nodes measure again");
    BOOST_TEST(!is_warned_of(id));
    wait_until([&] { return is_warned_of(id); }, 120s, "the run is idle after that");
    shell(fmt::format("det-submit experiment kill {}", id));
}

BOOST_AUTO_TEST_SUITE_END()
