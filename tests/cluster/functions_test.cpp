// Python functions as jobs, by determined.executor, on a real Slurm: the program functions_on_slurm.py, as a
// plain user.
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fmt/format.h>

#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace functions_test {

constexpr char const* program = "functions_on_slurm.py";

/// Two nodes, whose CPUs the jobs share.
LoopbackOptions with_shared_nodes(int grace_s) {
    LoopbackOptions options;
    options.profile = "shared";
    options.grace_s = grace_s;
    return options;
}

/// Runs the tests of a class of the program.
void run_tests(std::string const& name, int grace_s) {
    LoopbackCluster const site(with_shared_nodes(grace_s));
    std::filesystem::copy_file(det::test::source_path(std::string("tests/cluster/programs/") + program),
                               site.home() / program);
    auto const ended = site.login(
        "researcher",
        {"sh", "-c",
         fmt::format("cd && PYTHONPATH=$(dirname $(command -v det-submit))/../lib/det-submit/python python3 "
                     "-B {} -v {} 2>&1",
                     program, name)},
        300s);
    BOOST_TEST_MESSAGE(ended.out);
    BOOST_TEST(ended.exit_code == 0, ended.out << ended.err);
    BOOST_TEST(ended.out.find("skipped") == std::string::npos, ended.out);
}

}  // namespace functions_test

BOOST_AUTO_TEST_SUITE(functions_test)

BOOST_AUTO_TEST_CASE(functions_are_submitted_interrupted_and_give_their_results) { run_tests("Slurm", 30); }

BOOST_AUTO_TEST_CASE(a_preemption_without_a_grace_period_loses_nothing) { run_tests("WithoutGrace", 0); }

BOOST_AUTO_TEST_SUITE_END()
