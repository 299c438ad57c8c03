// Slurm with cgroup v2. The tests run where the machine has no other hierarchy: in
// site-configs/loopback/virtual-machine, whose processors are emulated, so there are few cases and the limits
// of the waits are long. With DET_TEST_PROFILE=cgroup Slurm holds jobs to their own cores, memory and GPUs
// too.
#include <det/foundation/files.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "check_result.hpp"
#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace cgroup_v2_test {

constexpr auto limit = 400s;

LoopbackOptions two_nodes_of_one_slot() {
    auto options = DigitsCluster::with_plugin();
    options.nodes = 2;
    options.slots = 1;
    options.grace_s = 120;
    options.proctrack = "cgroup";
    return options;
}

bool has_limits() {
    auto const* const profile = std::getenv("DET_TEST_PROFILE");
    return profile != nullptr && std::string_view(profile) == "cgroup";
}

struct Site : DigitsCluster {
    Site() : DigitsCluster(two_nodes_of_one_slot()) {}

    void wait_for_end(int experiment) const {
        (void)login("researcher",
                    {"det-submit", "experiment", "wait", std::to_string(experiment),
                     fmt::format("--timeout={}", limit.count())},
                    limit + 20s);
    }
};

}  // namespace cgroup_v2_test

using namespace cgroup_v2_test;

BOOST_AUTO_TEST_SUITE(cgroup_v2_test, *boost::unit_test::precondition([](auto) {
                          return path_exists("/sys/fs/cgroup/cgroup.controllers");
                      }))

BOOST_FIXTURE_TEST_CASE(jobs_are_in_groups_of_cgroup_v2_and_are_preempted_killed_and_told_apart, Site) {
    // The unified hierarchy alone: each process has one line, and a job's is below its node's scope.
    auto const groups = shell("srun --det --nodes=2 sh -c 'echo $RANK $(cat /proc/self/cgroup)' | sort");
    BOOST_TEST(groups.starts_with("0 0::/system.slice/n0_slurmstepd.scope/job_1/step_0/user/task"), groups);
    BOOST_TEST(
        groups.find("\n1 0::/system.slice/n1_slurmstepd.scope/job_1/step_0/user/task") != std::string::npos,
        groups);

    // A training is preempted and resumes where it stopped.
    auto const training = create(
        "--template mpi --config resources.slots_per_trial=1 "
        "--config searcher.max_length.epochs=60");
    wait_until(
        [&] {
            return shell(fmt::format("det-submit trial logs {} 2>/dev/null || true", training))
                       .find("epoch 2") != std::string::npos;
        },
        limit, "the training begins");
    shell("srun --partition urgent --nodes 2 true", limit);
    wait_for_end(training);
    auto const runs = trial(training).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs[0].at("cause") == "preempted");
    BOOST_TEST(runs[1].at("cause") == "finished");
    BOOST_TEST(shell(fmt::format("det-submit trial logs {} --rank 0 --run 1", training))
                   .find(fmt::format("resumed at step {}", runs[1].at("steps_completed").get<int>())) !=
               std::string::npos);

    // What a trial leaves behind in sessions of its own ends with it.
    auto const leaving = ask("experiment create digits.yaml --config resources.slots_per_trial=1 "
                             "--config 'entrypoint=setsid sleep 4242 & sleep 1'")["id"]
                             .get<int>();
    wait_for_end(leaving);
    wait_until([&] { return shell("squeue --noheader").empty(); }, limit, "the job ends");
    BOOST_TEST(shell("pgrep -f 'sleep [4]242' || true") == "");

    if (!has_limits()) return;
    // The description of a trial that needs more memory than it has asked for names the cause.
    auto const hungry =
        ask("experiment create digits.yaml --config resources.slots_per_trial=1 --config max_restarts=0 "
            "--config slurm.exclusive=false --config 'slurm.sbatch_args=[--mem=150]' "
            "--config 'entrypoint=[python3, -c, \"bytearray(600 << 20)\"]'")["id"]
            .get<int>();
    wait_for_end(hungry);
    BOOST_TEST(state(hungry) == "ERROR");
    auto const summary = shell(fmt::format("det-submit experiment describe {}", hungry));
    BOOST_TEST(summary.find("out of memory") != std::string::npos, summary);
    auto const described = shell(fmt::format("det-submit trial describe {}.0", hungry));
    BOOST_TEST(described.find("killed by signal 9 (KILL), out of memory") != std::string::npos, described);
}

BOOST_AUTO_TEST_SUITE_END()
