// Ten patterns of public batch scripts, unchanged: the scripts of batch_scripts/ by sbatch, with #SBATCH
// --det, and as experiments, one of them preempted. docs/from-batch-scripts.md explains them.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <memory>

#include "batch_script.hpp"
#include "test_paths.hpp"

using namespace det;
using test::BatchScript;
using test::Disturbance;
using test::Submission;

namespace batch_patterns {

/// One cluster for all cases.
struct Site {
    Site() {
        LoopbackOptions options;
        options.slots = 2;
        // Shorter than the rest of a training: a script that does not end at the notice is ended.
        options.grace_s = 4;
        options.slurm_options = {test::first_job_id};
        options.plugin = LoopbackOptions::Plugin::when_built;
        cluster = std::make_unique<LoopbackCluster>(options);
    }
    ~Site() { cluster.reset(); }
    static std::unique_ptr<LoopbackCluster> cluster;
};
std::unique_ptr<LoopbackCluster> Site::cluster;

struct Expected {
    int ranks = 1;
    int steps = 40;
    int starts = 2;     // of the trials that are preempted; 0: they are not preempted
    int most_lost = 6;  // steps since the last checkpoint, which are trained again
    std::vector<std::string> files = {"model.result"};  // beside others
};

/// Runs a script in each way. All its results are those of the undisturbed sbatch.
void check_pattern(std::string const& name, Expected const& expected) {
    BatchScript const script(*Site::cluster,
                             test::source_path(fmt::format("tests/cluster/batch_scripts/{}.sbatch", name)));
    auto const plain = script.run(Submission::sbatch, Disturbance::none);
    BOOST_TEST(plain.exit_code == 0);
    BOOST_TEST(plain.ranks == expected.ranks);
    BOOST_TEST(plain.steps == expected.steps);
    for (auto const& file : expected.files) BOOST_TEST(plain.files.contains(file), file);

    auto const check_same = [&](Submission submission, Disturbance disturbance) {
        auto const found = script.run(submission, disturbance);
        auto const differences = test::differences(plain, found, disturbance);
        BOOST_TEST(found.steps - plain.steps <= expected.most_lost, found.steps - plain.steps);
        BOOST_TEST(differences.empty(), fmt::format("{}", fmt::join(differences, "; ")));
        if (found.exit_code != plain.exit_code) {
            for (auto const& [file, text] : found.files) BOOST_TEST_MESSAGE(file << ":\n" << text);
        }
        return found;
    };
    BOOST_TEST_CONTEXT("#SBATCH --det") check_same(Submission::det_option, Disturbance::none);
    BOOST_TEST_CONTEXT("experiment") check_same(Submission::experiment, Disturbance::none);
    if (expected.starts == 0) return;
    BOOST_TEST_CONTEXT("experiment, preempted") {
        auto const found = check_same(Submission::experiment, Disturbance::preemption);
        BOOST_TEST(found.starts == expected.starts);
    }
}

}  // namespace batch_patterns

BOOST_AUTO_TEST_SUITE(batch_patterns, *boost::unit_test::fixture<batch_patterns::Site>())

using batch_patterns::check_pattern;

BOOST_AUTO_TEST_CASE(torchrun_over_nodes) { check_pattern("torchrun", {.ranks = 4}); }

BOOST_AUTO_TEST_CASE(srun_starts_a_task_per_gpu) { check_pattern("srun-per-gpu", {.ranks = 4}); }

BOOST_AUTO_TEST_CASE(accelerate_launch_on_each_node) { check_pattern("accelerate", {.ranks = 4}); }

BOOST_AUTO_TEST_CASE(mpirun_in_the_script) {
    check_pattern("mpirun", {.ranks = 4, .steps = 80, .most_lost = 12});
}

BOOST_AUTO_TEST_CASE(an_array_from_1) {
    check_pattern("array", {.steps = 105,
                            .starts = 5,
                            .most_lost = 12,
                            .files = {"runs/1/model.result", "runs/3/model.result"}});
}

BOOST_AUTO_TEST_CASE(a_trap_that_requeues_the_job) { check_pattern("usr1-requeue", {}); }

BOOST_AUTO_TEST_CASE(a_script_that_submits_itself_again) {
    // Three parts. The first is preempted, and ends with its successor's submission in the grace period.
    check_pattern("resubmit", {.steps = 60, .starts = 3, .files = {"chain.result", "logs/chain-JOB.out"}});
}

BOOST_AUTO_TEST_CASE(steps_in_the_background) {
    check_pattern("background-steps",
                  {.steps = 160, .most_lost = 24, .files = {"seed-1.result", "seed-4.result"}});
}

BOOST_AUTO_TEST_CASE(captured_output_of_srun) { check_pattern("captured-srun", {.ranks = 2}); }

BOOST_AUTO_TEST_CASE(modules_and_conda) {
    check_pattern("modules-and-conda", {.files = {"model.result", "loaded", "modules.out"}});
}

BOOST_AUTO_TEST_SUITE_END()
