#include <det/foundation/clock.hpp>
#include <det/foundation/files.hpp>
#include <det/tracker/history/attributes.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/ingest/change_times.hpp>
#include <det/tracker/ingest/live_index.hpp>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "example_root.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::ingest;

namespace change_times_test {

/// Sets when a directory was changed: so many seconds ago.
void set_age(std::filesystem::path const& path, std::int64_t age_s) {
    timespec const time{SystemClock().now().microseconds / 1'000'000 - age_s, 0};
    timespec const both[] = {time, time};
    BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), both, 0) == 0);
}

struct Fixture {
    TemporaryDirectory directory;
    ExampleRoot example{directory.path() / "root"};
    ExperimentLayout layout = example.create(1, 1);
    ChangeTimes times;
};

}  // namespace change_times_test

BOOST_FIXTURE_TEST_SUITE(change_times_test, Fixture)

BOOST_AUTO_TEST_CASE(the_later_time_of_both_directories_counts) {
    set_age(layout.path(), 100);
    set_age(layout.events(), 50);
    auto const first = ChangeTimes::read(layout);
    set_age(layout.path(), 40);
    BOOST_TEST(ChangeTimes::read(layout) > first);
    BOOST_TEST(ChangeTimes::read(ExperimentLayout(example.root, {2})) == 0);
}

BOOST_AUTO_TEST_CASE(a_time_less_than_two_seconds_ago_is_not_trusted) {
    set_age(layout.path(), 100);
    set_age(layout.events(), 1);
    BOOST_TEST(ChangeTimes::read_unless_recent(layout) == 0);
    set_age(layout.events(), -100);  // the clock of the file server is ahead
    BOOST_TEST(ChangeTimes::read_unless_recent(layout) == 0);
    set_age(layout.events(), 4);
    BOOST_TEST(ChangeTimes::read_unless_recent(layout) == ChangeTimes::read(layout));
}

BOOST_AUTO_TEST_CASE(only_the_known_time_of_an_experiment_matches) {
    BOOST_TEST(!times.has({1}, 5));
    times.set({1}, 5);
    BOOST_TEST(times.has({1}, 5));
    BOOST_TEST(!times.has({1}, 6));
    BOOST_TEST(!times.has({2}, 5));
    times.forget({1});
    BOOST_TEST(!times.has({1}, 5));
    times.set({1}, 0);
    BOOST_TEST(!times.has({1}, 0));
}

BOOST_AUTO_TEST_CASE(a_settled_experiment_that_a_user_changes_is_read_again) {
    example.finish({{1}, 0});
    for (auto const& path : {layout.path(), layout.events()}) set_age(path, 1000);
    LiveIndex::Settings chosen{directory.path() / "index", example.root};
    chosen.age_max = std::chrono::milliseconds(0);
    chosen.wait_timeout = std::chrono::seconds(30);
    for (int restart = 0; restart < 2; ++restart) {
        auto const live = must(LiveIndex::open(chosen));
        for (int repetition = 0; repetition < 5; ++repetition) must(live->load_experiment({1}));
        auto const name = std::to_string(restart);
        auto const [kind, body] = history::changes::set_name(name);
        must(journal::append_event(layout.events(), {std::string(kind), UtcTime{9}, "me@here", body}));
        BOOST_TEST(history::attributes_of(must(live->load_experiment({1}))).name == name);
        for (auto const& path : {layout.path(), layout.events()}) set_age(path, 500 - restart);
        for (int repetition = 0; repetition < 5; ++repetition) must(live->load_experiment({1}));
    }
}

BOOST_AUTO_TEST_SUITE_END()
