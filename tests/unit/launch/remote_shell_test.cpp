#include <det/foundation/text.hpp>
#include <det/launch/launchers/remote_command.hpp>

#include <boost/test/unit_test.hpp>

#include "check_result.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::launch::launchers;

namespace remote_shell_test {

Environment job(std::string const& run_key = "") {
    return Environment({{"SLURM_JOB_NODELIST", "n[0-3]"},
                        {"SLURMD_NODENAME", "n2"},
                        {"SLURM_JOB_CPUS_PER_NODE", "8(x3),4"},
                        {"SLURM_CPUS_ON_NODE", "8"},
                        {"SLURM_GPUS_ON_NODE", "2"},
                        {"DET_RUN_KEY", run_key}});
}

}  // namespace remote_shell_test

BOOST_AUTO_TEST_SUITE(remote_shell_test)

BOOST_AUTO_TEST_CASE(command_lines_for_ssh_are_accepted) {
    struct Case {
        std::vector<std::string> arguments;
        RemoteCommand expected;
    };
    std::vector<Case> const cases{
        {{"n1", "hostname"}, {"n1", "hostname"}},
        {{"n1", "echo", "a  b", "$HOME"}, {"n1", "echo a  b $HOME"}},
        // horovodrun
        {{"-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "n1", "-p", "12350", "-i",
          "key", "-o", "ConnectTimeout=3", "bash -c \"cd /x; true\""},
         {"n1", "bash -c \"cd /x; true\""}},
        // pdsh
        {{"-2", "-a", "-x", "-lresearcher", "n1", "cd /x;", "python3", "-u", "train.py"},
         {"n1", "cd /x; python3 -u train.py"}},
        // mpirun
        {{"-x", "n1", "orted", "-mca", "ess", "\"env\""}, {"n1", "orted -mca ess \"env\""}},
        {{"-nqT", "-p22", "me@n1", "--", "-odd"}, {"n1", "-odd", false}},
        {{"-tt", "n1", "-n", "cat"}, {"n1", "cat", false}},
        {{"-V"}, {"", "", true, true}},
    };
    for (auto const& [arguments, expected] : cases) {
        BOOST_TEST((must(parse_arguments(arguments)) == expected), join(arguments, " "));
    }
}

BOOST_AUTO_TEST_CASE(what_ssh_refuses_is_refused) {
    for (std::vector<std::string> const& arguments : std::vector<std::vector<std::string>>{
             {}, {"n1"}, {"-n"}, {"-p"}, {"n1", "-o"}, {"-Z", "n1", "x"}, {"me@", "x"}, {"n1", "--"}}) {
        BOOST_TEST((must_fail(parse_arguments(arguments)).code == codes::usage), join(arguments, " "));
    }
}

BOOST_AUTO_TEST_CASE(a_command_becomes_an_overlapping_step_with_the_nodes_whole_share) {
    auto const line = [](RemoteCommand const& command, Environment const& environment) {
        return join(slurm::render_srun(must(plan_step(command, environment, "/opt/w"))), "\n") + "\n";
    };
    check_golden("launch/det_rsh.txt", line({"n1", "echo $X"}, job()));
    check_golden("launch/det_rsh_in_a_run.txt", line({"n1.cluster.example", "cat", false}, job("7.3.2")));
}

BOOST_AUTO_TEST_CASE(a_command_of_a_run_waits_for_the_setup_of_its_node) {
    auto environment = job("7.3.2");
    environment.set("DET_SETUP", "1");
    auto const command = must(plan_step({"n1", "cat"}, environment, "/opt/w")).command;
    BOOST_REQUIRE(command.size() == 9u);
    BOOST_TEST(command.at(1) == "--node");
    BOOST_TEST(command.at(5) == "setup");
    BOOST_TEST(command.at(8) == "cat");
}

BOOST_AUTO_TEST_CASE(hosts_are_nodes_of_this_job) {
    auto const node = [](std::string const& host) {
        return must(plan_step({host, "x"}, job(), "/opt/w")).nodes.at(0);
    };
    BOOST_TEST(node("n3") == "n3");
    BOOST_TEST(node("n3.local") == "n3");
    BOOST_TEST(node("localhost") == "n2");
    BOOST_TEST(node("127.0.0.1") == "n2");
    auto const error = must_fail(plan_step({"n4", "x"}, job(), "/opt/w"));
    BOOST_TEST(error.message == "'n4' is no node of this job, which has n[0-3]");
    BOOST_TEST((must_fail(plan_step({"n1", "x"}, {}, "/opt/w")).code == codes::not_in_slurm));
}

BOOST_AUTO_TEST_SUITE_END()
