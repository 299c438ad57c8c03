// The daemons of the loopback site, as processes that sleep.
#include "daemon_supervisor.hpp"

#include <det/foundation/process.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <sys/wait.h>

#include "temporary_directory.hpp"

using namespace det;
using namespace det::loopback;

namespace daemon_supervisor_test {

struct Fixture {
    TemporaryDirectory directory;
    DaemonSupervisor daemons{Environment::of_this_process().to_list()};
    DaemonSupervisor::Time const now = std::chrono::steady_clock::now();

    Fixture() {
        daemons.add(
            {"sleeper", {"sleep", "1000"}, directory / "output", 0, nullptr, [](pid_t) { return true; }});
        daemons.tick(now);
    }
    ~Fixture() { daemons.shut_down(); }

    DaemonSupervisor::Daemon const& sleeper() const { return daemons.daemons().front(); }
    /// Waits until the process is a zombie, which is not reaped by this.
    static void wait_for_death(pid_t pid) {
        siginfo_t info{};
        BOOST_REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
    }
};

}  // namespace daemon_supervisor_test

BOOST_FIXTURE_TEST_SUITE(daemon_supervisor_test, Fixture)

BOOST_AUTO_TEST_CASE(a_killed_daemon_stays_down_until_it_is_started) {
    auto const first = sleeper().pid;
    BOOST_REQUIRE(first > 0);
    BOOST_TEST(daemons.kill("sleeper"));
    wait_for_death(first);
    daemons.reap();
    daemons.tick(now);
    BOOST_TEST(sleeper().pid < 0);
    BOOST_TEST(daemons.start("sleeper"));
    daemons.tick(now);
    BOOST_TEST(sleeper().pid > 0);
    BOOST_TEST(sleeper().pid != first);
    BOOST_TEST(!daemons.kill("other"));
    BOOST_TEST(!daemons.start("other"));
}

BOOST_AUTO_TEST_CASE(a_daemon_that_is_killed_and_started_at_once_runs_once) {
    auto const first = sleeper().pid;
    BOOST_TEST(daemons.kill("sleeper"));
    BOOST_TEST(daemons.start("sleeper"));
    daemons.tick(now);
    BOOST_TEST(sleeper().pid == first);  // no second process beside the one that has not been reaped
    BOOST_TEST(daemons.needs_ticks());
    wait_for_death(first);
    daemons.reap();
    daemons.tick(now);
    BOOST_TEST(sleeper().pid > 0);
    BOOST_TEST(sleeper().pid != first);
    BOOST_TEST((sleeper().state == DaemonState::running));
}

BOOST_AUTO_TEST_SUITE_END()
