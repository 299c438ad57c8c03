// Trainings by torch's DistributedDataParallel that are paused, preempted and lose a rank end with the
// weights of uninterrupted ones.
#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace ddp_training {

namespace fs = std::filesystem;

constexpr int steps = 2000;
constexpr int slots = 2;  // of a node

/// Prints the largest difference of two final weights.
constexpr char compare[] =
    "import sys, torch\n"
    "a, b = (torch.load(name + '/state.pth')['model'] for name in sys.argv[1:])\n"
    "print(max(float((a[key] - b[key]).abs().max()) for key in a))\n";

/// Room for one training of two ranks and one of four.
LoopbackOptions three_nodes() {
    LoopbackOptions options;
    options.nodes = 3;
    options.slots = slots;
    return options;
}

struct Training {
    int ranks = 0;
    int id = 0;
};

struct Site : LoopbackCluster {
    Site() : LoopbackCluster(three_nodes()) {
        fs::copy_file(det::test::source_path("tests/cluster/programs/ddp_training.py"), home() / "train.py");
        fs::permissions(home() / "train.py", fs::perms(0644));
        // A directory of researcher; the names tell the processes of two trainings apart.
        shell("mkdir code && cp train.py code/train-2.py && cp train.py code/train-4.py");
        must(write_file(home() / "compare.py", compare, 0644));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    Training create(int ranks) const {
        must(write_file(
            home() / "ddp.yaml",
            fmt::format("entrypoint: python3 -m determined.launch.torch_distributed python3 train-{}.py\n"
                        "hyperparameters: {{batch_size: 16, hidden: 32, steps: {}, pause_s: 0.005}}\n"
                        "searcher: {{name: single, metric: loss}}\n"
                        "resources: {{slots_per_trial: {}}}\n"
                        "slurm: {{slots_per_node: {}}}\n"
                        "reproducibility: {{experiment_seed: 5}}\n",
                        ranks, steps, ranks, slots),
            0644));
        return {ranks, ask("experiment create ddp.yaml code")["id"].get<int>()};
    }
    nlohmann::json runs(Training const& training) const {
        return ask(fmt::format("experiment describe {}", training.id)).at("trials").at(0).at("runs");
    }
    void wait_for_state(Training const& training, std::string const& wanted) const {
        auto const reached = [&] {
            auto const state = ask(fmt::format("experiment describe {}", training.id)).at("state");
            BOOST_REQUIRE_MESSAGE(state == wanted || state != "ERROR",
                                  shell(fmt::format("det-submit trial logs {}", training.id)));
            return state == wanted;
        };
        wait_until(reached, 150s, fmt::format("the training of {} ranks is {}", training.ranks, wanted));
    }
    /// Waits until the run, counted from 0, has reported that it trains.
    void wait_for_run(Training const& training, std::size_t run) const {
        auto const journal =
            shared() / fmt::format("det/experiments/{}/trials/0/runs/{}/journal", training.id, run);
        auto const trains = [&] {
            auto const text = read_file(journal);
            return text && text->find("loss") != std::string::npos;
        };
        wait_until(trains, 120s, fmt::format("run {} of {} ranks trains", run, training.ranks));
    }
    /// The directory of the checkpoint of the last step.
    std::string final_checkpoint(Training const& training) const {
        for (auto const& checkpoint : ask(fmt::format("experiment list-checkpoints {}", training.id)))
            if (checkpoint.at("steps_completed") == steps)
                return (shared() / "det/checkpoints" / checkpoint.at("uuid").get<std::string>()).string();
        BOOST_FAIL("there is no checkpoint of the last step");
        return {};
    }
    std::string difference(Training const& a, Training const& b) const {
        return shell(
            fmt::format("/usr/bin/python3 compare.py {} {}", final_checkpoint(a), final_checkpoint(b)));
    }

    /// Pauses all, preempts all, and kills one rank of each, each time while they train.
    void interrupt(std::vector<Training> const& trainings) const {
        auto const for_all = [&](auto const& action) { std::ranges::for_each(trainings, action); };
        for_all([&](auto const& each) { wait_for_run(each, 0); });
        for_all([&](auto const& each) { shell(fmt::format("det-submit experiment pause {}", each.id)); });
        for_all([&](auto const& each) { wait_for_state(each, "PAUSED"); });
        for_all([&](auto const& each) { shell(fmt::format("det-submit experiment activate {}", each.id)); });
        for_all([&](auto const& each) { wait_for_run(each, 1); });
        shell("srun --partition urgent --nodes 3 true", 120s);
        for_all([&](auto const& each) {
            wait_for_run(each, 2);
            shell(fmt::format("pkill --signal KILL --full --newest '^python3 train-{}.py'", each.ranks));
        });
        for_all([&](auto const& each) { wait_for_state(each, "COMPLETED"); });
    }
    void check_runs(Training const& training) const {
        auto const all = runs(training);
        BOOST_REQUIRE_MESSAGE(all.size() == 4u, all.dump(2));
        std::size_t run = 0;
        for (auto const* cause : {"paused", "preempted", "failed", "finished"})
            BOOST_TEST(all[run++].at("cause") == cause, all.dump(2));
    }
};

}  // namespace ddp_training

BOOST_FIXTURE_TEST_SUITE(ddp_training, Site)

BOOST_AUTO_TEST_CASE(weights_do_not_depend_on_interruptions) {
    std::vector<Training> const left_alone{create(2), create(4)};
    for (auto const& each : left_alone) wait_for_state(each, "COMPLETED");
    std::vector<Training> const interrupted{create(2), create(4)};
    interrupt(interrupted);
    for (auto const& each : interrupted) check_runs(each);
    // With more than two ranks gloo may add in another order.
    BOOST_TEST(difference(left_alone[0], interrupted[0]) == "0.0");
    BOOST_TEST(std::stod(difference(left_alone[1], interrupted[1])) < 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
