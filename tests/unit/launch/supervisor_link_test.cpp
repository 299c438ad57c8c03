#include "supervisor_link.hpp"

#include <det/foundation/shared_directory.hpp>
#include <det/protocol/directory_layout.hpp>
#include <det/protocol/rendezvous_file.hpp>
#include <det/protocol/task_identity.hpp>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using launch::wrap_rank::SupervisorLink;
using namespace std::chrono_literals;
using Presence = transport::NodeMonitor::Presence;

namespace supervisor_link_test {

struct Fixture {
    TemporaryDirectory directory;
    std::unique_ptr<transport::NodeMonitor> monitor =
        must(transport::NodeMonitor::start("a secret", 2, std::nullopt));
    Environment environment;

    Fixture() {
        environment.set(variables::run_path, directory.path());
        environment.set(variables::run_dir, directory.path());
        environment.set(variables::node_monitor,
                        transport::render_node_monitor_address({monitor->port(), 2, {"127.0.0.1"}}));
        must(write_secret_file(RunLayout(directory.path()).rendezvous(),
                               render_rendezvous_file({"a secret"})));
        monitor->confirm_newest_run(1h);
    }
    std::unique_ptr<SupervisorLink> open(int node = 1) const {
        return SupervisorLink::open(environment, node);
    }
    transport::NodeMonitor::Node node() const { return monitor->nodes().at(1); }
    template <class Condition>
    static void wait_until(Condition const& condition) {
        auto const until = std::chrono::steady_clock::now() + 60s;
        while (!condition()) {
            BOOST_REQUIRE(std::chrono::steady_clock::now() < until);
            std::this_thread::sleep_for(10ms);
        }
    }
};

}  // namespace supervisor_link_test

BOOST_FIXTURE_TEST_SUITE(supervisor_link_test, Fixture)

BOOST_AUTO_TEST_CASE(one_wrapper_of_a_node_sends_the_others_see_the_answers_and_one_takes_over) {
    auto first = open(), second = open();
    BOOST_REQUIRE(first && second);
    BOOST_TEST(!second->is_connected());
    first->advance();
    second->advance();
    wait_until([&] { return first->is_connected() && second->is_connected(); });
    monitor->request(transport::node_requests::stop);
    wait_until([&] { return second->requests() == transport::node_requests::stop; });
    BOOST_TEST(first->requests() == transport::node_requests::stop);
    // Whichever wrapper sends, the beats carry what any of them shows.
    BOOST_TEST(!node().activity.has_value());
    second->show_activity(5);
    wait_until([&] { return node().activity == 5u; });
    first.reset();
    BOOST_TEST(!second->is_connected());
    wait_until([&] { return node().presence == Presence::left; });
    second->advance();
    wait_until([&] { return second->is_connected(); });
    BOOST_TEST((node().presence == Presence::joined));
    second.reset();
    wait_until([&] { return node().presence == Presence::left; });
}

BOOST_AUTO_TEST_CASE(a_wrapper_that_takes_over_does_not_wait_for_the_start_of_other_nodes) {
    constexpr int nodes = transport::NodeMonitor::nodes_max, leaf = nodes - 1;
    monitor = must(transport::NodeMonitor::start("a secret", nodes, std::nullopt));
    environment.set(variables::node_monitor,
                    transport::render_node_monitor_address({monitor->port(), nodes, {"127.0.0.1"}}));
    // The first wrapper of a leaf would connect within 16 s. Node 0 has no parent: it connects at once, and
    // the page of its wrappers is the same in this test.
    auto first = open(0);
    first->advance();
    wait_until([&] { return first->is_connected(); });
    first.reset();
    std::chrono::steady_clock::duration passed{};
    for (int i = 0; i < 8; ++i) {
        auto next = open(leaf);
        auto const begin = std::chrono::steady_clock::now();
        next->advance();
        wait_until([&] { return next->is_connected(); });
        passed += std::chrono::steady_clock::now() - begin;
    }
    BOOST_TEST((passed < 20s));  // eight times 0 to 16 s otherwise
}

BOOST_AUTO_TEST_CASE(a_file_that_one_wrapper_makes_is_taken_by_one_of_them) {
    using File = SupervisorLink::File;
    auto const first = open(), second = open();
    BOOST_TEST(!second->take_file(File::left));
    first->note_file(File::left);
    first->note_file(File::left);
    BOOST_TEST(!second->take_file(File::heartbeat));
    BOOST_TEST(second->take_file(File::left));
    BOOST_TEST(!first->take_file(File::left));
}

BOOST_AUTO_TEST_CASE(one_wrapper_of_a_node_has_a_turn_at_a_time) {
    auto const first = open(), second = open();
    BOOST_TEST(first->takes_turn(1h));
    BOOST_TEST(!second->takes_turn(1h));
    BOOST_TEST(second->takes_turn(0s));
}

BOOST_AUTO_TEST_CASE(the_end_of_a_node_is_told_by_the_wrapper_that_sends_and_known_to_the_others) {
    auto sender = open(), other = open(), last = open();
    sender->advance();
    wait_until([&] { return sender->is_connected(); });
    BOOST_TEST(other->leave());  // the one that sends goes on
    BOOST_TEST((node().presence == Presence::joined));
    BOOST_TEST(sender->leave());
    BOOST_TEST((node().presence == Presence::left));
    sender->advance();  // it has ended
    sender.reset();
    // Another one takes over and ends before it has connected: the supervisor knows already.
    environment.set(variables::node_monitor, "1 2 127.0.0.1");
    auto unconnected = open();
    unconnected->advance();
    BOOST_TEST(unconnected->leave());
    unconnected.reset();
    BOOST_TEST(last->leave());
}

BOOST_AUTO_TEST_CASE(an_end_of_which_no_supervisor_knows_is_reported) {
    {
        auto sender = open(), second = open();
        sender->advance();
        wait_until([&] { return sender->is_connected(); });
        monitor.reset();
        BOOST_TEST(!sender->leave());
        sender.reset();
        BOOST_TEST(!second->leave());
    }
    // A wrapper that sends was told of an earlier end, and is killed: no other one speaks for the node.
    monitor = must(transport::NodeMonitor::start("a secret", 2, std::nullopt));
    environment.set(variables::node_monitor,
                    transport::render_node_monitor_address({monitor->port(), 2, {"127.0.0.1"}}));
    auto first = open(), last = open();
    first->advance();
    wait_until([&] { return first->is_connected(); });
    BOOST_TEST(first->leave());
    first.reset();
    pid_t const child = ::fork();
    if (child == 0) {
        auto const killed = open();
        killed->advance();
        while (!killed->is_connected()) std::this_thread::sleep_for(10ms);
        ::raise(SIGKILL);
    }
    BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
    BOOST_TEST(!last->leave());
}

BOOST_AUTO_TEST_CASE(without_a_supervisor_that_expects_this_node_there_is_no_link) {
    BOOST_TEST((open(0) != nullptr));
    BOOST_TEST((open(2) == nullptr));
    BOOST_TEST((open(-1) == nullptr));
    for (auto const* text : {"", "x", "1 2", "1 2 n0"}) {
        environment.set(variables::node_monitor, text);
        BOOST_TEST((open() == nullptr), text);
    }
    environment.unset(variables::node_monitor);
    BOOST_TEST((open() == nullptr));
}

BOOST_AUTO_TEST_CASE(without_the_secret_nothing_is_sent) {
    must(remove_tree(RunLayout(directory.path()).rendezvous()));
    auto const link = open();
    BOOST_REQUIRE(link != nullptr);
    auto const until = std::chrono::steady_clock::now() + 2s;  // a node with the secret joins in milliseconds
    while (std::chrono::steady_clock::now() < until) {
        link->advance();
        std::this_thread::sleep_for(50ms);
    }
    BOOST_TEST(!link->is_connected());
    BOOST_TEST((node().presence == Presence::absent));
}

BOOST_AUTO_TEST_CASE(without_a_thread_the_wrapper_goes_on_by_file) {
    pthread_attr_t before, huge;
    BOOST_REQUIRE(::pthread_getattr_default_np(&before) == 0);
    BOOST_REQUIRE(::pthread_attr_init(&huge) == 0);
    BOOST_REQUIRE(::pthread_attr_setstacksize(&huge, std::size_t{1} << 47) == 0);
    auto const link = open();
    BOOST_REQUIRE(link != nullptr);
    BOOST_REQUIRE(::pthread_setattr_default_np(&huge) == 0);
    BOOST_CHECK_NO_THROW(link->advance());
    BOOST_CHECK_NO_THROW(link->advance());
    BOOST_REQUIRE(::pthread_setattr_default_np(&before) == 0);
    BOOST_TEST(!link->is_connected());
    ::pthread_attr_destroy(&before);
    ::pthread_attr_destroy(&huge);
}

BOOST_AUTO_TEST_CASE(on_a_full_disk_there_is_no_link) {
    // In a process of its own, because without the check it is killed by SIGBUS.
    auto const path = directory.path().string();
    pid_t const child = ::fork();
    if (child == 0) {
        if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
            ::mount("none", path.c_str(), "tmpfs", 0, "size=4096") != 0)
            ::_exit(2);
        UniqueFd const full(::open((path + "/full").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
        char const page[4096] = {1};
        if (::write(full.get(), page, sizeof page) != sizeof page) ::_exit(2);
        auto const link = open();
        if (link) link->show_activity(1);
        ::_exit(link ? 1 : 0);
    }
    int status = 0;
    BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 2) {
        BOOST_TEST_MESSAGE("not tested: a file system can't be mounted here");
        return;
    }
    BOOST_TEST(WIFEXITED(status));
    BOOST_TEST(WEXITSTATUS(status) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
