// What `trial profile` shows.
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"
#include "trial/profile_summary.hpp"

using namespace det;
using namespace det::cli;

namespace profile_test {

MetricsReported report(std::int64_t time, std::string const& group, std::uint64_t steps, Json metrics) {
    return {UtcTime{time}, group, steps, std::move(metrics)};
}

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    void write_node(std::uint32_t run, int node, std::vector<std::vector<Metric>> const& reports) const {
        auto journal = must(
            journal::JournalWriter::create(ExperimentLayout(root, {1}).trial(0).run(run).node_metrics(node)));
        MetricFrameWriter frames;
        for (auto const& metrics : reports)
            frames.add(UtcTime{1}, metrics[0].name.starts_with("gpu") ? "gpu" : "network", 0, metrics);
        for (auto const& frame : frames.take()) must(journal.append(frame));
    }
};

}  // namespace profile_test

BOOST_FIXTURE_TEST_SUITE(profile_test, Fixture)

BOOST_AUTO_TEST_CASE(a_profile_has_means_and_maxima_per_node) {
    write_node(0, 0,
               {{{"gpu_util GPU-1", 20}, {"gpu_free_memory GPU-1", 8e9}},
                {{"gpu_util GPU-1", 40}, {"gpu_free_memory GPU-1", 6e9}},
                {{"net_throughput_sent", 1234567}, {"net_throughput_recv", NAN}}});
    BOOST_TEST(run("trial profile 1.0") == 0);
    check_golden("cli/trial_profile.txt", out);
    auto const profile = ask("trial profile 1.0");
    BOOST_REQUIRE(profile.size() == 1u);
    auto const& metrics = profile[0]["nodes"][0]["metrics"];
    BOOST_REQUIRE(metrics.size() == 3u);
    BOOST_TEST(metrics[1] == (Json{{"group", "gpu"},
                                   {"name", "gpu_util"},
                                   {"device", "GPU-1"},
                                   {"unit", "%"},
                                   {"mean", 30.0},
                                   {"max", 40.0}}));
}

BOOST_AUTO_TEST_CASE(a_trial_without_a_profile_says_how_to_get_one) {
    BOOST_TEST(run("trial profile 1.0") == 0);
    BOOST_TEST(out.find("profiling: {enabled: true}") != std::string::npos, out);
    BOOST_TEST(ask("trial profile 1.0") == Json::array());
    BOOST_TEST(run("trial profile x") == to_int(ExitCode::absent));
    BOOST_TEST(run("trial profile 99.0") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(only_the_wanted_batches_count) {
    std::vector<MetricsReported> const reports{report(10, "training", 100, Json::object()),
                                               report(20, "training", 200, Json::object()),
                                               report(30, "training", 300, Json::object())};
    auto const all = find_profiled_period(reports, 0, std::nullopt);
    BOOST_TEST((all && all->contains({0}) && all->contains({99})));
    auto const some = find_profiled_period(reports, 150, 300);
    BOOST_REQUIRE(some.has_value());
    BOOST_TEST(!some->contains({19}));
    BOOST_TEST(some->contains({20}));
    BOOST_TEST(some->contains({30}));
    BOOST_TEST(!some->contains({31}));
    BOOST_TEST(!find_profiled_period(reports, 301, std::nullopt).has_value());
    std::vector<Record> const samples{report(5, "cpu", 0, {{"cpu_util_simple", 100}}),
                                      report(25, "cpu", 0, {{"cpu_util_simple", 50}})};
    auto const metrics = summarise_metrics(samples, *some);
    BOOST_REQUIRE(metrics.size() == 1u);
    BOOST_TEST(metrics[0].max == 50);
}

BOOST_AUTO_TEST_CASE(timings_are_summed_over_the_reports) {
    auto const timings =
        sum_timings({report(1, "timing", 0, {{"load.count", 2}, {"load.total_s", 0.5}, {"load.max_s", 0.4}}),
                     report(2, "timing", 0, {{"load.count", 3}, {"load.total_s", 1.0}, {"load.max_s", 0.3}}),
                     report(3, "training", 1, {{"load.count", 99}})},
                    {});
    BOOST_REQUIRE(timings.size() == 1u);
    BOOST_TEST(timings.at("load").count == 5);
    BOOST_TEST(timings.at("load").total_s == 1.5);
    BOOST_TEST(timings.at("load").max_s == 0.4);
}

BOOST_AUTO_TEST_SUITE_END()
