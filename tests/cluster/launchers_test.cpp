// Every launcher on a real Slurm with 16 ranks on 4 nodes, with and without the plugin. A failing rank ends
// all ranks.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;

namespace launchers_on_a_cluster {

namespace fs = std::filesystem;
using Plugin = LoopbackOptions::Plugin;
constexpr int ranks = 16;

LoopbackOptions four_nodes(Plugin plugin) {
    LoopbackOptions options;
    options.nodes = 4;
    options.plugin = plugin;
    return options;
}

/// A cluster with fake horovodrun and deepspeed programs, which start their workers by ssh and pdsh.
class LauncherCluster : public LoopbackCluster {
public:
    explicit LauncherCluster(Plugin plugin) : LoopbackCluster(four_nodes(plugin)) {
        fs::copy(det::test::source_path("tests/support/launchers"), home() / "bin");
        for (auto const* folder : {"/bin", "/bin/horovodrun", "/bin/deepspeed", "/bin/torch_sum.py"}) {
            fs::permissions(home().string() + folder, fs::perms(0755));
        }
        shell(
            "mkdir code && cp bin/*.py code && cat > base.yaml <<'EOF'\n"
            "name: launchers\nentrypoint: 'true'\nmax_restarts: 0\n"
            "searcher: {name: single, metric: loss}\nresources: {slots_per_trial: 16}\nEOF");
    }

    int create(std::string const& entrypoint, std::string const& more = "") const {
        auto const answer = shell(fmt::format(
            "PATH=$HOME/bin:$PATH det-submit experiment create base.yaml code --json {} --config {}", more,
            quote_for_shell("entrypoint=" + entrypoint)));
        return nlohmann::json::parse(answer)["id"].get<int>();
    }
    /// Waits for the end of the experiment and returns the exit code of its run.
    int finish(int experiment) const {
        auto const waited =
            login("researcher",
                  {"det-submit", "experiment", "wait", std::to_string(experiment), "--timeout", "150"},
                  std::chrono::seconds(160));
        auto const described =
            nlohmann::json::parse(shell(fmt::format("det-submit experiment describe {} --json", experiment)));
        auto const run = described["trials"][0]["runs"][0];
        BOOST_REQUIRE_MESSAGE(run["exit_code"].is_number(), waited.err << logs(experiment));
        return run["exit_code"].get<int>();
    }
    std::string slurm_output(int experiment) const {
        return shell(fmt::format("cat ../../det/experiments/{}/slurm-*.out", experiment));
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {} | sed 's/^[^ ]* //'", experiment)) + "\n";
    }
};

/// Checks that each rank has printed a line like "[rank=5] I am 5 on n1".
void check_all_ranks_printed(std::string const& logs, std::string const& more) {
    for (int rank = 0; rank < ranks; ++rank) {
        auto const line = fmt::format("[rank={0}] I am {0} on n{1}{2}\n", rank, rank / 4, more);
        auto const found = logs.find("\n" + line);
        bool const was_found = found != std::string::npos || logs.starts_with(line);
        BOOST_TEST(was_found, "no '" << line << "' in\n" << logs);
        if (!was_found) return;
    }
}

struct Launcher {
    std::string name;  // "": det-launch starts the processes itself
    std::string rank_variable;
};
std::vector<Launcher> const launchers{{"", "RANK"},
                                      {"torch_distributed", "RANK"},
                                      {"horovod", "HOROVOD_RANK"},
                                      {"deepspeed", "RANK"},
                                      {"mpi", "OMPI_COMM_WORLD_RANK"}};

/// The modules of the Python package that become these launchers, with options as in Determined's
/// documentation.
std::vector<Launcher> const modules{{"torch_distributed", "RANK"},
                                    {"horovod --fusion-threshold-mb 1 --cycle-time-ms 2 --", "HOROVOD_RANK"},
                                    {"autohorovod", "HOROVOD_RANK"},
                                    {"deepspeed", "RANK"}};

/// A command for that launcher. "$R" in `script` becomes the rank.
std::string entrypoint(Launcher const& launcher, std::string script,
                       std::string_view prefix = "det-launch ") {
    for (auto at = script.find("$R"); at != std::string::npos; at = script.find("$R", at + 2)) {
        script.replace(at, 2, "$" + launcher.rank_variable);
    }
    return fmt::format("{}{} sh -c '{}'", prefix, launcher.name, script);
}

void check_all_start(LauncherCluster const& cluster, std::vector<Launcher> const& which = launchers,
                     std::string_view prefix = "det-launch ") {
    std::vector<int> experiments;
    for (auto const& launcher : which) {
        experiments.push_back(cluster.create(entrypoint(launcher, "echo I am $R on $(hostname)", prefix)));
    }
    for (std::size_t i = 0; i < which.size(); ++i) {
        BOOST_TEST_CONTEXT("launcher '" << which[i].name << "'") {
            BOOST_TEST(cluster.finish(experiments[i]) == 0);
            check_all_ranks_printed(cluster.logs(experiments[i]), "");
        }
    }
}

void check_ranks_find_each_other(LauncherCluster const& cluster) {
    std::vector<int> experiments;
    for (auto const& launcher : launchers) {
        experiments.push_back(cluster.create(
            fmt::format("det-launch {} det-bench collectives --sizes 4 --iterations 3", launcher.name)));
    }
    for (std::size_t i = 0; i < launchers.size(); ++i) {
        BOOST_TEST_CONTEXT("launcher '" << launchers[i].name << "'") {
            BOOST_TEST(cluster.finish(experiments[i]) == 0);
            auto const logs = cluster.logs(experiments[i]);
            BOOST_TEST(logs.find("[rank=0] # 16 ranks on 4 nodes") != std::string::npos, logs);
        }
    }
}

void check_failures_end_all(LauncherCluster const& cluster) {
    std::vector<int> experiments;
    for (auto const& launcher : launchers) {
        experiments.push_back(
            cluster.create(entrypoint(launcher, "if [ $R = 6 ]; then exit 3; fi; sleep 1000")));
    }
    for (std::size_t i = 0; i < launchers.size(); ++i) {
        BOOST_TEST_CONTEXT("launcher '" << launchers[i].name << "'") {
            auto const exit_code = cluster.finish(experiments[i]);
            BOOST_TEST(exit_code == 3, exit_code << "\n" << cluster.slurm_output(experiments[i]));
        }
    }
}

}  // namespace launchers_on_a_cluster

BOOST_AUTO_TEST_SUITE(launchers_on_a_cluster)

BOOST_AUTO_TEST_CASE(each_launcher_starts_sixteen_ranks_and_returns_the_code_of_a_failing_rank) {
    LauncherCluster const cluster(Plugin::when_built);
    check_all_start(cluster);
    check_ranks_find_each_other(cluster);
    check_failures_end_all(cluster);
}

BOOST_AUTO_TEST_CASE(each_launcher_starts_sixteen_ranks_without_the_plugin_and_torch_ranks_connect) {
    LauncherCluster const cluster(Plugin::off);
    check_all_start(cluster);
    auto const torch = cluster.create("det-launch torch_distributed /usr/bin/python3 torch_sum.py");
    BOOST_TEST(cluster.finish(torch) == 0);
    check_all_ranks_printed(cluster.logs(torch), ", all are 120");

    // A killed rank ends the others soon.
    auto const killed = cluster.create(entrypoint(launchers[1], "[ $R = 9 ] && kill -9 $$; sleep 1000"));
    BOOST_TEST(cluster.finish(killed) == 137);
}

BOOST_AUTO_TEST_CASE(the_modules_of_the_python_package_start_the_same_launchers) {
    LauncherCluster const cluster(Plugin::off);
    check_all_start(cluster, modules, "python3 -m determined.launch.");
    auto const tensorflow =
        cluster.create("python3 -m determined.launch.tensorflow --port 29400 -- python3 tensorflow_sum.py");
    auto const exit_code = cluster.finish(tensorflow);
    auto const logs = cluster.logs(tensorflow);
    BOOST_TEST(exit_code == 0, logs);
    for (int node = 0; node < 4; ++node) {
        auto const line = fmt::format(
            R"([rank={0}] Strategy [0, 1, 2, 3] {{"cluster":)"
            R"({{"worker":["n0:29400","n1:29400","n2:29400","n3:29400"]}},"task":{{"index":{0},"type":"worker"}}}})",
            node);
        BOOST_TEST(logs.find(line) != std::string::npos, "no '" << line << "' in\n" << logs);
    }
}

BOOST_AUTO_TEST_CASE(the_processes_of_a_jax_program_find_each_other) {
    LauncherCluster const cluster(Plugin::off);
    auto const each_slot = cluster.create("det-launch jax python3 jax_sum.py");
    BOOST_TEST(cluster.finish(each_slot) == 0, cluster.logs(each_slot));
    auto logs = cluster.logs(each_slot);
    for (int rank = 0; rank < ranks; ++rank) {
        auto const line = fmt::format("[rank={0}] process {0} of 16 has [{1}], all are 120", rank, rank % 4);
        BOOST_TEST(logs.find(line) != std::string::npos, "no '" << line << "' in\n" << logs);
    }
    auto const halves =
        cluster.create("python3 -m determined.launch.jax --processes-per-node 2 python3 jax_sum.py");
    BOOST_TEST(cluster.finish(halves) == 0, cluster.logs(halves));
    logs = cluster.logs(halves);
    BOOST_TEST(logs.find("[rank=7] process 7 of 8 has [2, 3], all are 28") != std::string::npos, logs);
}

BOOST_AUTO_TEST_CASE(det_rsh_works_like_ssh_inside_a_job) {
    LauncherCluster const cluster(Plugin::off);
    auto const job = [&](std::string const& script) {
        return cluster.shell("cat > job.sh <<'EOF'\n#!/bin/bash\n" + script +
                             "\nEOF\nsbatch -W -N2 --exclusive -o out job.sh || echo failed; cat out");
    };
    BOOST_TEST(job("det-rsh -o BatchMode=yes me@n1 -p 22 'hostname; echo $X' 'two  words'; echo in | det-rsh "
                   "n1 cat\n"
                   "det-rsh n1 exit 7; echo $?; det-rsh nowhere true; echo $?\n"
                   "mpirun -np 2 --map-by node --mca plm rsh --mca plm_rsh_agent det-rsh hostname | sort")
                   .find("n1\ntwo words\nin\n") != std::string::npos);
    auto const output = cluster.shell("cat out");
    for (auto const* part : {"\n7\n", "'nowhere' is no node of this job", "\n255\n", "n0\nn1"}) {
        BOOST_TEST(output.find(part) != std::string::npos, output);
    }
    // The remote command ends however det-rsh ends.
    auto const left =
        job("for signal in TERM KILL; do\n"
            "  det-rsh n1 'echo $$ >pid.new; mv pid.new pid; sleep 1000' & rsh=$!\n"
            "  while [ ! -e pid ]; do sleep 0.05; done\n"
            "  kill -$signal $rsh\n"
            "  for ((i = 0; i < 200; i++)); do det-rsh n1 \"kill -0 $(<pid)\" 2>/dev/null || break; done\n"
            "  echo $signal after $i; rm pid\n"
            "done");
    for (auto const* signal : {"TERM", "KILL"}) {
        BOOST_TEST(left.find(fmt::format("{} after ", signal)) != std::string::npos, left);
        BOOST_TEST(left.find(fmt::format("{} after 200", signal)) == std::string::npos, left);
    }
}

BOOST_AUTO_TEST_SUITE_END()
