#include <det/tracker/client/http_history.hpp>

#include <boost/test/unit_test.hpp>

#include "../../conformance/history_suite.hpp"
#include "running_tracker.hpp"

using namespace det;
using namespace det::tracker;

BOOST_AUTO_TEST_SUITE(http_history_test)

BOOST_AUTO_TEST_CASE(the_records_over_http_conform) {
    for (auto const& test : history::history_cases()) {
        RunningTracker tracker;
        client::HttpHistory remote(tracker.client());
        history::HistoryTarget target{tracker.root, remote};
        BOOST_TEST_CONTEXT(test.name) must(test.run(target));
    }
}

BOOST_AUTO_TEST_CASE(without_a_server_there_is_an_error_not_an_empty_history) {
    client::HttpHistory history(http::Client::make(http::UnixEndpoint{"/nowhere/s"}));
    BOOST_TEST(must_fail(history.list_experiments()).code.name == codes::transport.name);
}

BOOST_AUTO_TEST_SUITE_END()
