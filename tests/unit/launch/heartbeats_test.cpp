#include "heartbeats.hpp"

#include <det/foundation/files.hpp>
#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "check_result.hpp"
#include "file_size_limit.hpp"
#include "storage_probe.hpp"
#include "temporary_directory.hpp"

using namespace det;
using launch::supervisor::HeartbeatMonitor;
using launch::supervisor::NodeContact;
using launch::supervisor::NodeFiles;

namespace heartbeats_test {

struct Fixture {
    TemporaryDirectory directory;
    RunLayout run{directory.path()};
    HeartbeatMonitor heartbeats{run, 2};
    long beats = 0;

    void heartbeat(int node) {
        if (!path_exists(run.heartbeat(node))) must(write_file(run.heartbeat(node), ""));
        timespec const times[] = {{++beats, 0}, {beats, 0}};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, run.heartbeat(node).c_str(), times, 0) == 0);
    }
};

}  // namespace heartbeats_test

BOOST_FIXTURE_TEST_SUITE(heartbeats_test, Fixture)

BOOST_AUTO_TEST_CASE(a_node_whose_file_does_not_change_is_silent) {
    for (int check_for_silent_node = 0; check_for_silent_node < 10; ++check_for_silent_node) {
        heartbeat(0);
        if (check_for_silent_node < 3) heartbeat(1);
        auto const silent = heartbeats.check_for_silent_node();
        BOOST_TEST(silent.has_value() == (check_for_silent_node >= 6), check_for_silent_node);
        if (silent) BOOST_TEST(*silent == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_has_not_started_or_has_ended_is_not_silent) {
    for (int check_for_silent_node = 0; check_for_silent_node < 10; ++check_for_silent_node)
        BOOST_TEST(!heartbeats.check_for_silent_node());
    heartbeat(1);
    for (int check_for_silent_node = 0; check_for_silent_node < 3; ++check_for_silent_node)
        BOOST_TEST(!heartbeats.check_for_silent_node());
    must(remove_tree(run.heartbeat(1)));
    for (int check_for_silent_node = 0; check_for_silent_node < 10; ++check_for_silent_node)
        BOOST_TEST(!heartbeats.check_for_silent_node());
}

BOOST_AUTO_TEST_CASE(the_file_of_a_node_that_is_heard_over_the_network_is_not_read) {
    heartbeat(0);
    heartbeat(1);
    bool is_heard = true;
    auto const check = [&] {
        heartbeat(0);
        return heartbeats.check_for_silent_node(
            [&](int node) { return node == 1 && is_heard ? NodeContact::heard : NodeContact::absent; });
    };
    for (int i = 0; i < 10; ++i) BOOST_TEST(!check().has_value());
    BOOST_TEST(!heartbeats.has_file(1));
    // Once it is not heard any more, its file has as much time as that of any other node.
    is_heard = false;
    for (int i = 0; i <= HeartbeatMonitor::checks_until_silent; ++i)
        BOOST_TEST(check().has_value() == (i == HeartbeatMonitor::checks_until_silent), i);
    is_heard = true;
    BOOST_TEST(!check().has_value());
}

BOOST_AUTO_TEST_CASE(a_step_that_outlives_all_its_nodes_is_lost) {
    heartbeat(0);
    heartbeat(1);
    BOOST_TEST(!heartbeats.check_for_silent_node());
    must(remove_tree(run.heartbeat(0)));
    for (int check_for_silent_node = 0; check_for_silent_node < 3; ++check_for_silent_node)
        BOOST_TEST(!heartbeats.check_for_silent_node());
    must(remove_tree(run.heartbeat(1)));
    BOOST_TEST(!heartbeats.check_for_silent_node());
    BOOST_TEST(heartbeats.check_for_silent_node().has_value());
}

BOOST_AUTO_TEST_CASE(a_node_that_has_ended_without_its_slurmstepd_is_found_although_the_other_one_goes_on) {
    auto const ends = RunLayout::failures_beside(run.node_log(1));
    bool is_heard = true;
    auto not_heard = NodeContact::unwatched;
    auto const check = [&] {
        heartbeat(0);
        BOOST_TEST(!heartbeats.check_for_silent_node([&](int node) {
            if (node == 0) return NodeContact::absent;
            return is_heard ? NodeContact::heard : not_heard;
        }));
        return heartbeats.find_node_without_slurmstepd();
    };
    RankFailure failure{{}, std::nullopt, "n1", 137, 9, ""};
    failure.is_slurmstepd_gone = true;
    must(write_file(ends, render_rank_failure(failure)));
    BOOST_TEST(!check().has_value());  // another task of the node goes on
    is_heard = false;
    for (auto const contact :
         {NodeContact::unwatched, NodeContact::left, NodeContact::silent, NodeContact::absent}) {
        not_heard = contact;
        BOOST_TEST((check() == 1));
        BOOST_TEST((check() == 1));
    }
    heartbeat(1);
    BOOST_TEST(!check().has_value());
    must(remove_tree(run.heartbeat(1)));
    // A node that has failed with its slurmstepd, or has ended in order: srun knows it.
    failure.is_slurmstepd_gone = false;
    must(write_file(ends, render_rank_failure(failure)));
    BOOST_TEST(!check().has_value());
    must(remove_tree(ends));
    BOOST_TEST(!check().has_value());
}

BOOST_AUTO_TEST_CASE(a_node_that_was_connected_and_has_no_file_is_silent_after_the_same_time) {
    auto contact = NodeContact::heard;
    auto const check = [&] {
        return heartbeats.check_for_silent_node(
            [&](int node) { return node == 1 ? contact : NodeContact::heard; });
    };
    BOOST_TEST(!check().has_value());
    contact = NodeContact::silent;
    for (int i = 0; i <= HeartbeatMonitor::checks_until_silent; ++i)
        BOOST_TEST(check().has_value() == (i == HeartbeatMonitor::checks_until_silent), i);
    BOOST_TEST(heartbeats.is_any_overdue());
    BOOST_TEST(!heartbeats.has_file(1));
    // It lives, and has noticed that it is cut off.
    for (int i = 0; i < 10; ++i) {
        heartbeat(1);
        BOOST_TEST(!check().has_value());
    }
    BOOST_TEST(heartbeats.has_file(1));
}

BOOST_AUTO_TEST_CASE(nodes_that_have_left_have_ended_whoever_knows_it) {
    auto contact = NodeContact::heard;
    auto const check = [&] {
        return heartbeats.check_for_silent_node(
            [&](int node) { return node == 1 ? contact : NodeContact::heard; });
    };
    // The file of the end counts if the supervisor has not heard of it.
    must(write_file(run.node_left(1), ""));
    for (auto const each : {NodeContact::left, NodeContact::silent, NodeContact::absent}) {
        contact = each;
        for (int i = 0; i < 10; ++i) BOOST_TEST(!check().has_value());
    }
    // Another task of the node goes on, and then is suspended.
    contact = NodeContact::silent;
    heartbeat(1);
    for (int i = 0; i <= HeartbeatMonitor::checks_until_silent; ++i)
        BOOST_TEST(check().has_value() == (i == HeartbeatMonitor::checks_until_silent), i);
}

BOOST_AUTO_TEST_CASE(a_step_is_lost_once_all_its_nodes_have_left) {
    std::vector<NodeContact> contacts(2, NodeContact::heard);
    auto const check = [&] {
        return heartbeats.check_for_silent_node(
            [&](int node) { return contacts.at(static_cast<std::size_t>(node)); });
    };
    BOOST_TEST(!check().has_value());
    contacts[0] = NodeContact::left;
    for (int i = 0; i < 3; ++i) BOOST_TEST(!check().has_value());
    contacts[1] = NodeContact::left;
    BOOST_TEST(!check().has_value());
    BOOST_TEST(check().has_value());
    // A node that has never connected may be about to begin, for as long as it likes.
    contacts[1] = NodeContact::absent;
    HeartbeatMonitor fresh(run, 2);
    for (int i = 0; i < 10; ++i)
        BOOST_TEST(!fresh.check_for_silent_node(
            [&](int node) { return contacts.at(static_cast<std::size_t>(node)); }));
}

BOOST_AUTO_TEST_CASE(a_node_that_has_written_and_neither_connects_nor_has_a_file_is_silent) {
    // Its log shows that its wrapper has begun. A wrapper that lives connects or makes a file long before
    // four checks; one that was killed with its slurmstepd does neither, and srun waits for it for ever.
    auto contact = NodeContact::absent;
    auto const check = [&] {
        return heartbeats.check_for_silent_node(
            [&](int node) { return node == 1 ? contact : NodeContact::heard; });
    };
    must(write_file(run.node_log(1), ""));
    for (int i = 0; i <= HeartbeatMonitor::checks_until_silent; ++i)
        BOOST_TEST(check().has_value() == (i == HeartbeatMonitor::checks_until_silent), i);
    BOOST_TEST(!heartbeats.has_file(1));
    // It lives after all.
    heartbeat(1);
    BOOST_TEST(!check().has_value());
    must(remove_tree(run.heartbeat(1)));
    for (int i = 0; i < 3; ++i) BOOST_TEST(!check().has_value());
    contact = NodeContact::heard;
    BOOST_TEST(!check().has_value());
    // An end in order that no supervisor has confirmed.
    contact = NodeContact::absent;
    must(write_file(run.node_left(1), ""));
    for (int i = 0; i < 10; ++i) BOOST_TEST(!check().has_value());
}

BOOST_AUTO_TEST_CASE(the_files_of_a_silent_node_say_whether_it_has_ended_in_order) {
    auto const missing = launch::supervisor::SilentNodes(run).read_ns(1);
    BOOST_TEST(missing.has_value());
    BOOST_TEST((launch::supervisor::SilentNodes(run).read_ns(1) == missing));
    heartbeat(1);
    auto const beaten = launch::supervisor::SilentNodes(run).read_ns(1);
    BOOST_TEST((beaten != missing));
    heartbeat(1);
    BOOST_TEST((launch::supervisor::SilentNodes(run).read_ns(1) != beaten));
    must(write_file(run.node_left(1), ""));
    BOOST_TEST(launch::supervisor::SilentNodes(run).read_ns(1).has_value());  // another task goes on
    BOOST_TEST(!must(NodeFiles::list(run)).has_left(1));
    must(remove_tree(run.heartbeat(1)));
    BOOST_TEST(!launch::supervisor::SilentNodes(run).read_ns(1).has_value());
    BOOST_TEST(must(NodeFiles::list(run)).has_left(1));
}

BOOST_AUTO_TEST_CASE(nodes_that_are_read_one_after_another_are_listed_once) {
    heartbeat(0);
    launch::supervisor::SilentNodes pass(run);
    auto const beaten = pass.read_ns(0);
    BOOST_TEST(beaten.has_value());
    BOOST_TEST((pass.read_ns(1) == 0));
    // Listed before: only the next pass finds the end, and the heartbeat file is read each time.
    must(write_file(run.node_left(1), ""));
    BOOST_TEST((pass.read_ns(1) == 0));
    BOOST_TEST(!launch::supervisor::SilentNodes(run).read_ns(1).has_value());
    heartbeat(1);
    BOOST_TEST((pass.read_ns(1) != 0));
}

BOOST_AUTO_TEST_CASE(nodes_that_ended_before_the_first_check_are_known_by_their_files) {
    must(write_file(run.node_log(0), "a line\n"));
    must(write_file(RunLayout::failures_beside(run.node_log(1)), ""));
    BOOST_TEST(!heartbeats.check_for_silent_node().has_value());
    BOOST_TEST((heartbeats.check_for_silent_node() == 0));
}

BOOST_AUTO_TEST_CASE(after_a_delay_of_the_supervisor_counting_starts_again) {
    heartbeat(0);
    for (int check_for_silent_node = 0; check_for_silent_node < 4; ++check_for_silent_node)
        BOOST_TEST(!heartbeats.check_for_silent_node());
    heartbeats.restart();
    BOOST_TEST(!heartbeats.check_for_silent_node());
}

BOOST_AUTO_TEST_CASE(a_node_is_overdue_before_it_is_silent) {
    heartbeat(0);
    heartbeat(1);
    for (int check = 0; check < 5; ++check) {
        heartbeat(0);
        auto const silent = heartbeats.check_for_silent_node();
        BOOST_TEST(heartbeats.is_any_overdue() == (check >= 2), check);
        BOOST_TEST(silent.has_value() == (check >= 4), check);
    }
    heartbeats.restart();
    BOOST_TEST(!heartbeats.is_any_overdue());
}

BOOST_AUTO_TEST_CASE(a_probe_tells_whether_a_directory_can_be_written) {
    using launch::supervisor::StorageProbe;
    auto writable = StorageProbe::of_writing(directory.path());
    auto absent = StorageProbe::of_writing(directory / "absent");
    auto absent_file = StorageProbe::of_reading(directory / "absent");
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST(writable.ask(std::chrono::seconds(30)));
        BOOST_TEST(!absent.ask(std::chrono::seconds(30)));
        BOOST_TEST(absent_file.ask(std::chrono::seconds(30)));  // an error is an answer
    }
    BOOST_TEST(must(list_directory(directory.path())).empty());
    {
        FileSizeLimit const full(100);
        BOOST_TEST(!writable.ask(std::chrono::seconds(30)));
    }
    BOOST_TEST(writable.ask(std::chrono::seconds(30)));
}

BOOST_AUTO_TEST_SUITE_END()
