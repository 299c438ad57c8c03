#include <det/foundation/files.hpp>
#include <det/tracker/history/dump.hpp>
#include <det/tracker/history/journal_history.hpp>
#include <det/tracker/ingest/live_index.hpp>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <future>
#include <thread>

#include "../../../conformance/history_suite.hpp"
#include "example_root.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::ingest;

namespace live_index_test {

struct Fixture {
    TemporaryDirectory directory;
    ExampleRoot example{directory.path() / "root", 3};
    history::JournalHistory journals{example.root};

    /// With these settings each answer has all that was written before the call.
    LiveIndex::Settings settings() {
        LiveIndex::Settings chosen{directory.path() / "index", example.root};
        chosen.age_max = std::chrono::milliseconds(0);
        chosen.wait_timeout = std::chrono::seconds(30);
        return chosen;
    }
    void check_same(history::History& live, std::uint32_t id) {
        BOOST_TEST(history::dump_experiment(live, {id}) == history::dump_experiment(journals, {id}));
    }
};

}  // namespace live_index_test

BOOST_FIXTURE_TEST_SUITE(live_index_test, Fixture)

BOOST_AUTO_TEST_CASE(the_records_of_the_index_conform) {
    for (auto const& test : history::history_cases()) {
        TemporaryDirectory const own;
        RootLayout const root(own.path() / "root");
        auto chosen = settings();
        chosen.path = own.path() / "index";
        chosen.root = root;
        auto const live = must(LiveIndex::open(chosen));
        history::HistoryTarget target{root, *live};
        BOOST_TEST_CONTEXT(test.name) must(test.run(target));
    }
}

BOOST_AUTO_TEST_CASE(a_question_gets_what_was_written_before_it) {
    auto const live = must(LiveIndex::open(settings()));
    for (std::uint32_t id = 1; id <= 3; ++id) {
        example.create(id, 1);
        BOOST_TEST(must(live->list_experiments()).size() == id);
        for (int step = 0; step < 10; ++step) {
            example.step({{id}, 0});
            check_same(*live, id);
        }
    }
    BOOST_TEST(!live->last_error());
}

BOOST_AUTO_TEST_CASE(several_threads_may_ask) {
    auto const live = must(LiveIndex::open(settings()));
    example.create(1, 2);
    for (int step = 0; step < 20; ++step) example.step({{1}, static_cast<std::uint32_t>(step % 2)});
    auto const expected = history::dump_experiment(journals, {1});
    std::vector<std::future<bool>> readers;
    for (int i = 0; i < 4; ++i) {
        readers.push_back(std::async(std::launch::async, [&] {
            for (int repetition = 0; repetition < 20; ++repetition)
                if (history::dump_experiment(*live, {1}) != expected) return false;
            return true;
        }));
    }
    for (auto& reader : readers) BOOST_TEST(reader.get());
}

BOOST_AUTO_TEST_CASE(commits_are_counted_and_announced) {
    auto const live = must(LiveIndex::open(settings()));
    std::atomic<std::int64_t> last_commit = 0;
    live->set_listener([&] { last_commit = live->commit_number(); });
    auto const before = live->commit_number();
    example.create(1, 1);
    must(live->load_experiment({1}));
    BOOST_TEST(live->commit_number() > before);
    live->set_listener({});
    auto const announced = last_commit.load();
    BOOST_TEST(announced > before);
    example.create(2, 1);
    must(live->load_experiment({2}));
    BOOST_TEST(live->commit_number() > announced);
    BOOST_TEST(last_commit == announced);  // not called any more
}

BOOST_AUTO_TEST_CASE(an_index_that_is_damaged_is_made_anew) {
    example.create(1, 1);
    example.step({{1}, 0});
    must(write_file(settings().path, std::string(8192, 'x')));
    auto const live = must(LiveIndex::open(settings()));
    check_same(*live, 1);
}

BOOST_AUTO_TEST_CASE(an_index_goes_on_after_a_restart) {
    example.create(1, 1);
    for (int restart = 0; restart < 3; ++restart) {
        auto const live = must(LiveIndex::open(settings()));
        for (int step = 0; step < 5; ++step) example.step({{1}, 0});
        check_same(*live, 1);
    }
}

BOOST_AUTO_TEST_CASE(a_live_index_ends_at_once_while_nothing_happens) {
    example.create(1, 1);
    auto const begin = std::chrono::steady_clock::now();
    must(LiveIndex::open(settings())).reset();
    BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(900)));
}

BOOST_AUTO_TEST_SUITE_END()
