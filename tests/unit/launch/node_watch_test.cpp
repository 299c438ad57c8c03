#include "node_watch.hpp"

#include <det/foundation/shared_directory.hpp>
#include <det/protocol/rendezvous_file.hpp>

#include <algorithm>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace node_watch_test {

/// Run 7.0.0 on n0, where the supervisor is, and n1.
struct Fixture : SupervisorFixture {
    BatchJob job = batch_job();
    RunLayout run = experiment.trial(0).run(0);
    RunPlan plan;
    SupervisorContext context{slurm,
                              clock,
                              Environment(),
                              "/opt/det-wrap-rank",
                              [this](std::string const& line) { log_lines.push_back(line); },
                              {},
                              output()};

    Fixture() {
        plan.id = {{{7}, 0}, 0};
        plan.hosts = "n[0-1]";
        must(make_directories(run.path()));
        must(write_secret_file(run.rendezvous(), render_rendezvous_file({"a secret"})));
    }
    std::unique_ptr<NodeWatch> start() {
        job.hosts = plan.hosts;
        plan = with_shape(job, plan);
        return NodeWatch::start(job, plan, run, context);
    }
    static transport::NodeBeats::Options node(NodeWatch const& watch, int number) {
        return {transport::parse_node_monitor_address(watch.address()).value(), "a secret", number};
    }
    static void wait_until_heard(NodeWatch& watch, int number) {
        auto const until = std::chrono::steady_clock::now() + 60s;
        for (watch.update(); !watch.is_heard(number); watch.update()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
            std::this_thread::sleep_for(10ms);
        }
    }
};

/// The process of a node; it ends when this object does, without a word.
struct NodeProcess {
    pid_t pid;
    explicit NodeProcess(transport::NodeBeats::Options options) : pid(::fork()) {
        if (pid != 0) return;
        transport::NodeBeats const beats(std::move(options));
        for (;;) ::pause();
    }
    NodeProcess(NodeProcess const&) = delete;
    NodeProcess& operator=(NodeProcess const&) = delete;
    ~NodeProcess() {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
};

}  // namespace node_watch_test

BOOST_FIXTURE_TEST_SUITE(node_watch_test, Fixture)

BOOST_AUTO_TEST_CASE(a_connected_node_is_heard_and_shows_its_activity) {
    auto const watch = start();
    BOOST_REQUIRE(watch != nullptr);
    BOOST_TEST(!watch->is_heard(1));
    BOOST_TEST(!watch->find_activity(1).has_value());
    auto options = node(*watch, 1);
    options.find_activity = [] { return std::optional<std::uint64_t>(42); };
    transport::NodeBeats const beats(std::move(options));
    wait_until_heard(*watch, 1);
    auto const until = std::chrono::steady_clock::now() + 60s;
    while (watch->find_activity(1) != "00000000000000000042\n") {
        BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
        watch->update();
    }
    BOOST_TEST(watch->find_lost().empty());
    BOOST_TEST(log_lines.empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_leaves_is_told_apart_from_one_that_is_killed_or_was_never_there) {
    auto const watch = start();
    BOOST_REQUIRE(watch != nullptr);
    BOOST_TEST((watch->contact(0) == NodeContact::absent));
    BOOST_TEST((watch->list_not_left(false).empty()));
    BOOST_TEST((watch->list_not_left(true) == std::vector{0, 1}));
    BOOST_TEST(watch->count_connected() == 0);
    BOOST_TEST(!watch->has_connected(2));  // the run has no such node
    {
        NodeProcess const killed(node(*watch, 0));
        transport::NodeBeats ended(node(*watch, 1));
        wait_until_heard(*watch, 0);
        wait_until_heard(*watch, 1);
        BOOST_TEST((watch->contact(1) == NodeContact::heard));
        (void)ended.leave();
        auto const until = std::chrono::steady_clock::now() + 60s;
        for (; watch->contact(1) != NodeContact::left; watch->update())
            BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
    }
    watch->update();
    BOOST_TEST((watch->list_not_left(true) == std::vector{0}));
    BOOST_TEST(watch->count_connected() == 2);
    auto const until = std::chrono::steady_clock::now() + 60s;
    for (; watch->contact(0) != NodeContact::silent; watch->update())
        BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
}

BOOST_AUTO_TEST_CASE(the_ends_of_the_other_nodes_are_known_when_one_is_lost) {
    auto const watch = start();
    BOOST_REQUIRE(watch != nullptr);
    {
        NodeProcess const other(node(*watch, 0));
        wait_until_heard(*watch, 0);
        BOOST_TEST(watch->find_lost().empty());
        BOOST_TEST(!watch->have_others_ended({"n1"}));
        BOOST_TEST(!watch->have_others_ended({"n1"}));
    }
    auto const until = std::chrono::steady_clock::now() + 60s;
    for (; !watch->have_others_ended({"n1"}); watch->update()) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(10ms);
    }
    BOOST_TEST(watch->is_any_killed());
    BOOST_TEST(!watch->have_others_ended({}));  // n1 has never connected
}

BOOST_AUTO_TEST_CASE(nodes_that_run_and_do_not_connect_are_reported_once) {
    auto const watch = start();
    BOOST_REQUIRE(watch != nullptr);
    transport::NodeBeats const beats(node(*watch, 0));
    wait_until_heard(*watch, 0);
    auto const has_file = [](int) { return true; };
    watch->report_unconnected([](int) { return false; });  // node 1 has not begun
    watch->report_unconnected(has_file);                   // it may be about to connect
    BOOST_TEST(log_lines.empty());
    watch->report_unconnected(has_file);
    watch->report_unconnected(has_file);
    BOOST_REQUIRE(log_lines.size() == 1u);
    BOOST_TEST(log_lines.front().starts_with("run 7.0.0: n1 cannot connect to port "), log_lines.front());
    BOOST_TEST(log_lines.front().ends_with("watched by files, and lost after 120 s of silence"),
               log_lines.front());
    BOOST_TEST(watch->find_lost().empty());
}

BOOST_AUTO_TEST_CASE(all_nodes_without_processes_are_found) {
    job.spec.shape.nodes = 3;
    job.spec.config = parse_json(R"({"slurm": {"node_timeout": 3}})");
    plan.hosts = "n[0-2]";
    auto const watch = start();
    BOOST_REQUIRE(watch != nullptr);
    {
        NodeProcess const first(node(*watch, 1)), second(node(*watch, 2));
        wait_until_heard(*watch, 1);
        wait_until_heard(*watch, 2);
        // Whether they can be reached is known a moment later.
        std::this_thread::sleep_for(2s);
    }
    auto const until = std::chrono::steady_clock::now() + 60s;
    auto found = watch->find_lost();
    while (found.size() < 2) {
        BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(50ms);
        found = watch->find_lost();
    }
    BOOST_TEST(found.at(0).host == "n1");
    BOOST_TEST(found.at(0).node == 1);
    BOOST_TEST(found.at(1).host == "n2");
    BOOST_TEST(!found.at(1).is_node_lost);
}

BOOST_AUTO_TEST_CASE(a_run_without_a_secret_or_with_too_many_nodes_is_watched_by_files) {
    job.spec.shape.nodes = transport::NodeMonitor::nodes_max + 1;
    plan.hosts = "n[0-16384]";
    BOOST_TEST((start() == nullptr));
    BOOST_TEST(log_lines.empty());
    job.spec.shape.nodes = transport::NodeMonitor::nodes_max;
    plan.hosts = "n[0-16383]";
    BOOST_TEST((start() != nullptr));
    must(remove_tree(run.rendezvous()));
    BOOST_TEST((start() == nullptr));
    BOOST_REQUIRE(log_lines.size() == 1u);
    BOOST_TEST(log_lines.front().starts_with("run 7.0.0: its nodes are watched by files only: "));
}

BOOST_AUTO_TEST_SUITE_END()
