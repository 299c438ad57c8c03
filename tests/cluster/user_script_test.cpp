// Batch scripts that users write themselves: with #SBATCH --det and the plugin, or with det-wrap-rank and no
// plugin.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"

using namespace det;

namespace user_script {

LoopbackOptions four_nodes(LoopbackOptions::Plugin plugin) {
    LoopbackOptions options;
    options.nodes = 4;
    options.plugin = plugin;
    return options;
}

struct WithPlugin : LoopbackCluster {
    WithPlugin() : LoopbackCluster(four_nodes(LoopbackOptions::Plugin::when_built)) {}

    /// Submits a script, waits for its end and returns its output, without what srun says when it waits until
    /// the step before has ended.
    std::string run_script(std::string const& script) const { return run_script_on(*this, script); }
    static std::string run_script_on(LoopbackCluster const& cluster, std::string const& script) {
        must(write_file(cluster.home() / "script", "#!/bin/bash\n" + script, 0644));
        return cluster.shell(
            "rm -f out; sbatch --quiet --wait --output=out script; "
            "sed -E '/^srun: (Job [0-9]+ s|S)tep creat(ion temporarily disabled|ed for )/d' out");
    }
};

std::vector<std::string> sorted_lines(std::string const& text) {
    std::vector<std::string> lines;
    for (auto const line : split_lines(text)) lines.emplace_back(line);
    std::ranges::sort(lines);
    return lines;
}

/// A command that prints the identity of its task on one line.
constexpr char print_identity[] =
    R"sh('echo "rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $CROSS_RANK chief $MASTER_ADDR)sh"
    R"sh( $DET_SLOT_IDS $DET_SLOT_COUNTS $DET_AGENT_ID $(ls $DET_RUN_DIR/info | xargs)"')sh";

std::string const with_plugin = fmt::format("srun bash -c {}\n", print_identity);
std::string const with_wrapper =
    fmt::format("export DET_SPANK=auto\nsrun det-wrap-rank SLURM_PROCID bash -c {}\n", print_identity);

}  // namespace user_script

BOOST_AUTO_TEST_SUITE(user_script)

BOOST_FIXTURE_TEST_CASE(sixteen_ranks_on_four_nodes_know_who_they_are, WithPlugin) {
    auto const lines =
        sorted_lines(run_script("#SBATCH --det\n#SBATCH --nodes=4 --ntasks-per-node=4\n" + with_plugin));
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
    // No files remain on the nodes.
    BOOST_TEST(shell("srun --nodes=4 sh -c 'find /tmp -path \"*/det-*/*\"'") == "");
}

BOOST_AUTO_TEST_CASE(the_wrapper_alone_gives_a_script_the_same_identity) {
    WithPlugin with;
    LoopbackCluster without(four_nodes(LoopbackOptions::Plugin::off));
    std::string const uneven = "#SBATCH --nodes=2 --ntasks=3\n";
    auto const asked = sorted_lines(with.run_script("#SBATCH --det\n" + uneven + with_plugin));
    BOOST_REQUIRE(asked.size() == 3u);
    BOOST_TEST(asked[2] ==
               "[rank=2] rank 2/3 local 0/1 node 1 chief n0 [0] 2,1 n1 "
               "cluster.json rendezvous.json resources.json");
    // A script with the wrapper gives the same result where the plugin is loaded.
    BOOST_TEST(sorted_lines(with.run_script(uneven + with_wrapper)) == asked,
               boost::test_tools::per_element());
    BOOST_TEST(sorted_lines(WithPlugin::run_script_on(without, uneven + with_wrapper)) == asked,
               boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(all_ranks_get_the_same_port_and_the_chief_can_listen_on_it, WithPlugin) {
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

BOOST_FIXTURE_TEST_CASE(the_chief_is_where_slurm_has_placed_rank_0, WithPlugin) {
    auto const placed = run_script(
        "#SBATCH --det --nodes=3\n"
        "srun --ntasks=3 --distribution=arbitrary --nodelist=n2,n0,n1 sh -c "
        "'echo $RANK on $SLURMD_NODENAME, chief $MASTER_ADDR $DET_CHIEF_IP' | sort");
    BOOST_TEST(placed == "0 on n2, chief n2 n2\n1 on n0, chief n2 n2\n2 on n1, chief n2 n2");
}

BOOST_FIXTURE_TEST_CASE(options_choose_the_launcher_and_the_log_files, WithPlugin) {
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

BOOST_FIXTURE_TEST_CASE(variables_that_a_script_or_submitit_sets_are_left_to_it, WithPlugin) {
    std::string const header = "#SBATCH --nodes=2 --ntasks-per-node=1 --det";
    std::string const step =
        "srun sh -c 'echo ${RANK-none} ${MASTER_ADDR-none} ${MASTER_PORT:+port} $CROSS_RANK "
        "$(ls $DET_RUN_DIR/info | wc -l)' | sort\n";
    auto const usual = run_script(header + "\n" + step);
    auto const infos = usual.substr(usual.rfind(' '));  // files of ClusterInfo
    auto const lines = [&](std::string_view first, std::string_view second) {
        return fmt::format("{} 0{}\n{} 1{}", first, infos, second, infos);
    };
    BOOST_TEST(usual == lines("0 n0 port", "1 n0 port"));
    auto const chosen = "export MASTER_ADDR=n0-ib WORLD_SIZE=7\n" + step;
    BOOST_TEST(run_script(header + "\n" + chosen) == lines("0 n0-ib port", "1 n0-ib port"));
    BOOST_TEST(run_script(header + "=env\n" + chosen) == lines("0 n0 port", "1 n0 port"));
    auto const submitit = "export SUBMITIT_EXECUTOR=slurm\n" + step;
    BOOST_TEST(run_script(header + "\n" + submitit) == lines("none none", "none none"));
    BOOST_TEST(run_script(header + "=env\n" + submitit) == lines("0 n0 port", "1 n0 port"));
    // A job that a rank of another job submits inherits that rank's variables.
    must(write_file(home() / "inner", "#!/bin/bash\n" + header + "\n" + step, 0644));
    BOOST_TEST(run_script("#SBATCH --ntasks=1 --det\n"
                          "srun sh -c 'sbatch --quiet --wait --output=inner.out inner'; cat inner.out") ==
               fmt::format("0 n1 port 0{}\n1 n1 port 1{}", infos, infos));
}

BOOST_FIXTURE_TEST_CASE(labels_stay_out_of_what_a_script_reads_as_data, WithPlugin) {
    std::string const tasks = "#SBATCH --nodes=2 --ntasks-per-node=2\n";
    std::string const steps =
        "ip=$(srun $det --nodes=1 --ntasks=1 hostname --ip-address)\n"
        "[[ $ip =~ ^[0-9.]+$ ]] && echo an address\n"
        "echo captured $(srun $det sh -c 'echo $RANK' | sort)\n"
        "srun $det sh -c 'echo $RANK' >redirected; echo redirected $(sort redirected)\n"
        "for i in 1; do srun $det sh -c 'echo $RANK'; done >loop; echo loop $(sort loop)\n"
        "srun $det --output=named sh -c 'echo $RANK'; echo named $(sort named)\n"
        "srun $det sh -c 'printf \"\\000\"' | wc --bytes\n"
        "srun $det --nodes=1 --ntasks=1 echo alone\n"
        "srun $det sh -c 'echo $RANK to the log'\n"
        "srun $det sh -c 'echo $RANK captured; echo $RANK to the log >&2' | sort\n";
    std::vector<std::string> expected{
        "an address", "captured 0 1 2 3", "redirected 0 1 2 3", "named 0 1 2 3", "4",
        "alone",      "loop 0 1 2 3"};
    for (int rank = 0; rank < 4; ++rank) {
        expected.push_back(fmt::format("{} captured", rank));
        for (int times = 0; times < 2; ++times)
            expected.push_back(fmt::format("[rank={0}] {0} to the log", rank));
    }
    std::ranges::sort(expected);
    BOOST_TEST(sorted_lines(run_script("#SBATCH --det\n" + tasks + steps)) == expected,
               boost::test_tools::per_element());
    // With the option at each step the plugin does not know the job's own files: it asks the shell, which
    // writes to the file while it runs the loop.
    std::erase(expected, "loop 0 1 2 3");
    auto lines = sorted_lines(run_script(tasks + "det=--det\n" + steps));
    std::erase_if(lines, [](auto const& line) { return line.starts_with("loop "); });
    BOOST_TEST(lines == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(the_log_has_the_labels_that_data_must_not_have, WithPlugin) {
    run_script(
        "#SBATCH --det-log=kept.log --ntasks=2\n"
        "srun sh -c 'echo $RANK' | sort >data\n");
    BOOST_TEST(shell("cat data") == "0\n1");
    BOOST_TEST(shell("cut -d ' ' -f 2- kept.log | sort") == "[rank=0] 0\n[rank=1] 1");
}

BOOST_FIXTURE_TEST_CASE(det_bench_runs_collectives_on_a_node_and_between_nodes, WithPlugin) {
    for (auto const& [nodes, way] :
         {std::pair(1, "shared memory, pipeline"), std::pair(2, "shared memory, ")}) {
        // If the other node disconnects first, UCX and Open MPI write a warning to stdout. UCX_LOG_LEVEL
        // silences UCX; Open MPI's warning comes after the row.
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

BOOST_FIXTURE_TEST_CASE(a_wrong_option_value_is_refused_at_submission, WithPlugin) {
    must(write_file(home() / "wrong", "#!/bin/bash\n#SBATCH --det-launch=nodes\ntrue\n", 0644));
    auto const refused = login("researcher", {"sbatch", (home() / "wrong").string()});
    BOOST_TEST(refused.exit_code != 0);
    BOOST_TEST(refused.err.find("--det-launch='nodes': it is node or rank") != std::string::npos,
               refused.err);
    BOOST_TEST(login("researcher", {"srun", "--det=maybe", "true"}).exit_code != 0);
}

BOOST_FIXTURE_TEST_CASE(batch_steps_and_jobs_without_the_option_get_no_variables, WithPlugin) {
    auto const ours = "env | grep -E '^(DET_(RUN|SPANK|TASK|SLOT)|RANK=|MASTER_)' | grep -v SPANK_OPTION";
    BOOST_TEST(run_script(fmt::format("#SBATCH --det\n{}\ntrue", ours)) == "");
    BOOST_TEST(shell(fmt::format("srun sh -c \"{}\" || true", ours)) == "");
    // A script that is submitted from within a run inherits the variables of the run but does not belong to
    // it.
    BOOST_TEST(run_script("export DET_SPANK=auto DET_RUN_KEY=7.0.0-1_0-0 DET_RUN_JOB=1 DET_RUN_PATH=/x\n"
                          "srun sh -c 'echo ${RANK-none}'") == "none");
    BOOST_TEST(
        run_script("export DET_RUN_KEY=7.0.0-1_0-0 DET_RUN_JOB=1 DET_RUN_PATH=/x DET_EXPERIMENT_PATH=/x\n"
                   "srun --det sh -c 'echo ${RANK-none} ${DET_RUN_PATH-none}'") == "0 none");
}

BOOST_FIXTURE_TEST_CASE(sigterm_from_slurm_reaches_the_command_of_a_step, WithPlugin) {
    auto const out = run_script(
        "#SBATCH --det\n"
        "srun bash -c 'trap \"echo got it; exit 0\" TERM; touch up; while :; do sleep 0.1; done' &\n"
        "while [ ! -e up ]; do sleep 0.05; done\n"
        "scancel --signal=TERM $SLURM_JOB_ID.0\nwait");
    // The shell may also print that its sleep was terminated.
    BOOST_TEST(out.find("got it") != std::string::npos, out);
}

BOOST_FIXTURE_TEST_CASE(multi_prog_tasks_get_their_identity_too, WithPlugin) {
    // Before Slurm 23.11 the plugin can't put the wrapper in front of --multi-prog tasks. A det-wrap-rank
    // that they call themselves must not treat this as an error.
    must(write_file(home() / "programs", "0 sh -c 'exec det-wrap-rank $RANK echo zero'\n1 printenv RANK\n",
                    0644));
    auto const lines = sorted_lines(run_script("#SBATCH --det --ntasks=2\nsrun --multi-prog programs"));
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST((lines[0] == "1" || lines[0] == "[rank=0] zero"), lines[0]);
    BOOST_TEST(lines[1].ends_with(lines[0] == "1" ? "[rank=0] zero" : "1"), lines[1]);
}

BOOST_FIXTURE_TEST_CASE(no_setting_of_a_user_drains_a_node, WithPlugin) {
    // "required" is the strictest setting: a job fails if the plugin fails.
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

BOOST_AUTO_TEST_CASE(python_ranks_of_several_nodes_find_each_other_by_the_home_directory) {
    LoopbackCluster const cluster(four_nodes(LoopbackOptions::Plugin::off));
    must(write_file(cluster.home() / "train.py", R"py(import os
import determined as det

def number(name):
    return int(os.environ["SLURM_" + name])

def connect():
    if "TORCHELASTIC_RUN_ID" in os.environ:
        return det.core.DistributedContext.from_torch_distributed()
    size, nodes = number("NTASKS"), number("NNODES")
    return det.core.DistributedContext(
        rank=number("PROCID"), size=size, local_rank=number("LOCALID"), local_size=size // nodes,
        cross_rank=number("NODEID"), cross_size=nodes, chief_ip=os.environ["CHIEF"])

with connect() as ranks:
    names = ranks.allgather(os.uname().nodename)
    local = ranks.allgather_local(ranks.rank)
os.write(1, f"{ranks.rank} of {names} {local}\n".encode())  # print() writes in pieces if it is not buffered
)py",
                    0644));
    std::vector<std::string> const expected{
        "0 of ['n0', 'n0', 'n1', 'n1'] [0, 1]", "1 of ['n0', 'n0', 'n1', 'n1'] [0, 1]",
        "2 of ['n0', 'n0', 'n1', 'n1'] [2, 3]", "3 of ['n0', 'n0', 'n1', 'n1'] [2, 3]"};
    for (std::string const command :
         {"CHIEF=n0 srun --ntasks=4 /usr/bin/python3 train.py",
          "CHIEF=$(getent hosts n0 | cut -d ' ' -f 1) srun --ntasks=4 /usr/bin/python3 train.py",
          // torchrun gives the address. torch 1.13 needs the redirects on Python 3.11.
          "srun --ntasks=2 /usr/bin/python3 -m torch.distributed.run --nnodes 2 --nproc_per_node 2 "
          "--rdzv_id 1 --rdzv_backend c10d --rdzv_endpoint n0:29500 --redirects 9:1 --tee 9:1 train.py "
          "2>warnings"}) {
        BOOST_TEST_CONTEXT(command) {
            auto const lines = sorted_lines(WithPlugin::run_script_on(
                cluster,
                "#SBATCH --nodes=2 --exclusive\n"
                "export PYTHONPATH=$(dirname $(command -v det-submit))/../lib/det-submit/python\n" +
                    command + "\n"));
            BOOST_TEST(join(lines, "\n") == join(expected, "\n"));
        }
    }
    BOOST_TEST(cluster.shell("ls .cache/det-submit/ranks") == "");
}

BOOST_AUTO_TEST_SUITE_END()
