// The process that writes the index is killed at random moments, many times.
#include <det/tracker/history/dump.hpp>
#include <det/tracker/index/index_history.hpp>
#include <det/tracker/index/tables.hpp>
#include <det/tracker/ingest/ingester.hpp>
#include <det/tracker/ingest/rebuild.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "example_root.hpp"

using namespace det;
using namespace det::tracker;
using namespace det::tracker::ingest;

namespace kill_test {

constexpr std::uint32_t experiments = 2;
constexpr std::uint32_t trials = 2;

/// How often the process is killed: 50 times, or as often as DET_INGEST_KILLS says.
int kill_count() {
    auto const* const wanted = std::getenv("DET_INGEST_KILLS");
    return wanted == nullptr ? 50 : std::atoi(wanted);
}

/// Opens the index and polls 100 times, again and again, until it is killed.
[[noreturn]] void ingest_until_killed(std::filesystem::path const& path, RootLayout const& root) {
    for (TimePoint now{};;) {
        auto index = index::open_index(path, root.path(), index::Access::write);
        if (!index) _exit(3);
        Ingester ingester(*std::move(index), root);
        for (int poll = 0; poll < 100; ++poll, now += std::chrono::seconds(1))
            if (!ingester.poll(now)) _exit(4);
    }
}

std::string dump_all(std::filesystem::path const& path, RootLayout const& root) {
    index::IndexHistory history(must(index::open_index(path, root.path(), index::Access::read)), root.path());
    std::string out;
    for (auto const id : must(history.list_experiments())) out += history::dump_experiment(history, id);
    return out;
}

std::string check_integrity(std::filesystem::path const& path, RootLayout const& root) {
    auto index = must(index::open_index(path, root.path(), index::Access::read));
    std::string result;
    must(index.for_each("PRAGMA integrity_check", [&](index::Row const& row) { result += row.text(0); }));
    return result;
}

}  // namespace kill_test

BOOST_AUTO_TEST_SUITE(kill_test)

BOOST_AUTO_TEST_CASE(an_index_whose_writer_was_killed_has_what_a_rebuilt_one_has) {
    TemporaryDirectory const directory;
    ExampleRoot example(directory.path() / "root", 7);
    auto const path = directory.path() / "index";
    for (std::uint32_t id = 1; id <= experiments; ++id) example.create(id, trials);
    auto& random = example.random();
    auto const some_steps = [&] {
        for (int step = 0; step < 5; ++step) {
            auto const experiment = 1 + static_cast<std::uint32_t>(random() % experiments);
            example.step({{experiment}, static_cast<std::uint32_t>(random() % trials)});
        }
    };
    for (int kill = 0; kill < kill_count(); ++kill) {
        some_steps();
        auto const child = ::fork();
        BOOST_REQUIRE(child >= 0);
        if (child == 0) ingest_until_killed(path, example.root);
        some_steps();
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
        BOOST_REQUIRE(::kill(child, SIGKILL) == 0);
        int status = 0;
        BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
        BOOST_TEST(WIFSIGNALED(status), "the process ended by itself with " << WEXITSTATUS(status));
    }
    for (std::uint32_t id = 1; id <= experiments; ++id)
        for (std::uint32_t trial = 0; trial < trials; ++trial) example.finish({{id}, trial});
    must(Ingester(must(index::open_index(path, example.root.path(), index::Access::write)), example.root)
             .read_all());
    BOOST_TEST(check_integrity(path, example.root) == "ok");
    auto const rebuilt = directory.path() / "rebuilt";
    must(rebuild_index(rebuilt, example.root));
    BOOST_TEST((dump_all(path, example.root) == dump_all(rebuilt, example.root)));
    BOOST_TEST(dump_all(rebuilt, example.root).size() > 10'000u);
}

BOOST_AUTO_TEST_SUITE_END()
