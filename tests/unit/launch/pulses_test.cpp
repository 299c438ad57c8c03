#include <det/foundation/files.hpp>
#include <det/launch/supervisor/pulses.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using launch::supervisor::Pulses;

namespace {

struct Fixture {
    TemporaryDirectory directory;
    RunLayout run{directory.path()};
    Pulses pulses{run, 2};
    long beats = 0;

    void beat(int node) {
        if (!path_exists(run.pulse(node))) must(write_file(run.pulse(node), ""));
        timespec const times[] = {{++beats, 0}, {beats, 0}};
        BOOST_REQUIRE(::utimensat(AT_FDCWD, run.pulse(node).c_str(), times, 0) == 0);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(pulses_test, Fixture)

BOOST_AUTO_TEST_CASE(a_node_whose_file_stays_as_it_is_becomes_silent) {
    for (int look = 0; look < 10; ++look) {
        beat(0);
        if (look < 3) beat(1);
        auto const silent = pulses.look();
        BOOST_TEST(silent.has_value() == (look >= 6), look);
        if (silent) BOOST_TEST(*silent == 1);
    }
}

BOOST_AUTO_TEST_CASE(a_node_that_has_not_begun_or_has_ended_is_not_silent) {
    for (int look = 0; look < 10; ++look) BOOST_TEST(!pulses.look());
    beat(1);
    for (int look = 0; look < 3; ++look) BOOST_TEST(!pulses.look());
    must(remove_tree(run.pulse(1)));
    for (int look = 0; look < 10; ++look) BOOST_TEST(!pulses.look());
}

BOOST_AUTO_TEST_CASE(a_step_that_goes_on_when_all_its_nodes_have_ended_is_lost) {
    beat(0);
    beat(1);
    BOOST_TEST(!pulses.look());
    must(remove_tree(run.pulse(0)));
    for (int look = 0; look < 3; ++look) BOOST_TEST(!pulses.look());
    must(remove_tree(run.pulse(1)));
    BOOST_TEST(!pulses.look());
    BOOST_TEST(pulses.look().has_value());
}

BOOST_AUTO_TEST_CASE(nodes_that_ended_before_the_first_look_are_known_by_what_they_left) {
    must(write_file(run.node_log(0), "a line\n"));
    must(write_file(RunLayout::ends_beside(run.node_log(1)), ""));
    BOOST_TEST(!pulses.look().has_value());
    BOOST_TEST((pulses.look() == 0));
}

BOOST_AUTO_TEST_CASE(who_was_held_up_begins_to_count_again) {
    beat(0);
    for (int look = 0; look < 4; ++look) BOOST_TEST(!pulses.look());
    pulses.start_over();
    BOOST_TEST(!pulses.look());
}

BOOST_AUTO_TEST_SUITE_END()
