#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::journal;

namespace event_log_test {

Event event(std::string kind, int number) {
    return {std::move(kind), UtcTime{number}, "a@b", Json{{"n", number}}};
}

}  // namespace event_log_test

BOOST_AUTO_TEST_SUITE(event_log_test)

BOOST_AUTO_TEST_CASE(events_are_read_in_the_order_of_their_numbers) {
    TemporaryDirectory directory;
    for (int i = 1; i <= 12; ++i) must(append_event(directory.path(), event("renamed", i)));
    auto const events = must(load_events(directory.path()));
    BOOST_REQUIRE(events.size() == 12u);
    for (int i = 1; i <= 12; ++i) BOOST_TEST(events[static_cast<std::size_t>(i - 1)].body->at("n") == i);
    BOOST_TEST(path_exists(directory / "12-renamed.json"));
}

BOOST_AUTO_TEST_CASE(concurrent_events_are_all_kept) {
    TemporaryDirectory directory;
    constexpr int threads = 4, each = 25;
    std::vector<std::jthread> writers;
    for (int thread = 0; thread < threads; ++thread) {
        writers.emplace_back([&, thread] {
            for (int i = 0; i < each; ++i) {
                auto const status = append_event(directory.path(), event("renamed", thread * each + i));
                if (!status) std::terminate();
            }
        });
    }
    writers.clear();
    std::vector<int> seen;
    for (auto const& one : must(load_events(directory.path()))) seen.push_back(one.body->at("n"));
    std::sort(seen.begin(), seen.end());
    BOOST_REQUIRE(seen.size() == std::size_t{threads * each});
    for (int i = 0; i < threads * each; ++i) BOOST_TEST(seen[static_cast<std::size_t>(i)] == i);
}

BOOST_AUTO_TEST_CASE(the_number_of_an_event_has_a_limit) {
    TemporaryDirectory directory;
    must(write_file(directory / "999999998-renamed.json", render_event(event("renamed", 1))));
    must(append_event(directory.path(), event("renamed", 2)));
    BOOST_TEST(path_exists(directory / "999999999-renamed.json"));
    BOOST_TEST(must(load_events(directory.path())).size() == 2u);
    BOOST_TEST((must_fail(append_event(directory.path(), event("renamed", 3))).code == codes::file_system));

    must(write_file(directory / "4294967295-renamed.json", render_event(event("renamed", 3))));
    BOOST_TEST((must_fail(load_events(directory.path())).code == codes::damaged));
    auto const error = must_fail(append_event(directory.path(), event("renamed", 4)));
    BOOST_TEST((error.code == codes::damaged));
    BOOST_TEST(error.message.find("4294967295-renamed.json") != std::string::npos, error.message);
    BOOST_TEST(!path_exists(directory / "0-renamed.json"));
}

BOOST_AUTO_TEST_CASE(a_damaged_event_is_named) {
    TemporaryDirectory directory;
    must(write_file(directory / "1-created.json", "{"));
    auto const error = must_fail(load_events(directory.path()));
    BOOST_TEST((error.code == codes::damaged));
    BOOST_TEST(error.notes.front().find("1-created.json") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(without_a_desired_file_a_trial_is_to_run) {
    TemporaryDirectory directory;
    BOOST_TEST((must(load_desired(directory / "desired")) == DesiredState::run));
    must(write_desired(directory / "desired", DesiredState::cancel));
    BOOST_TEST((must(load_desired(directory / "desired")) == DesiredState::cancel));
}

BOOST_AUTO_TEST_SUITE_END()
