// The health check of a run: what a node finds out about itself, and what follows from the reports.
#include "health_check.hpp"

#include <det/journal/bad_nodes.hpp>
#include <det/launch/supervisor/node_probes.hpp>
#include <det/launch/supervisor/node_rendezvous.hpp>

#include <boost/test/unit_test.hpp>
#include <sys/socket.h>
#include <thread>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace health_check_support {

using Reports = std::vector<std::optional<HealthReport>>;

/// A complete report without faults.
HealthReport healthy(std::uint32_t index, std::vector<std::uint32_t> unreached = {}) {
    HealthReport report;
    report.index = index;
    report.is_complete = report.listens = true;
    report.unreached = std::move(unreached);
    return report;
}

std::vector<std::string> hosts(std::size_t count) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back("n" + std::to_string(i));
    return names;
}

/// The names of the nodes that fail.
std::vector<std::string> failing(Reports const& reports, std::optional<std::chrono::seconds> limit = {}) {
    std::vector<std::string> names;
    for (auto const& node : judge_health(hosts(reports.size()), reports, limit).unhealthy)
        names.push_back(node.host);
    std::ranges::sort(names);
    return names;
}

using Names = std::vector<std::string>;

/// One node whose local disk and storage are directories of the test.
struct Node {
    TemporaryDirectory directory;
    Environment environment;
    HealthCheck check;

    Node() {
        for (auto const* name : {"reports", "storage", "local", "dev"})
            must(make_directory(directory / name));
        must(write_file(directory / "reports/token", "secret"));
        must(write_file(directory / "reports/secret", "of the nodes"));
        environment.set("SLURMD_NODENAME", "localhost");
        environment.set("DET_LOCAL_DIR", directory / "local");
        check.directory = directory / "reports";
        check.token = "secret";
        check.storage = directory / "storage";
        check.hosts = "localhost";
        check.devices = directory / "dev";
    }
    HealthReport run() const {
        must(check_node_health(check, environment));
        auto const text = must(read_file(health_report_path(check.directory, 0)));
        return must(parse_health_report(text));
    }
    std::string fault() const {
        auto const report = run();
        BOOST_REQUIRE(report.faults.size() == 1u);
        return report.faults[0];
    }
};

NodeRendezvous rendezvous_at_free_port() {
    NodeRendezvous rendezvous{"a secret", "health", {"localhost", "127.0.0.2"}, 0, 23'200};
    while (rendezvous.port < 23'300 && !NodeListener::open(rendezvous)) ++rendezvous.port;
    return rendezvous;
}

/// The step of the check writes reports of two nodes; `fault` of node 1 is JSON text or empty.
std::string step_that_reports(std::string const& fault, std::string const& run_step) {
    return R"(case "$*" in *check-health*)
        cd "$DET_RUN_PATH/health"; cat token >"$DET_ROOT/seen-token"; lacks=false
        case "$*" in *absent-program*) lacks=true;; esac
        report() { echo "{\"index\":$1,\"is_complete\":true,\"listens\":true,\"faults\":[$2],\"notes\":[],\"unreached\":[],\"lacks_command\":$lacks,\"fails_by_command_only\":false}" >node-$1.json; }
        report 0; report 1 ')" +
           fault + "'; exit 0;; esac\n" + run_step;
}

struct Supervised : SupervisorFixture {
    Supervised() {
        for (auto const* name : {"n0", "n1", "n2"})
            slurm.node_list.push_back({name, "compute", "idle", 8, 0, "", ""});
    }
    BatchJob checked() const {
        auto a = batch_job();
        a.spec.config = parse_json(R"({"slurm": {"health_check": true}})");
        return a;
    }
};

}  // namespace health_check_support

using namespace health_check_support;

BOOST_AUTO_TEST_SUITE(health_check_test)

BOOST_AUTO_TEST_CASE(a_node_with_a_fault_fails_and_notes_are_no_faults) {
    auto disk = healthy(1);
    disk.faults = {"sync '/tmp/x': Input/output error"};
    auto full = healthy(2);
    full.notes = {"write '/ckpt/x': Disk quota exceeded"};
    auto const verdict = judge_health(hosts(3), {healthy(0), disk, full}, std::nullopt);
    BOOST_REQUIRE(verdict.unhealthy.size() == 1u);
    BOOST_TEST(verdict.unhealthy[0].host == "n1");
    BOOST_TEST(verdict.unhealthy[0].why == "sync '/tmp/x': Input/output error");
    BOOST_TEST(verdict.notes == Names{"node n2: write '/ckpt/x': Disk quota exceeded"});
}

BOOST_AUTO_TEST_CASE(a_command_that_fails_on_all_of_several_nodes_may_be_wrong_and_not_the_nodes) {
    auto first = healthy(0), second = healthy(1);
    first.faults = second.faults = {"'site-check' ended with exit code 1"};
    first.fails_by_command_only = second.fails_by_command_only = true;
    auto const both = judge_health(hosts(2), {first, second}, std::nullopt);
    BOOST_TEST(both.fails_by_command_only);
    BOOST_TEST(both.unhealthy.size() == 2u);
    BOOST_TEST(!judge_health(hosts(1), {first}, std::nullopt).fails_by_command_only);
    BOOST_TEST(!judge_health(hosts(3), {first, second, healthy(2)}, std::nullopt).fails_by_command_only);
    BOOST_TEST(!judge_health(hosts(3), {first, second, std::nullopt}, std::nullopt).fails_by_command_only);
}

BOOST_AUTO_TEST_CASE(a_node_that_does_not_begin_the_check_fails_and_one_that_does_not_end_it_if_it_had_time) {
    BOOST_TEST(failing({healthy(0), std::nullopt, healthy(2)}) == Names{"n1"});
    auto unfinished = healthy(1);
    unfinished.is_complete = false;
    // srun has ended the check early, for another reason.
    BOOST_TEST(failing({healthy(0), unfinished}) == Names());
    BOOST_TEST(failing({healthy(0), unfinished}, std::chrono::seconds(90)) == Names{"n1"});
    auto const verdict = judge_health(hosts(2), {healthy(0), unfinished}, std::chrono::seconds(90));
    BOOST_TEST(verdict.unhealthy.at(0).why == "it did not end the check within 90 s");
}

BOOST_AUTO_TEST_CASE(the_end_with_more_failed_connections_fails_and_both_ends_if_they_have_as_many) {
    // Node 2 of five is cut off: its two connections and those of nodes 0 and 1 to it fail.
    Reports cut{healthy(0, {2}), healthy(1, {2}), healthy(2, {3, 4}), healthy(3), healthy(4)};
    BOOST_TEST(failing(cut) == Names{"n2"});
    // With a second one, which is its neighbour.
    cut[3] = healthy(3, {4, 0});
    cut[1] = healthy(1, {2, 3});
    BOOST_TEST(failing(cut) == (Names{"n2", "n3"}));
    // One of two nodes has failed; the reports do not show which one.
    BOOST_TEST(failing({healthy(0, {1}), healthy(1, {0})}) == (Names{"n0", "n1"}));
    BOOST_TEST(failing({healthy(0), healthy(1)}) == Names());
}

BOOST_AUTO_TEST_CASE(connections_to_a_taken_port_or_to_a_node_that_has_failed_blame_no_other_node) {
    auto taken = healthy(1);
    taken.listens = false;
    BOOST_TEST(failing({healthy(0, {1}), taken, healthy(2)}) == Names());
    auto broken = healthy(1);
    broken.faults = {"x"};
    BOOST_TEST(failing({healthy(0, {1}), broken, healthy(2)}) == Names{"n1"});
    BOOST_TEST(failing({healthy(0, {1, 7}), std::nullopt, healthy(2)}) == Names{"n1"});
}

BOOST_AUTO_TEST_CASE(each_node_connects_to_two_others_if_there_are_so_many) {
    using Indices = std::vector<std::uint32_t>;
    BOOST_TEST(peers_to_reach(0, 1) == Indices());
    BOOST_TEST(peers_to_reach(0, 2) == Indices{1});
    BOOST_TEST(peers_to_reach(1, 3) == (Indices{2, 0}));
    BOOST_TEST(peers_to_reach(4, 5) == (Indices{0, 1}));
}

BOOST_AUTO_TEST_CASE(reports_survive_as_text_and_foreign_text_is_an_error) {
    auto report = healthy(3, {4, 0});
    report.faults = {"a \"b\"\n\xff"};
    auto const read = must(parse_health_report(render_health_report(report)));
    BOOST_TEST(read.index == 3u);
    BOOST_TEST(read.is_complete);
    BOOST_TEST(read.listens);
    BOOST_TEST(read.unreached == report.unreached);
    BOOST_TEST(read.faults.at(0).starts_with("a \"b\"\n"));
    for (auto const* text : {"", "{", "[]", "{\"index\": 0}", "{\"index\": \"0\"}"})
        BOOST_TEST((must_fail(parse_health_report(text)).code == codes::damaged), text);
}

BOOST_FIXTURE_TEST_CASE(a_node_in_order_leaves_no_files, Node) {
    auto const report = run();
    BOOST_TEST(report.is_complete);
    BOOST_TEST(report.faults == Names(), boost::test_tools::per_element());
    for (auto const* name : {"local", "storage"}) BOOST_TEST(must(list_directory(directory / name)).empty());
}

BOOST_FIXTURE_TEST_CASE(a_disk_that_takes_no_files_is_a_fault, Node) {
    environment.set("DET_LOCAL_DIR", directory / "absent");
    BOOST_TEST(fault().find("absent/.det-health-secret-0") != std::string::npos);
    environment.set("DET_LOCAL_DIR", directory / "local");
    check.storage = directory / "absent";
    BOOST_TEST(fault().find("No such file or directory") != std::string::npos);
    check.storage = directory / "storage";
    check.token = "another";
    BOOST_TEST(fault().find("does not see the files of") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(gpus_that_cannot_be_opened_are_a_fault, Node) {
    for (auto const* name : {"nvidia0", "nvidiactl", "nvidia-uvm"})
        must(write_file(directory / "dev" / name, ""));
    check.gpus = 1;
    BOOST_TEST(run().faults.empty());
    check.gpus = 2;
    BOOST_TEST(fault() == "the run needs 2 GPUs, and 1 can be opened");
    must(remove_tree(directory / "dev/nvidia0"));
    must(make_directories(directory / "dev/dri"));
    must(write_file(directory / "dev/dri/renderD128", ""));
    must(write_file(directory / "dev/dri/renderD129", ""));
    BOOST_TEST(run().faults.empty());
    check.gpus = 3;
    BOOST_TEST(fault() == "the run needs 3 GPUs, and 2 can be opened");
}

BOOST_FIXTURE_TEST_CASE(a_command_that_fails_is_a_fault_with_its_last_words, Node) {
    check.command = {"sh", "-c", "echo fine; exit 0"};
    BOOST_TEST(run().faults == Names(), boost::test_tools::per_element());
    check.command = {"sh", "-c",
                     "echo table; echo 'GPU 3: ECC errors' >&2; echo >&2; printf 'drained\\033' >&2; exit 3"};
    BOOST_TEST(fault() == "'sh' ended with exit code 3: GPU 3: ECC errors / drained\\x1b");
    check.command = {"sh", "-c", "echo 'only on stdout'; exit 1"};
    BOOST_TEST(fault() == "'sh' ended with exit code 1: only on stdout");
    check.command = {"sh", "-c", "kill -9 $$"};
    BOOST_TEST(fault() == "'sh' ended with exit code 137");
    check.command = {"sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x >&2; exit 1"};
    BOOST_TEST(fault().size() < 600u);
    BOOST_TEST(!run().lacks_command);
    BOOST_TEST(run().fails_by_command_only);
    check.gpus = 100;
    BOOST_TEST(!run().fails_by_command_only);
    check.command = {"true"};
    BOOST_TEST(!run().fails_by_command_only);
}

BOOST_FIXTURE_TEST_CASE(a_command_that_does_not_end_or_is_not_there_is_a_fault, Node) {
    check.command = {"sleep", "60"};
    check.command_timeout = std::chrono::seconds(1);
    auto const begin = std::chrono::steady_clock::now();
    BOOST_TEST(fault() == "'sleep' did not end within 1 s");
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)));
    check.command = {"no-such-program-at-all"};
    BOOST_TEST(fault().find("no-such-program-at-all") != std::string::npos);
    BOOST_TEST(run().lacks_command);
    must(write_file(directory / "not-executable", "", 0644));
    check.command = {directory / "not-executable"};
    BOOST_TEST(fault().find("can't be run") != std::string::npos);
    BOOST_TEST(!run().lacks_command);
}

BOOST_FIXTURE_TEST_CASE(peers_exchange_bytes, Node) {
    // All addresses below 127 are this host: the node serves itself.
    check.hosts = "localhost,127.0.0.2";
    for (std::uint16_t port = 23'000; port < 23'100; ++port) {
        check.port = port;
        auto const report = run();
        if (!report.listens) continue;  // another process has the port
        BOOST_TEST(report.unreached.empty());
        return;
    }
    BOOST_FAIL("no port is free");
}

BOOST_AUTO_TEST_CASE(a_node_is_reached_though_200_others_connect_to_it_before_and_say_nothing_or_garbage) {
    NodeRendezvous const rendezvous = rendezvous_at_free_port();
    auto const soon = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    auto listener = NodeListener::open(rendezvous);
    BOOST_REQUIRE(listener.has_value());
    std::vector<UniqueFd> others;
    for (int i = 0; i < 200; ++i) {
        others.push_back(connect_until("localhost", rendezvous.port, soon));
        BOOST_REQUIRE(bool{others.back()});
        std::string const garbage(150, 'x');
        if (i % 2 == 0) (void)!::send(others.back().get(), garbage.data(), garbage.size(), MSG_NOSIGNAL);
    }
    auto const begin = std::chrono::steady_clock::now();
    UniqueFd connected;
    std::jthread node([&] { connected = connect_to_node(rendezvous, 1, soon); });
    auto const accepted = listener->accept_node(soon);
    node.join();
    BOOST_TEST(bool{accepted});
    BOOST_TEST(bool{connected});
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(3)));
}

BOOST_AUTO_TEST_CASE(a_node_without_the_secret_is_not_accepted) {
    NodeRendezvous const rendezvous = rendezvous_at_free_port();
    auto listener = NodeListener::open(rendezvous);
    BOOST_REQUIRE(listener.has_value());
    auto guess = rendezvous;
    guess.secret = "a guess";
    auto const soon = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    UniqueFd connected;
    std::jthread node([&] { connected = connect_to_node(guess, 1, soon); });
    BOOST_TEST(!bool{listener->accept_node(soon)});
    node.join();
    BOOST_TEST(!bool{connected});
}

BOOST_FIXTURE_TEST_CASE(a_peer_without_an_address_is_a_fault, Node) {
    check.hosts = "localhost,nowhere.invalid";
    // No node connects to this node. It would wait for a connection, but its port is taken.
    UniqueFd taken;
    for (check.port = 23'100; !taken && check.port < 23'200; ++check.port) taken = listen_on(check.port);
    --check.port;
    auto const report = run();
    BOOST_TEST(!report.listens);
    BOOST_TEST(report.faults == Names{"it finds no address of 'nowhere.invalid'"});
}

BOOST_FIXTURE_TEST_CASE(a_node_that_is_not_of_the_run_is_refused, Node) {
    environment.set("SLURMD_NODENAME", "other");
    BOOST_TEST((must_fail(check_node_health(check, environment)).code == codes::bad_value));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(health_check_test, Supervised)

BOOST_AUTO_TEST_CASE(a_run_starts_without_a_node_that_fails_the_health_check) {
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    step_is(step_that_reports("\"no disk\"", "touch \"$DET_ROOT/trained\""));
    auto a = checked();
    for (std::uint32_t run = 0; run < 4; ++run) {  // more often than max_restarts
        BOOST_TEST(supervise(a) == 0);
        auto const end = end_of(run);
        BOOST_TEST(to_string(end.cause) == "not-launched");
        BOOST_TEST(to_string(end.next_action) == "requeue");
        BOOST_TEST(end.bad_hosts == "n1");
        BOOST_TEST(end.message ==
                   "the trainer was not started: node n1: no disk; the health check excludes: node n1; "
                   "requeued without them");
    }
    BOOST_TEST(!path_exists(root / "trained"));
    BOOST_TEST(std::ranges::count(slurm.calls, "change 123_0 exclude=n1") == 4);
    BOOST_TEST(slurm.start_delay.count() == 5);
    BOOST_TEST(must(journal::load_bad_nodes(RootLayout(root.path()))).at(0).host == "n1");
    BOOST_TEST(!path_exists(run_path(0) + "/health"));

    step_is(step_that_reports("", "touch \"$DET_ROOT/trained\""));
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(4).cause) == "finished");
    BOOST_TEST(std::ranges::count(log_lines, "run 7.0.4: n[0-1] passed the health check in 0 ms") == 1);
    BOOST_TEST(path_exists(root / "trained"));
    ::unsetenv("DET_ROOT");
}

BOOST_AUTO_TEST_CASE(a_spare_node_replaces_one_that_fails_the_health_check) {
    step_is(R"(case "$*" in *check-health*) cd "$DET_RUN_PATH/health"
        [ "$DET_TRIAL_RUN_ID" != 0 ] || fault='"x"'
        for i in 0 1; do
            echo "{\"index\":$i,\"is_complete\":true,\"listens\":true,\"faults\":[$fault],\"notes\":[],\"unreached\":[],\"lacks_command\":false,\"fails_by_command_only\":false}" >node-$i.json
            fault=
        done; exit 0;; esac
        echo "$*" >"$DET_RUN_PATH/argv")");
    auto a = checked();
    a.hosts = "n[0-2]";
    a.spec.spare_nodes = 1;
    a.spec.max_restarts = 0;
    BOOST_TEST(supervise(a) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "restart-in-place");
    BOOST_TEST(end_of(0).bad_hosts == "n0");
    BOOST_TEST(must(read_file(run_path(1) + "/argv")).find("--nodelist=n[1-2]") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(if_too_few_other_nodes_are_left_the_job_waits_for_the_node) {
    step_is(step_that_reports("\"no disk\"", "exit 0"));
    slurm.node_list.pop_back();
    BOOST_TEST(supervise(checked()) == 0);
    BOOST_TEST(to_string(end_of(0).next_action) == "requeue");
    BOOST_TEST(end_of(0).bad_hosts == "");
    BOOST_TEST(end_of(0).message.ends_with("; requeued"), end_of(0).message);
    BOOST_TEST(slurm.start_delay.count() == 60);
}

BOOST_AUTO_TEST_CASE(a_check_that_cannot_be_made_excludes_no_node) {
    step_is(R"(case "$*" in *check-health*) exit 1;; esac; exit 0)");
    BOOST_TEST(supervise(checked()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "finished");
    BOOST_TEST(std::ranges::any_of(log_lines, [](auto const& line) {
        return line.ends_with("the health check could not be made: no node has reported");
    }));
}

BOOST_AUTO_TEST_CASE(the_command_of_the_check_and_its_timeout_reach_the_nodes) {
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    auto a = checked();
    a.spec.config = parse_json(
        R"({"slurm": {"health_check": {"command": ["site-check", "a b", "--", "'c'"], "timeout": 7}}})");
    step_is(
        R"(case "$*" in *check-health*) for word; do echo "$word"; done >"$DET_ROOT/words"; exit 1;; esac; exit 0)");
    BOOST_TEST(supervise(a) == 0);
    auto const words = must(read_file(root / "words"));
    BOOST_TEST(words.ends_with("--command-timeout-s\n7\n--\nsite-check\na b\n--\n'c'\n"), words);
    ::unsetenv("DET_ROOT");
}

BOOST_AUTO_TEST_CASE(a_command_that_no_node_has_ends_the_trial_and_blames_no_node) {
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    step_is(step_that_reports("", "touch \"$DET_ROOT/trained\""));
    auto a = checked();
    a.spec.config = parse_json(R"({"slurm": {"health_check": {"command": ["absent-program"]}}})");
    BOOST_TEST(supervise(a) != 0);
    BOOST_TEST(to_string(end_of(0).cause) == "not-launched");
    BOOST_TEST(to_string(end_of(0).next_action) == "stop");
    BOOST_TEST(end_of(0).bad_hosts == "");
    BOOST_TEST(end_of(0).message.starts_with(
                   "no node of n[0-1] has the program 'absent-program' of slurm.health_check.command"),
               end_of(0).message);
    BOOST_TEST(!path_exists(root / "trained"));
    ::unsetenv("DET_ROOT");
}

BOOST_AUTO_TEST_CASE(one_node_without_the_program_is_left_out_until_three_have_lacked_it) {
    step_is(R"(case "$*" in *check-health*) cd "$DET_RUN_PATH/health"
        echo '{"index":0,"is_complete":true,"listens":true,"faults":["no program"],"notes":[],"unreached":[],"lacks_command":true,"fails_by_command_only":true}' >node-0.json
        exit 0;; esac
        exit 0)");
    auto a = checked();
    a.spec.config = parse_json(R"({"slurm": {"health_check": {"command": ["absent-program"]}}})");
    a.spec.shape.nodes = 1;
    a.hosts = "n0";
    for (std::uint32_t run = 0; run < 2; ++run) {
        BOOST_TEST(supervise(a) == 0);
        BOOST_TEST(to_string(end_of(run).next_action) == "requeue");
        BOOST_TEST(end_of(run).message.find("node n0: no program") != std::string::npos, end_of(run).message);
    }
    BOOST_TEST(end_of(0).bad_hosts == "n0");
    BOOST_TEST(supervise(a) != 0);
    BOOST_TEST(to_string(end_of(2).next_action) == "stop");
    BOOST_TEST(end_of(2).message.starts_with("no node of n0 has the program 'absent-program'"),
               end_of(2).message);
}

BOOST_AUTO_TEST_CASE(a_pause_during_the_check_ends_the_run_without_its_step_and_blames_no_node) {
    clock.step = std::chrono::seconds(1);
    step_is(R"(case "$*" in *check-health*)
        cp "$DET_ROOT/pause" "$DET_EXPERIMENT_PATH/desired"; kill -URG $PPID; exec sleep 600;; esac
        touch "$DET_ROOT/trained")");
    BOOST_TEST(supervise(checked()) == 0);
    BOOST_TEST(to_string(end_of(0).cause) == "paused");
    BOOST_TEST(end_of(0).message == "the user paused it; the trainer was not started");
    BOOST_TEST(end_of(0).bad_hosts == "");
    BOOST_TEST(std::ranges::count(slurm.calls, "cancel-step 123_0 7.0.0.health") == 1);
    BOOST_TEST(!path_exists(run_path(0) + "/health"));
    BOOST_TEST(!path_exists(root / "trained"));
}

BOOST_AUTO_TEST_CASE(without_the_key_no_check_is_made) {
    step_is(R"(case "$*" in *check-health*) exit 7;; esac; exit 0)");
    auto a = batch_job();
    BOOST_TEST(supervise(a) == 0);
    a.spec.config = parse_json(R"({"slurm": {"health_check": false}})");
    a.first_trial = 0;
    BOOST_TEST(std::ranges::none_of(
        log_lines, [](auto const& line) { return line.find("health") != std::string::npos; }));
    BOOST_TEST(!wants_health_check(a.spec));
}

BOOST_AUTO_TEST_SUITE_END()
