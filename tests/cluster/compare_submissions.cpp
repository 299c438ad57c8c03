// The program of tests/cluster/run-script, with Boost.Test's main(), which LoopbackCluster needs.
#include <det/command_line/options.hpp>

#include <boost/test/unit_test.hpp>
#include <iostream>
#include <memory>

#include "batch_script.hpp"
#include "check_result.hpp"

using namespace det;

namespace compare_submissions {

struct Arguments {
    LoopbackOptions cluster;
    std::string running;  // the name of a cluster that is up
    bool is_quick = false;
    std::string script;
    std::vector<std::string> arguments;
};

Arguments parse_arguments() {
    Arguments given;
    given.cluster.slots = 2;
    given.cluster.slurm_options = {test::first_job_id};
    std::vector<command_line::Option> const options{
        {"--nodes", &given.cluster.nodes, "nodes of the cluster"},
        {"--slots", &given.cluster.slots, "GPUs of each node"},
        {"--grace", &given.cluster.grace_s, "seconds between the notice of a preemption and the end"},
        {"--cluster", &given.running, "a cluster that is up, in place of a new one"},
        {"--quick", &given.is_quick, "only an undisturbed sbatch and the two runs by experiment create"},
    };
    auto const& suite = boost::unit_test::framework::master_test_suite();
    std::vector<std::string> const words(suite.argv + 1, suite.argv + suite.argc);
    auto parsed = must(command_line::parse(options, words, command_line::Words::leading));
    if (parsed.asks_for_help || parsed.remaining.empty()) {
        BOOST_FAIL("usage: run-script [OPTIONS] FILE [ARGS]\n" + command_line::render_options(options));
    }
    given.script = parsed.remaining.front();
    given.arguments.assign(parsed.remaining.begin() + 1, parsed.remaining.end());
    given.cluster.plugin = LoopbackOptions::Plugin::when_built;
    return given;
}

}  // namespace compare_submissions

BOOST_AUTO_TEST_CASE(a_script_is_run_in_all_ways) {
    auto const given = compare_submissions::parse_arguments();
    BOOST_REQUIRE_MESSAGE(path_exists(given.script), "there is no " << given.script);
    auto const cluster = given.running.empty()
                             ? std::make_unique<LoopbackCluster>(given.cluster)
                             : std::make_unique<LoopbackCluster>(RunningCluster{given.running});
    std::cout << test::compare_submissions(test::BatchScript(*cluster, given.script, given.arguments),
                                           given.is_quick ? test::Rows::experiment : test::Rows::all);
}
