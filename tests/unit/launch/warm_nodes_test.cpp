// On which nodes an interpreter waits, as their keepers report it, and which nodes the supervisor asks for
// further keepers.
#include "warm_nodes.hpp"

#include <det/foundation/text.hpp>
#include <det/launch/supervisor/memory_cleanup.hpp>
#include <det/protocol/staged_file.hpp>

#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "supervisor_fixture.hpp"
#include "warm_start.hpp"

using namespace det;
using namespace det::launch::supervisor;
using namespace std::chrono_literals;

namespace warm_nodes_test {

using Hosts = std::vector<std::string>;

/// A job on n0, where the supervisor is, n1 and n2.
struct Fixture : SupervisorFixture {
    BatchJob job = batch_job();
    SupervisorContext context{slurm,
                              clock,
                              Environment(),
                              "/opt/det-wrap-rank",
                              [this](std::string const& line) { log_lines.push_back(line); },
                              {},
                              output()};
    TrialId const trial{{7}, 0};

    Fixture() {
        context.environment.set("SLURM_JOB_ID", "123");
        job.hosts = "n[0-2]";
        job.spec.config = Json{{"slurm", {{"warm_start", true}}}};
    }
    std::unique_ptr<WarmNodes> start() {
        auto nodes = WarmNodes::start(job, context);
        BOOST_REQUIRE(nodes != nullptr);
        return nodes;
    }
    static void wait_until(std::function<bool()> const& is_so) {
        auto const until = std::chrono::steady_clock::now() + 60s;
        while (!is_so()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
            std::this_thread::sleep_for(10ms);
        }
    }
};

Environment on_node(std::string const& node, std::string const& link) {
    Environment environment;
    environment.set("SLURMD_NODENAME", node);
    environment.set(KeeperLinkPlace::variable, link);
    return environment;
}

/// The keeper of a node; it ends when this object does, without reporting it.
struct Keeper {
    pid_t pid;
    Keeper(std::string const& node, std::string const& link, bool has_interpreter) : pid(::fork()) {
        if (pid != 0) return;
        auto const keeper = KeeperLink::open(on_node(node, link));
        if (!keeper) ::_exit(1);
        keeper->show(has_interpreter);
        for (;;) ::pause();
    }
    Keeper(Keeper const&) = delete;
    Keeper& operator=(Keeper const&) = delete;
    ~Keeper() { kill(); }
    void kill() {
        if (pid > 0) {
            ::kill(pid, SIGKILL);
            ::waitpid(pid, nullptr, 0);
        }
        pid = 0;
    }
};

}  // namespace warm_nodes_test

BOOST_FIXTURE_TEST_SUITE(warm_nodes_test, Fixture)

BOOST_AUTO_TEST_CASE(a_keeper_reports_its_step_and_whether_it_has_an_interpreter) {
    for (KeeperReport const report : {KeeperReport{1, false}, {1, true}, {70000, true}})
        BOOST_CHECK(KeeperReport::from_number(report.to_number()) == report);
    KeeperLinkPlace const place{7, "a-secret", "n[0-2]", {4711, 3, {"10.0.0.1", "fd00::1"}}};
    auto const read = parse_keeper_link_place(to_string(place));
    BOOST_REQUIRE(read.has_value());
    BOOST_TEST(to_string(*read) == to_string(place));
    BOOST_TEST(read->step == 7u);
    BOOST_TEST(read->secret == "a-secret");
    BOOST_TEST(read->hosts == "n[0-2]");
    BOOST_TEST(read->supervisor.port == 4711);
    for (auto const* text : {"", "7", "7 a-secret", "7 a-secret n[0-2]", "x a-secret n[0-2] 4711 3 10.0.0.1",
                             "7  n[0-2] 4711 3 10.0.0.1", "7 a-secret n[0-2] 0 3 10.0.0.1"})
        BOOST_TEST(!parse_keeper_link_place(text).has_value(), text);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_no_keeper_of_a_node_of_the_job_does_not_connect) {
    auto const nodes = start();
    BOOST_TEST(!KeeperLink::open(on_node("n9", nodes->describe_place(1))));
    BOOST_TEST(!KeeperLink::open(on_node("n1", "")));
}

BOOST_AUTO_TEST_CASE(interpreters_wait_where_keepers_say_that_and_are_gone_when_these_are_killed) {
    auto const nodes = start();
    BOOST_TEST(nodes->find_kept().empty());
    auto const link = nodes->describe_place(1);
    Keeper first("n0", link, true), second("n1", link, true), without("n2", nodes->describe_place(2), false);
    wait_until([&] { return nodes->find_waiting().size() == 2 && nodes->find_kept().size() == 3; });
    BOOST_TEST(nodes->find_waiting() == (Hosts{"n0", "n1"}), boost::test_tools::per_element());
    BOOST_TEST(nodes->may_have_keeper_of(2, {"n2"}));
    without.kill();
    second.kill();
    wait_until([&] { return nodes->find_kept().size() == 1; });
    BOOST_TEST(nodes->find_waiting() == (Hosts{"n0"}), boost::test_tools::per_element());
    wait_until([&] { return !nodes->may_have_keeper_of(2, {"n2"}); });
    wait_until([&] { return nodes->find_ended(1, {"n0", "n1"}) == Hosts{"n1"}; });
    BOOST_TEST(nodes->may_have_keeper_of(1, {"n0", "n1"}));
    BOOST_TEST(nodes->may_have_keeper_of(3, {"n1"}));  // it is yet to start
    // A further one takes its place.
    Keeper const again("n1", nodes->describe_place(3), true);
    wait_until([&] { return nodes->find_waiting().size() == 2; });
    BOOST_TEST(nodes->may_have_keeper_of(3, {"n1"}));
    BOOST_TEST(!nodes->may_have_keeper_of(1, {"n1"}));
    BOOST_TEST(log_lines.empty());
}

BOOST_AUTO_TEST_CASE(a_keeper_may_live_that_has_never_connected_or_whose_connection_ends_without_its_end) {
    auto const nodes = start();
    Keeper const first("n0", nodes->describe_place(1), true);
    wait_until([&] { return nodes->find_waiting().size() == 1; });
    BOOST_TEST(nodes->may_have_keeper_of(1, {"n1", "n2"}));
    BOOST_TEST(nodes->find_ended(1, {"n0", "n1", "n2"}).empty());
}

BOOST_AUTO_TEST_CASE(a_keeper_that_does_not_know_the_secret_is_not_believed) {
    auto const nodes = start();
    auto place = parse_keeper_link_place(nodes->describe_place(1)).value();
    place.secret = "another";
    Keeper const stranger("n1", to_string(place), true);
    Keeper const own("n0", nodes->describe_place(1), true);
    wait_until([&] { return nodes->find_waiting() == Hosts{"n0"}; });
    BOOST_TEST(nodes->find_kept() == (Hosts{"n0"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_further_step_begins_only_on_nodes_whose_keeper_is_gone) {
    step_is("echo \"$DET_KEEPER_LINK\" >\"$DET_ROOT/link\"; echo \"$*\" >>\"$DET_ROOT/steps\"; exec cat");
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    context.environment = Environment::of_this_process();
    ::unsetenv("DET_ROOT");
    auto const steps = [&] {
        auto const text = read_file(root / "steps").value_or("");
        std::vector<std::string> lines;
        for (auto const line : split_lines(text)) lines.emplace_back(line);
        return lines;
    };
    WarmStart warm(job, context);
    warm.begin(trial, {});
    wait_until([&] { return steps().size() == 1; });
    BOOST_TEST(steps().front().find("--nodelist=n[0-2]") != std::string::npos, steps().front());
    auto const link = std::string(trim(must(read_file(root / "link"))));
    Keeper const first("n0", link, true), third("n2", link, true);
    Keeper second("n1", link, true);
    wait_until([&] { return warm.find_waiting().size() == 3; });
    warm.begin(trial, {});
    second.kill();
    wait_until([&] { return warm.find_waiting().size() == 2; });
    warm.begin(trial, {"n2"});
    wait_until([&] { return steps().size() >= 2; });
    BOOST_TEST(steps().size() == 2u);
    BOOST_TEST(steps().back().find("--nodelist=n1 ") != std::string::npos, steps().back());
    clock.step = 500ms;  // the keepers have inherited the input of the steps, which do not end by themselves
    warm.end(false);
    BOOST_TEST(warm.find_waiting().empty());
}

BOOST_AUTO_TEST_CASE(the_srun_of_a_step_is_ended_only_when_all_its_keepers_have_ended) {
    step_is("echo \"$DET_KEEPER_LINK\" >\"$DET_ROOT/link\"; echo $$ >\"$DET_ROOT/pid\"; exec cat");
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    context.environment = Environment::of_this_process();
    ::unsetenv("DET_ROOT");
    WarmStart warm(job, context);
    warm.begin(trial, {});
    wait_until([&] { return trim(read_file(root / "pid").value_or("")).size() > 0; });
    auto const srun = parse_integer<pid_t>(trim(must(read_file(root / "pid")))).value();
    auto const link = std::string(trim(must(read_file(root / "link"))));
    Hosts const all{"n0", "n1", "n2"};
    auto const is_srun_left = [&] {
        warm.begin(trial, all);  // begins nothing
        return ::kill(srun, 0) == 0;
    };
    clock.sleep_for(31s);
    BOOST_TEST(is_srun_left());  // no keeper has connected
    {
        Keeper const first("n0", link, true), second("n1", link, true);
        wait_until([&] { return warm.find_waiting().size() == 2; });
    }
    wait_until([&] { return warm.find_waiting().empty(); });
    BOOST_TEST(is_srun_left());  // that of n2 has not
    {
        Keeper const third("n2", link, true);
        wait_until([&] { return warm.find_waiting().size() == 1; });
        BOOST_TEST(is_srun_left());
    }
    wait_until([&] { return !is_srun_left(); });
}

BOOST_AUTO_TEST_CASE(a_run_stays_on_its_nodes_if_only_they_have_its_state) {
    TemporaryDirectory const shm;
    job.spec.shape.slots_per_node = 2;
    auto const keep = [&](std::string const& name) {
        auto const path = must(checkpoint::make_memory_directory({shm.path(), "123", "7.0", "", "0"}));
        must(write_file(path / name, "a snapshot"));
    };
    job.spec.config = Json{{"slurm", {{"memory_checkpoints", {{"every", 10}}}}}};
    std::uint32_t run = 1;
    auto const may_leave = [&](std::string const& last_hosts = "n[0-1]") {
        return may_leave_nodes(job, context, {trial, run}, last_hosts, shm.path());
    };
    BOOST_TEST(may_leave());
    BOOST_TEST(!may_leave("n[1-2]"));  // what they have is not known here
    BOOST_TEST(!may_leave(""));
    keep("0.10.0of6");
    keep("0.10.1of6");
    keep("0.20.0of6");
    keep("0.20.1of6");
    keep("new-1of6-3");
    BOOST_TEST(!may_leave());
    keep("0.10.4of6");
    BOOST_TEST(may_leave());
    BOOST_TEST(!may_leave("n[1-2]"));
    // The next run of fewer nodes has no copies.
    run = 2;
    keep("1.20.0of2");
    keep("1.20.1of2");
    BOOST_TEST(!may_leave());
    // Without snapshots a run needs nothing of its nodes.
    job.spec.config = Json{{"slurm", Json::object()}};
    BOOST_TEST(may_leave("n[1-2]"));
}

BOOST_AUTO_TEST_CASE(a_run_stays_on_nodes_that_have_its_files) {
    job.spec.config = Json{{"slurm", Json::object()}};
    auto const may_leave = [&] { return may_leave_nodes(job, context, {trial, 1}, "n[0-1]"); };
    BOOST_TEST(may_leave());
    set_staged_files(job.spec.config, {{root / "model.bin", 3000, std::string(64, 'a')}});
    BOOST_TEST(!may_leave());
}

BOOST_AUTO_TEST_SUITE_END()
