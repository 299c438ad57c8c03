// Tests the program det-bench, which starts its ranks.
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/protocol/document.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "operation.hpp"
#include "test_paths.hpp"

using namespace det;

namespace det_bench_test {

ProcessOutput det_bench(std::vector<std::string> const& words, Environment const& environment = {}) {
    std::vector<std::string> argv{det::test::built_path("bin/det-bench")};
    argv.insert(argv.end(), words.begin(), words.end());
    SystemProcessRunner runner;
    return must(runner.run({argv, environment}));
}

}  // namespace det_bench_test

BOOST_AUTO_TEST_SUITE(det_bench_test)

BOOST_AUTO_TEST_CASE(two_ranks_of_this_machine_measure_all_operations) {
    auto const output = det_bench(
        {"collectives", "--ranks", "2", "--op", "all", "--sizes", "8,64K", "--iterations", "10", "--json"});
    BOOST_TEST(output.exit_code == 0);
    BOOST_TEST(output.err == "");
    auto const lines = split_lines(output.out);
    BOOST_REQUIRE(lines.size() == 2 * measure::all_operations().size());
    for (auto const line : lines) {
        auto const row = parse_json(line);
        BOOST_TEST(row["ranks"] == 2, line);
        BOOST_TEST(row["wrong"] == 0, line);
        BOOST_TEST(row["iterations"] == 10, line);
        BOOST_TEST(row["min_us"].get<double>() > 0, line);
        BOOST_TEST(row["min_us"].get<double>() <= row["mean_us"].get<double>() * 1.0001, line);
        BOOST_TEST(row["mean_us"].get<double>() <= row["max_us"].get<double>() * 1.0001, line);
        BOOST_TEST(row["way"].get<std::string>().starts_with("shared memory"), line);
    }
}

BOOST_AUTO_TEST_CASE(a_table_has_a_heading_and_a_line_for_each_size) {
    auto const output = det_bench({"collectives", "--ranks=2", "--sizes=4:64:4", "--iterations=3",
                                   "--memory=plain", "--dtype=float16"});
    BOOST_TEST(output.exit_code == 0, output.err);
    auto const lines = split_lines(output.out);
    BOOST_REQUIRE(lines.size() == 5u);
    BOOST_TEST(lines[0] == "# 2 ranks on 1 node, float16, ordinary memory");
    BOOST_TEST(lines[1].starts_with("operation "));
    BOOST_TEST(lines[4].starts_with("allreduce              64 "));
}

BOOST_AUTO_TEST_CASE(a_program_that_is_started_by_hand_is_a_single_rank) {
    auto const output = det_bench({"collectives", "--sizes=4", "--iterations=3", "--json"});
    BOOST_TEST(output.exit_code == 0, output.err);
    BOOST_TEST(parse_json(output.out)["ranks"] == 1);
}

BOOST_AUTO_TEST_CASE(wrong_command_lines_end_with_the_code_for_them) {
    BOOST_TEST(det_bench({}).exit_code == 2);
    BOOST_TEST(det_bench({"colectives"}).exit_code == 2);
    auto const wrong = det_bench({"collectives", "--sizes", "4:x"});
    BOOST_TEST(wrong.exit_code == 2);
    BOOST_TEST(wrong.err.starts_with("det-bench: error: 'x' is no size [usage]\n"));
    BOOST_TEST(wrong.out == "");
    auto const no_launcher = det_bench({"collectives", "--peer", "mpi"});
    BOOST_TEST(no_launcher.exit_code == 2);
    BOOST_TEST(no_launcher.err.find("no MPI launcher has started this rank") != std::string::npos);
    Environment rank;
    rank.set("RANK", "0");
    BOOST_TEST(det_bench({"collectives", "--ranks", "2"}, rank).exit_code == 2);
}

BOOST_AUTO_TEST_CASE(help_is_the_manual) {
    auto const help = det_bench({"collectives", "--help"});
    BOOST_TEST(help.exit_code == 0);
    BOOST_TEST(help.out.starts_with("# det-bench collectives: "));
    for (auto const* option : {"--sizes", "--op", "--dtype", "--iterations", "--memory", "--transport",
                               "--ranks", "--peer", "--json"}) {
        BOOST_TEST(help.out.find(option) != std::string::npos, option);
    }
    BOOST_TEST(det_bench({"--help"}).exit_code == 0);
}

BOOST_AUTO_TEST_SUITE_END()
