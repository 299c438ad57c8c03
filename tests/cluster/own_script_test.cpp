// Scripts of users' own, with #SBATCH --det where the plugin is, and with the wrapper alone where it is not.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;

namespace {

LoopbackOptions four_nodes(LoopbackOptions::Plugin plugin) {
    LoopbackOptions options;
    options.nodes = 4;
    options.plugin = plugin;
    return options;
}

struct WithPlugin : LoopbackCluster {
    WithPlugin() : LoopbackCluster(four_nodes(LoopbackOptions::Plugin::when_built)) {}

    /// Submits a script and waits for its end. What it wrote.
    std::string run_script(std::string const& script) const { return run_script_on(*this, script); }
    static std::string run_script_on(LoopbackCluster const& cluster, std::string const& script) {
        must(write_file(cluster.home() / "script", "#!/bin/bash\n" + script, 0644));
        return cluster.shell("rm -f out; sbatch --quiet --wait --output=out script; cat out");
    }
};

std::vector<std::string> sorted_lines(std::string const& text) {
    std::vector<std::string> lines;
    for (auto const line : split_lines(text)) lines.emplace_back(line);
    std::ranges::sort(lines);
    return lines;
}

/// What a task shows of itself, on one line.
constexpr char show[] =
    R"sh('echo "rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $CROSS_RANK chief $MASTER_ADDR)sh"
    R"sh( $DET_SLOT_IDS $DET_SLOT_COUNTS $DET_AGENT_ID $(ls $DET_RUN_DIR/info | xargs)"')sh";

std::string const as_asked = fmt::format("srun bash -c {}\n", show);
std::string const by_hand =
    fmt::format("export DET_SPANK=auto\nsrun det-wrap-rank SLURM_PROCID bash -c {}\n", show);

}  // namespace

BOOST_AUTO_TEST_SUITE(own_script)

BOOST_FIXTURE_TEST_CASE(sixteen_ranks_on_four_nodes_know_who_they_are, WithPlugin) {
    auto const lines =
        sorted_lines(run_script("#SBATCH --det\n#SBATCH --nodes=4 --ntasks-per-node=4\n" + as_asked));
    BOOST_REQUIRE(lines.size() == 16u);
    std::vector<std::string> expected;
    for (int rank = 0; rank < 16; ++rank) {
        expected.push_back(
            fmt::format("[rank={0}] rank {0}/16 local {1}/4 node {2} chief n0 [0, 1, 2, 3] 4(x4) n{2} "
                        "cluster.json rendezvous.json resources.json",
                        rank, rank % 4, rank / 4));
    }
    std::ranges::sort(expected);
    BOOST_TEST(lines == expected, boost::test_tools::per_element());
    // And nothing is left on the nodes.
    BOOST_TEST(shell("srun --nodes=4 sh -c 'find /tmp -path \"*/det-*/*\"'") == "");
}

BOOST_AUTO_TEST_CASE(with_the_wrapper_alone_a_script_is_told_the_same) {
    WithPlugin with;
    LoopbackCluster without(four_nodes(LoopbackOptions::Plugin::off));
    std::string const uneven = "#SBATCH --nodes=2 --ntasks=3\n";
    auto const asked = sorted_lines(with.run_script("#SBATCH --det\n" + uneven + as_asked));
    BOOST_REQUIRE(asked.size() == 3u);
    BOOST_TEST(asked[2] ==
               "[rank=2] rank 2/3 local 0/1 node 1 chief n0 [0] 2,1 n1 "
               "cluster.json rendezvous.json resources.json");
    // The plugin does no harm to a script that brings the wrapper.
    BOOST_TEST(sorted_lines(with.run_script(uneven + by_hand)) == asked, boost::test_tools::per_element());
    BOOST_TEST(sorted_lines(WithPlugin::run_script_on(without, uneven + by_hand)) == asked,
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_port_is_the_same_everywhere_and_the_chief_can_listen_on_it, WithPlugin) {
    must(write_file(home() / "listen",
                    "import os, socket\n"
                    "if os.environ['RANK'] == '0':\n"
                    "    socket.create_server(('', int(os.environ['MASTER_PORT'])))\n"
                    "    print('listens')\n",
                    0644));
    auto const ports = run_script(
        "#SBATCH --nodes=2 --ntasks-per-node=2\n"
        "srun --det --det-wrap=off sh -c 'echo $MASTER_PORT' | sort -u\n"
        "srun --det --det-wrap=off python3 listen");
    auto const lines = split_lines(ports);
    BOOST_REQUIRE(lines.size() == 2u);
    auto const port = parse_integer<int>(lines[0]);
    BOOST_REQUIRE(port.has_value());
    BOOST_TEST((*port >= 20'000 && *port < 29'000));
    BOOST_TEST(lines[1] == "listens");
}

BOOST_FIXTURE_TEST_CASE(options_say_who_starts_the_ranks_and_where_lines_are_kept, WithPlugin) {
    auto const by_launcher = sorted_lines(run_script(
        "#SBATCH --det-launch=node --nodes=2 --ntasks-per-node=1 --gres=gpu:2\n"
        "srun bash -c 'echo \"${RANK-none} $DET_SLOT_IDS $DET_SLOT_TYPE\"; det-wrap-rank 7 echo hi'"));
    BOOST_TEST(join(by_launcher, "\n") == "[rank=7] hi\n[rank=7] hi\nnone [0, 1] cuda\nnone [0, 1] cuda");
    run_script("#SBATCH --det-log=kept-%j.log --nodes=2 --ntasks-per-node=1\nsrun echo kept");
    BOOST_TEST(shell("cat kept-*-0.log | cut -d' ' -f2-") == "[rank=0] kept");
    BOOST_TEST(shell("cat kept-*-1.log | cut -d' ' -f2-") == "[rank=1] kept");
    BOOST_TEST(run_script("#SBATCH --det\nsrun --det=off sh -c 'echo ${RANK-none} ${DET_RUN_DIR-none}'") ==
               "none none");
}

BOOST_FIXTURE_TEST_CASE(ranks_of_a_step_measure_their_collectives_on_a_node_and_between_nodes, WithPlugin) {
    for (auto const& [nodes, way] :
         {std::pair(1, "shared memory, pipeline"), std::pair(2, "shared memory, ")}) {
        // UCX says on stdout where the other node was the quicker one to leave, and so does Open MPI, which
        // can't be told not to: behind the row.
        auto const output = run_script(fmt::format(
            "#SBATCH --nodes={0} --ntasks-per-node=2\n"
            "UCX_LOG_LEVEL=fatal srun --det --mpi=pmix det-bench collectives --peer mpi --memory plain "
            "--sizes 1M --iterations 5 --json",
            nodes));
        std::string const label = "[rank=0] ";
        BOOST_REQUIRE_MESSAGE(output.starts_with(label), output);
        auto const line = split_lines(output).front();
        auto const row = nlohmann::json::parse(line.substr(label.size()), nullptr, false);
        BOOST_REQUIRE_MESSAGE(row.is_object(), output);
        BOOST_TEST(row["ranks"] == 2 * nodes);
        BOOST_TEST(row["wrong"] == 0);
        BOOST_TEST(row["peer"]["wrong"] == 0);
        auto const found = row["way"].get<std::string>();
        BOOST_TEST(found.starts_with(way), found);
        BOOST_TEST((found.find("; MPI, ") != std::string::npos) == (nodes > 1), found);
    }
}

BOOST_FIXTURE_TEST_CASE(a_wrong_value_ends_the_submission_with_a_sentence, WithPlugin) {
    must(write_file(home() / "wrong", "#!/bin/bash\n#SBATCH --det-launch=nodes\ntrue\n", 0644));
    auto const refused = login("researcher", {"sbatch", (home() / "wrong").string()});
    BOOST_TEST(refused.exit_code != 0);
    BOOST_TEST(refused.err.find("--det-launch='nodes': it is node or rank") != std::string::npos,
               refused.err);
    BOOST_TEST(login("researcher", {"srun", "--det=maybe", "true"}).exit_code != 0);
}

BOOST_FIXTURE_TEST_CASE(batch_steps_and_jobs_that_do_not_ask_see_nothing_of_us, WithPlugin) {
    auto const ours = "env | grep -E '^(DET_(RUN|SPANK|TASK|SLOT)|RANK=|MASTER_)' | grep -v SPANK_OPTION";
    BOOST_TEST(run_script(fmt::format("#SBATCH --det\n{}\ntrue", ours)) == "");
    BOOST_TEST(shell(fmt::format("srun sh -c \"{}\" || true", ours)) == "");
    // A script that was submitted from within a run has that run's variables, and is no part of it.
    BOOST_TEST(run_script("export DET_SPANK=auto DET_RUN_KEY=7.0.0-1_0-0 DET_RUN_JOB=1 DET_RUN_PATH=/x\n"
                          "srun sh -c 'echo ${RANK-none}'") == "none");
    BOOST_TEST(
        run_script("export DET_RUN_KEY=7.0.0-1_0-0 DET_RUN_JOB=1 DET_RUN_PATH=/x DET_EXPERIMENT_PATH=/x\n"
                   "srun --det sh -c 'echo ${RANK-none} ${DET_RUN_PATH-none}'") == "[rank=0] 0 none");
}

BOOST_FIXTURE_TEST_CASE(the_term_that_slurm_sends_reaches_a_scripts_command, WithPlugin) {
    auto const out = run_script(
        "#SBATCH --det\n"
        "srun bash -c 'trap \"echo got it; exit 0\" TERM; touch up; while :; do sleep 0.1; done' &\n"
        "while [ ! -e up ]; do sleep 0.05; done\n"
        "scancel --signal=TERM $SLURM_JOB_ID.0\nwait");
    // The shell may add that its sleep was terminated.
    BOOST_TEST(out.find("[rank=0] got it") != std::string::npos, out);
}

BOOST_FIXTURE_TEST_CASE(programs_of_their_own_per_task_are_told_too, WithPlugin) {
    // Before Slurm 23.11 nothing can be put in front of them; what they call must not take that for a
    // mistake.
    must(write_file(home() / "programs", "0 sh -c 'exec det-wrap-rank $RANK echo zero'\n1 printenv RANK\n",
                    0644));
    auto const lines = sorted_lines(run_script("#SBATCH --det --ntasks=2\nsrun --multi-prog programs"));
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST((lines[0] == "1" || lines[0] == "[rank=0] zero"), lines[0]);
    BOOST_TEST(lines[1].ends_with(lines[0] == "1" ? "[rank=0] zero" : "1"), lines[1]);
}

BOOST_FIXTURE_TEST_CASE(whatever_a_user_sets_no_node_is_drained, WithPlugin) {
    // The harshest line that a site can write: a plugin without which no job starts.
    auto const plugstack = state() / "etc" / "plugstack.conf";
    auto line = must(read_file(plugstack));
    BOOST_REQUIRE(line.starts_with("optional"));
    must(write_file(plugstack, "required" + line.substr(8), 0644));

    std::string const noise = "$(head -c 60000 /dev/urandom | base64 -w0)";
    std::vector<std::string> const attempts{
        "DET_LOCAL_DIR=/nowhere srun --det true",
        "DET_LOCAL_DIR=/proc srun --det true",
        "DET_RUN_KEY=../../x srun --det true",
        "DET_LAUNCH=$'\\xff\\n' DET_SPANK=auto srun true",
        "DET_RUN_KEY=a DET_RUN_JOB=a DET_RUN_HOSTS='n[' srun --det true",
        "CUDA_VISIBLE_DEVICES=,,,-1,99999999999999999999 srun --det true",
        "DET_SPANK_COMMAND=/no/such srun --det true",
        fmt::format("DET_CLUSTER_ID={0} DET_RUN_HOSTS={0} srun --det true", noise),
        "SLURM_SPANK__SLURM_SPANK_OPTION_det_det_launch=x srun true",
        "_SLURM_SPANK_OPTION_det_det_wrap=x srun --export=ALL true",
        "SPANK_DET=1 SLURM_SPANK__SLURM_SPANK_OPTION_det_det=$'\\xff' srun --det true",
        "srun --det --det-log=/root/no true",
        "srun --det --det-log=%n%N%%%j%s%q true",
        "srun --det --det-wrap=off --det-log=x true",
        "srun --det --nodes=4 --ntasks-per-node=4 sh -c 'kill -KILL $PPID'",
        "srun --det /no/such/program",
        "srun --det --export=NONE true",
        "srun --det --multi-prog /dev/null",
        "sbatch --wait --det-launch=node --wrap 'export SLURM_SPANK__SLURM_SPANK_OPTION_det_det=garbage; "
        "srun --det true; DET_SPANK=auto srun --nodes=9999 true' >/dev/null",
    };
    for (auto const& attempt : attempts) shell("{ " + attempt + "; } >/dev/null 2>&1 || true");
    BOOST_TEST(shell("sinfo --noheader --format=%T | sort -u") == "idle");
    BOOST_TEST(shell("srun --det --nodes=4 true && echo fine") == "fine");
}

BOOST_AUTO_TEST_SUITE_END()
