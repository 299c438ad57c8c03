#include <det/foundation/files.hpp>
#include <det/journal/metric_journal.hpp>
#include <det/telemetry/waits/run_waits.hpp>
#include <det/telemetry/waits/wait_reports.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>

#include "check_result.hpp"
#include "temporary_directory.hpp"

using namespace det;
using namespace det::telemetry;
using namespace std::chrono_literals;

namespace run_waits_test {

constexpr UtcTime at(int seconds) { return {1'000'000'000LL + seconds * 1'000'000LL}; }

struct Fixture {
    TemporaryDirectory directory;
    RunLayout const run{directory.path()};

    struct Report {
        UtcTime time;
        std::vector<Metric> metrics;
        std::string group = waits_group;
    };
    void write(int node, std::vector<Report> const& reports) const {
        auto journal = must(journal::MetricJournal::open(run.node_waits(node)));
        for (auto const& report : reports) journal.add(report.time, report.group, report.metrics);
        must(journal.write());
    }
    RunWaits load(WaitPeriod const& period) const { return must(load_waits(run, 3, period)); }
};

}  // namespace run_waits_test

BOOST_FIXTURE_TEST_SUITE(run_waits_test, Fixture)

BOOST_AUTO_TEST_CASE(a_run_without_journals_has_no_waits) { BOOST_TEST(load({}).empty()); }

BOOST_AUTO_TEST_CASE(the_reports_of_all_nodes_are_summed_over_the_period) {
    write(0, {{at(0), {{"operations 0", 0}}},
              {at(10), {{"operations 0", 4}, {"waited.allreduce 0", 2}, {"waited_for.1 0", 2}}},
              {at(20), {{"operations 0", 3}, {"waited.allreduce 0", 1}, {"waited_for.1 0", 1}}}});
    write(2, {{at(5), {{"operations 1", 0}}}});
    auto const waits = load({at(20), 60s});
    BOOST_REQUIRE(waits.size() == 2u);
    BOOST_TEST(waits.at(0).node == 0);
    BOOST_TEST(waits.at(0).operations == 7.0);
    BOOST_TEST(waits.at(0).seconds_in.at("allreduce") == 3.0);
    BOOST_TEST(waits.at(0).seconds_for.at(1) == 3.0);
    BOOST_TEST(waits.at(0).waited_s() == 3.0);
    BOOST_TEST(waits.at(1).node == 2);
    BOOST_TEST(waits.at(1).waited_s() == 0.0);
}

BOOST_AUTO_TEST_CASE(a_report_counts_from_the_begin_of_the_period_on_and_its_rank_is_known_before) {
    write(0, {{at(0), {{"operations 0", 9}, {"waited.barrier 0", 9}}},
              {at(1), {{"operations 1", 0}, {"waited.barrier 1", 5}}}});
    auto const after_first = load({at(60), 60s});
    BOOST_TEST(after_first.at(0).waited_s() == 0.0);
    BOOST_TEST(after_first.at(0).node == 0);
    BOOST_TEST(after_first.at(1).waited_s() == 5.0);
    BOOST_TEST(load({at(61), 60s}).at(1).waited_s() == 0.0);
}

BOOST_AUTO_TEST_CASE(without_an_end_the_period_ends_with_the_last_report_of_any_node) {
    write(0, {{at(0), {{"operations 0", 1}, {"waited.barrier 0", 5}}}});
    write(1, {{at(60), {{"operations 1", 1}, {"waited.barrier 1", 7}}}});
    auto const waits = load({});
    BOOST_TEST(waits.at(0).waited_s() == 0.0);
    BOOST_TEST(waits.at(1).waited_s() == 7.0);
}

BOOST_AUTO_TEST_CASE(values_and_names_that_make_no_sense_are_ignored) {
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    auto const infinity = std::numeric_limits<double>::infinity();
    write(0, {{at(1),
               {{"waited.barrier 0", nan},
                {"waited.allreduce 0", infinity},
                {"waited.reduce 0", -1},
                {"waited.gather 0", 1.1e15},
                {"waited_for.-1 0", 1},
                {"waited_for.x 0", 1},
                {"waited.barrier", 1},
                {"waited.barrier -2", 1},
                {"unknown 0", 1}}},
              {at(1), {{"waited.barrier 5", 1}}, "cpu"}});
    auto const waits = load({at(1), 60s});
    BOOST_REQUIRE(waits.size() == 1u);
    BOOST_TEST(waits.at(0).seconds_in.empty());
    BOOST_TEST(waits.at(0).seconds_for.empty());
}

BOOST_AUTO_TEST_CASE(a_torn_end_is_ignored_and_other_contents_are_damage) {
    write(0, {{at(1), {{"waited.barrier 0", 1}}}});
    write(0, {{at(2), {{"waited.barrier 0", 2}}}});
    auto const bytes = must(read_file(run.node_waits(0)));
    BOOST_TEST(load({at(2), 60s}).at(0).waited_s() == 3.0);
    must(write_file(run.node_waits(0), bytes.substr(0, bytes.size() - 1)));
    BOOST_TEST(load({at(2), 60s}).at(0).waited_s() == 1.0);
    must(write_file(run.node_waits(0), bytes.substr(0, 3)));
    BOOST_TEST(load({at(2), 60s}).empty());
    must(write_file(run.node_waits(0), std::string(100, 'x')));
    auto const error = must_fail(load_waits(run, 3, {}));
    BOOST_TEST((error.code == codes::damaged), error.code.name);
}

BOOST_AUTO_TEST_SUITE_END()
