// Programs that make the calls that Determined documents (tests/python/determined-snippets), on a real Slurm.
// DET_TEST_SLURM and DET_TEST_PROFILE=torch run them with the Python and torch of another Debian release.
#include <det/foundation/text.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace determined_snippets {

namespace fs = std::filesystem;

// Programs of the login node that get the number of a completed experiment, in the order in which they run.
constexpr char const* programs[] = {
    "top_checkpoint.py",
    "top_checkpoints.py",
    "sorted_checkpoints.py",
    "checkpoints_of_a_trial.py",
    "checkpoint_metadata.py",
    "checkpoint_metrics.py",
    "metrics_of_trials.py",
    "logs_of_a_trial.py",
    "list_of_experiments.py",
    "list_of_trials.py",
    "attributes_of_an_experiment.py",
    "registry.py",
    "former_names.py",
    "users_and_workspaces.py",
    "create_pause_and_kill.py",
    "detached.py",
    "continued_off_the_cluster.py",
    "directories_of_checkpoints.py",
    "filtered_logs.py",
    "names_that_are_absent.py",
    "local_trainer.py",
    "remove_checkpoints.py",
};

struct JobProgram {
    char const* name;
    char const* options;  // of `experiment create`
};

constexpr char ranks_by_torch[] = "python3 -m determined.launch.torch_distributed python3";

constexpr JobProgram job_programs[] = {
    {"core_api.py",
     "--config 'searcher={name: single, metric: loss, max_length: {batches: 4}}' "
     "--config 'hyperparameters={loss: 2.0}'"},
    {"trainer.py",
     "--config 'searcher={name: single, metric: error, max_length: {batches: 6}}' --config "
     "hyperparameters.lr=0.1"},
    {"batch_inference.py",
     "--config 'searcher={name: single, metric: x}' --config 'hyperparameters={experiment_id: EXPERIMENT}' "
     "--config min_validation_period=null --config min_checkpoint_period=null"},
};

LoopbackOptions two_nodes_of_two_slots() {
    LoopbackOptions options;
    options.slots = 2;
    return options;
}

struct Site : LoopbackCluster {
    Site() : LoopbackCluster(two_nodes_of_two_slots()) {
        fs::copy(det::test::source_path("tests/python/determined-snippets"), home() / "uploaded",
                 fs::copy_options::recursive);
        shell("cp -r uploaded snippets && cp snippets/jobs/* snippets/code");
        BOOST_TEST_MESSAGE(
            shell("python3 -c 'import sys, torch; print(\"Python\", sys.version.split()[0], \"torch\", "
                  "torch.__version__)'"));
    }
    /// Runs a program of the login node and checks that it succeeds.
    /// \return what it has printed
    std::string run(std::string const& program, int experiment) const {
        auto const ended = login(
            "researcher",
            {"sh", "-c",
             fmt::format("cd ~/snippets && PYTHONPATH=$(dirname $(command -v det-submit))/../lib/det-submit/"
                         "python python3 -B {} {}",
                         program, experiment)},
            180s);
        BOOST_TEST(ended.exit_code == 0, program << ": " << ended.out << ended.err);
        return std::string(trim(ended.out));
    }
    /// Runs a program in a job on both nodes and checks that it completes.
    void run_in_job(JobProgram const& program, int experiment) const {
        std::string options = program.options;
        if (auto const at = options.find("EXPERIMENT"); at != std::string::npos)
            options.replace(at, std::string("EXPERIMENT").size(), std::to_string(experiment));
        auto const created = nlohmann::json::parse(shell(fmt::format(
            "cd snippets && det-submit experiment create experiment.yaml code --json --config "
            "'entrypoint={} {}' --config resources.slots_per_trial=4 --config slurm.trials_per_node=1 {}",
            ranks_by_torch, program.name, options)));
        auto const id = created.at("id").get<int>();
        std::string state;
        wait_until(
            [&] {
                state =
                    nlohmann::json::parse(shell(fmt::format("det-submit experiment describe {} --json", id)))
                        .at("state");
                return state == "COMPLETED" || state == "ERROR";
            },
            180s, fmt::format("{} has ended", program.name));
        BOOST_TEST(state == "COMPLETED",
                   program.name << ": " << shell(fmt::format("det-submit trial logs {}", id)));
    }
};

}  // namespace determined_snippets

// One case checks everything on one cluster and one experiment, which takes half of the time.
BOOST_FIXTURE_TEST_CASE(programs_of_users_of_determined_run_unchanged, determined_snippets::Site) {
    auto const experiment = parse_integer<int>(run("create_from_map.py", 0));
    BOOST_REQUIRE(experiment);
    for (auto const& program : determined_snippets::job_programs) run_in_job(program, *experiment);
    for (auto const* program : determined_snippets::programs) run(program, *experiment);
}
