#include <det/foundation/clock.hpp>
#include <det/tracker/api/api.hpp>
#include <det/tracker/client/http_history.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/http/server.hpp>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "../../conformance/history_suite.hpp"
#include "check_result.hpp"
#include "fake_slurm.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::tracker;

namespace http_history_test {

/// A tracker that reads the journals of a root, in this process.
struct Tracker {
    TemporaryDirectory directory;
    TemporaryDirectory socket_directory;
    RootLayout root{directory.path()};
    history::JournalHistory journals{root};
    SystemClock clock;
    FakeSlurm slurm;
    api::Api api{{journals, root, {}, clock, slurm}};
    std::unique_ptr<http::Server> server = start();

    std::unique_ptr<http::Server> start() {
        http::ServerSettings settings;
        settings.unix_socket = socket_directory / "s";
        settings.access.owner = ::geteuid();
        return must(http::Server::start(settings, http::RouteTable(api.routes())));
    }
    client::HttpHistory history() const {
        return client::HttpHistory(http::Client::make(http::UnixEndpoint{socket_directory / "s"}));
    }
};

}  // namespace http_history_test

BOOST_AUTO_TEST_SUITE(http_history_test)

BOOST_AUTO_TEST_CASE(the_records_over_http_conform) {
    for (auto const& test : history::history_cases()) {
        Tracker tracker;
        auto remote = tracker.history();
        history::HistoryTarget target{tracker.root, remote};
        BOOST_TEST_CONTEXT(test.name) must(test.run(target));
    }
}

BOOST_AUTO_TEST_CASE(without_a_server_there_is_an_error_not_an_empty_history) {
    client::HttpHistory history(http::Client::make(http::UnixEndpoint{"/nowhere/s"}));
    BOOST_TEST(must_fail(history.list_experiments()).code.name == codes::transport.name);
}

BOOST_AUTO_TEST_SUITE_END()
