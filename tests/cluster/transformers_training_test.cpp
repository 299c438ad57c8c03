// The example templates/examples/transformers on a real Slurm, preempted. DET_TEST_SLURM=26.05 and
// DET_TEST_PROFILE=transformers run it with the packages of Debian sid; skipped where python3 has no
// transformers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <iostream>
#include <nlohmann/json.hpp>

#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace transformers_training {

namespace fs = std::filesystem;

constexpr int steps = 3000;  // some 20 s
constexpr int steps_of_log = 10;
constexpr int steps_of_evaluation = 50;

LoopbackOptions two_slots_a_node() {
    LoopbackOptions options;
    options.slots = 2;
    return options;
}

/// Ends the process with exit code 77 if the test is to run with this machine's Python, and that has no
/// transformers. The profile transformers has them.
void skip_without_transformers() {
    if (std::getenv("DET_TEST_PROFILE") != nullptr) return;
    auto const tried = SystemProcessRunner().run(
        {{"/usr/bin/python3", "-c", "import accelerate, transformers"}, Environment::of_this_process(), 60s});
    if (tried && tried->exit_code == 0) return;
    std::cout << "skipped: python3 has no transformers and accelerate (Debian has them from sid on)\n"
              << std::flush;
    std::_Exit(77);
}

struct Site : LoopbackCluster {
    Site() : LoopbackCluster((skip_without_transformers(), two_slots_a_node())) {
        fs::copy(det::test::source_path("templates/examples/transformers"), home() / "shipped",
                 fs::copy_options::recursive);
        shell("cp -r shipped example");
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    /// The example as it is shipped, two ranks by torch_distributed, with another number of steps.
    int create() const {
        auto const created = ask(fmt::format(
            "experiment create example/counting.yaml example --config hyperparameters.max_steps={0} "
            "--config searcher.max_length.batches={0}",
            steps));
        return created.at("id").get<int>();
    }
    /// The steps at which a group of metrics was reported, in order.
    std::vector<int> reported(int experiment, std::string const& group) const {
        std::vector<int> found;
        for (auto const& report : ask(fmt::format("trial metrics {} --group {}", experiment, group)))
            found.push_back(report.at("steps_completed"));
        return found;
    }
    void wait_for_state(int experiment, std::string const& wanted) const {
        auto const is_reached = [&] {
            auto const state = ask(fmt::format("experiment describe {}", experiment)).at("state");
            BOOST_REQUIRE_MESSAGE(state != "ERROR",
                                  shell(fmt::format("det-submit trial logs {}", experiment)));
            return state == wanted;
        };
        wait_until(is_reached, 300s, fmt::format("experiment {} is {}", experiment, wanted));
    }
};

std::vector<int> multiples(int period) {
    std::vector<int> all;
    for (int step = period; step <= steps; step += period) all.push_back(step);
    return all;
}

}  // namespace transformers_training

BOOST_FIXTURE_TEST_CASE(a_trainer_of_two_ranks_is_preempted_and_ends_with_the_right_number_of_steps,
                        transformers_training::Site) {
    using namespace transformers_training;
    auto const experiment = create();
    wait_until([&] { return !reported(experiment, "training").empty(); }, 200s, "the first report");
    shell("srun --partition urgent --nodes 2 true", 120s);
    wait_for_state(experiment, "COMPLETED");

    auto const runs = ask(fmt::format("experiment describe {}", experiment)).at("trials").at(0).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs[0].at("cause") == "preempted");
    BOOST_TEST(runs[1].at("cause") == "finished");
    // Each once: by one rank, and not again by the second run.
    BOOST_TEST(reported(experiment, "training") == multiples(steps_of_log), boost::test_tools::per_element());
    BOOST_TEST(reported(experiment, "validation") == multiples(steps_of_evaluation),
               boost::test_tools::per_element());
    int last = 0;
    for (auto const& checkpoint : ask(fmt::format("experiment list-checkpoints {}", experiment)))
        last = std::max(last, checkpoint.at("steps_completed").get<int>());
    BOOST_TEST(last == steps);
}
