// Trials that use the Core API in Python, on a real Slurm.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace python_trial {

namespace fs = std::filesystem;

constexpr int steps = 60;

/// A cluster with the experiment counter.yaml on two nodes with two slots each.
struct Site : LoopbackCluster {
    Site() {
        fs::copy_file(det::test::source_path("tests/python/counter.py"), home() / "counter.py");
        fs::permissions(home() / "counter.py", fs::perms(0644));
        shell("mkdir code && cp counter.py code");  // a directory of researcher
        must(write_file(home() / "counter.yaml",
                        fmt::format("name: counter\n"
                                    "entrypoint: python3 counter.py launcher\n"
                                    "hyperparameters: {{increment_by: 2, fails_on_rank: -1}}\n"
                                    "searcher: {{name: single, metric: x, max_length: {}}}\n"
                                    "resources: {{slots_per_trial: 4}}\n"
                                    "slurm: {{slots_per_node: 2}}\n"
                                    "max_restarts: 0\n",
                                    steps),
                        0644));
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    /// Adds a program of tests/cluster/programs to the experiment's code.
    void add_program(std::string const& name) const {
        auto const source = det::test::source_path("tests/cluster/programs/" + name);
        must(write_file(home() / "code" / name, must(read_file(source)), 0644));
    }
    int create(std::string const& more = "") const {
        return ask("experiment create counter.yaml code " + more)["id"].get<int>();
    }
    std::string state(int experiment) const {
        return ask(fmt::format("experiment describe {}", experiment)).at("state");
    }
    void wait_for_state(int experiment, std::string const& wanted) const {
        wait_until([&] { return state(experiment) == wanted; }, 120s,
                   fmt::format("experiment {} is {}", experiment, wanted));
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {}", experiment));
    }
};

/// Whether a line of the log has both texts.
bool has_line(std::string const& log, std::string_view label, std::string_view text) {
    auto const lines = split_lines(log);
    return std::ranges::any_of(lines, [&](auto const line) {
        return line.find(label) != std::string_view::npos && line.find(text) != std::string_view::npos;
    });
}

}  // namespace python_trial

BOOST_FIXTURE_TEST_SUITE(python_trial, Site)

BOOST_AUTO_TEST_CASE(a_core_api_trial_is_paused_resumed_and_completes) {
    auto const id = create();
    wait_until([&] { return !ask(fmt::format("trial metrics {}", id)).empty(); }, 60s, "it trains");
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    BOOST_REQUIRE(ask(fmt::format("experiment list-checkpoints {}", id)).size() == 1u);
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_state(id, "COMPLETED");
    BOOST_TEST(logs(id).find("continuing at step") != std::string::npos, logs(id));
    auto const validations = ask(fmt::format("trial metrics {} --group validation", id));
    BOOST_REQUIRE(validations.size() == 1u);
    BOOST_TEST(validations[0].at("metrics").at("x").get<int>() == 2 * 4 * steps);
    BOOST_TEST(logs(id).find("[rank=0] INFO: ") != std::string::npos, logs(id));
    auto const trained = ask(fmt::format("trial metrics {} --group training", id));
    BOOST_TEST(trained.size() == static_cast<std::size_t>(steps));
}

BOOST_AUTO_TEST_CASE(
    a_training_that_saves_its_state_is_preempted_and_ends_with_the_bits_of_one_that_was_not) {
    add_program("saving_state.py");
    auto const begin = [&](double pause_s) {
        return create(
            fmt::format("--config 'entrypoint=python3 saving_state.py' --config slurm.mpi=none --config "
                        "resources.slots_per_trial=1 --config hyperparameters.pause_s={}",
                        pause_s));
    };
    auto const whole = begin(0), interrupted = begin(0.05);
    wait_until([&] { return !ask(fmt::format("trial metrics {}", interrupted)).empty(); }, 60s, "it trains");
    shell(fmt::format("det-submit experiment pause {}", interrupted));
    wait_for_state(interrupted, "PAUSED");
    auto const checkpoints = [&](int id) {
        std::vector<std::string> uuids;
        for (auto const& each : ask(fmt::format("experiment list-checkpoints {}", id)))
            if (each.at("state") == "COMPLETED") uuids.push_back(each.at("uuid"));
        return uuids;
    };
    BOOST_REQUIRE(!checkpoints(interrupted).empty());
    auto const registered = checkpoints(interrupted).front();
    shell("det-submit model create bits && det-submit model register-version bits " + registered);
    shell(fmt::format("det-submit experiment activate {}", interrupted));
    wait_for_state(interrupted, "COMPLETED");
    wait_for_state(whole, "COMPLETED");
    BOOST_TEST(logs(interrupted).find("continuing at step") != std::string::npos, logs(interrupted));
    auto const bits = [&](int id) {
        return ask(fmt::format("trial metrics {} --group validation", id)).at(0).at("metrics").at("bits");
    };
    BOOST_TEST(bits(interrupted) == bits(whole));
    // Garbage collection keeps the newest checkpoint of a trial, and that of a version of a model.
    wait_until([&] { return checkpoints(whole).size() == 1u && checkpoints(interrupted).size() == 2u; }, 60s,
               "checkpoints are removed");
    BOOST_TEST(std::ranges::count(checkpoints(interrupted), registered) == 1);
}

BOOST_AUTO_TEST_CASE(metrics_of_all_ranks_are_recorded_with_their_rank) {
    add_program("reports_in_turn.py");
    auto const id = create("--config 'entrypoint=python3 reports_in_turn.py' --config slurm.launch=rank");
    wait_for_state(id, "COMPLETED");
    auto const trained = ask(fmt::format("trial metrics {} --group training", id));
    BOOST_REQUIRE(trained.size() == 100u);
    for (auto const& report : trained)
        BOOST_TEST(report.at("rank").get<int>() == report.at("steps_completed").get<int>() % 4);
    BOOST_TEST(ask(fmt::format("trial metrics {} --group validation", id)).size() == 10u);
    auto const exported = shell(fmt::format("det-tracker export {}", id));
    BOOST_TEST(split_lines(exported).size() == 111u, exported);  // with the header
}

BOOST_AUTO_TEST_CASE(arrays_are_reduced_among_all_ranks_those_of_a_node_and_one_of_each) {
    add_program("tensor_collectives.py");
    auto const id = create("--config 'entrypoint=python3 tensor_collectives.py' --config slurm.launch=rank");
    wait_for_state(id, "COMPLETED");
    auto const log = logs(id);
    for (int rank = 0; rank < 4; ++rank) {
        auto const label = fmt::format("[rank={}]", rank);
        auto const totals = fmt::format("[6, {}, {}]", rank < 2 ? 1 : 5, rank % 2 == 0 ? 2 : 4);
        BOOST_TEST(has_line(log, label, fmt::format("totals of rank {} {}", rank, totals)), log);
        auto const mistake =
            "rank 3: all_reduce(): the tensor of shape (2,) with strides (16,) is not contiguous";
        BOOST_TEST(has_line(log, label, fmt::format("rank {} sees {}", rank, mistake)), log);
    }
    auto const validations = ask(fmt::format("trial metrics {} --group validation", id));
    BOOST_REQUIRE(validations.size() == 1u);
    BOOST_TEST(validations[0].at("metrics").at("x") == 60);
}

BOOST_AUTO_TEST_CASE(each_node_of_a_profiled_trial_is_sampled) {
    auto const id = create("--config profiling.enabled=true");
    wait_for_state(id, "COMPLETED");
    auto const profile = ask(fmt::format("trial profile {}", id));
    BOOST_REQUIRE(profile.size() == 1u);
    auto const& nodes = profile[0].at("nodes");
    BOOST_REQUIRE_MESSAGE(nodes.size() == 2u, profile.dump());
    for (auto const& node : nodes) {
        auto const is_memory = [](auto const& metric) { return metric.at("name") == "memory_free"; };
        auto const& metrics = node.at("metrics");
        BOOST_TEST((std::ranges::find_if(metrics, is_memory) != metrics.end()), node.dump());
    }
    BOOST_TEST(shell("pgrep --full [s]ample-node || true") == "");
}

BOOST_AUTO_TEST_CASE(a_script_that_logs_by_wandb_is_paused_and_goes_on) {
    add_program("wandb_training.py");
    auto const id = create(
        "--config 'entrypoint=python3 wandb_training.py' --config slurm.launch=rank "
        "--config 'slurm.forward_signals=[TERM]' --config slurm.log_wandb=true --config "
        "slurm.log_mlflow=true "
        "--config 'slurm.setup=[\"export PYTHONPATH=/nowhere\"]' --config hyperparameters.lr=0.5 "
        "--config searcher.metric=val/acc --config searcher.smaller_is_better=false");
    wait_until([&] { return !ask(fmt::format("trial metrics {}", id)).empty(); }, 60s, "it trains");
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_state(id, "COMPLETED");
    BOOST_TEST(logs(id).find("resumed at epoch") != std::string::npos, logs(id));
    BOOST_TEST(logs(id).find("rank 3 records nothing") != std::string::npos, logs(id));
    auto const trained = ask(fmt::format("trial metrics {} --group training", id));
    BOOST_REQUIRE(trained.size() == 40u);
    for (std::size_t i = 0; i < trained.size(); ++i) {
        BOOST_TEST(trained[i].at("steps_completed").get<std::size_t>() == i);
        BOOST_TEST(trained[i].at("metrics").at("epoch").get<std::size_t>() == i + 1);
        BOOST_TEST(trained[i].at("metrics").at("lr").get<double>() == 0.5);
    }
    auto const described = ask(fmt::format("trial describe {}.0", id));
    BOOST_TEST(described.dump().find("\"store\":true") != std::string::npos, described.dump());
}

BOOST_AUTO_TEST_CASE(the_exception_of_one_rank_is_why_the_trial_failed) {
    auto const id = create(
        "--config hyperparameters.fails_on_rank=2 --config 'entrypoint=det-launch python3 counter.py "
        "launched'");
    wait_for_state(id, "ERROR");
    auto const described = shell(fmt::format("det-submit trial describe {}.0", id));
    BOOST_TEST(described.find("rank 2 on n1 failed first") != std::string::npos, described);
    BOOST_TEST(described.find("ValueError: the hyperparameters say so") != std::string::npos, described);
}

BOOST_AUTO_TEST_CASE(
    a_run_that_hangs_shows_the_stack_of_each_rank_and_the_trial_continues_from_its_checkpoint) {
    add_program("hang_once.py");
    auto const id = create(
        "--config slurm.hang_timeout=10 --config max_restarts=1 "
        "--config 'entrypoint=det-launch python3 hang_once.py'");
    wait_for_state(id, "COMPLETED");
    auto const runs = ask(fmt::format("experiment describe {}", id)).at("trials").at(0).at("runs");
    BOOST_REQUIRE_MESSAGE(runs.size() == 2u, runs.dump(2));
    BOOST_TEST(runs[0].at("cause") == "hung", runs.dump(2));
    BOOST_TEST(runs[0].at("follow") == "restart-in-place", runs.dump(2));
    auto const message = runs[0].at("message").get<std::string>();
    BOOST_TEST(message.find("ranks 0-2 wait for rank 3 on node n1 in allgather") != std::string::npos,
               message);
    BOOST_TEST(runs[1].at("cause") == "finished", runs.dump(2));
    BOOST_TEST(runs[1].at("steps_completed") == 5, runs.dump(2));
    auto const log = shell(fmt::format("det-submit trial logs {}.0 --run 0", id));
    BOOST_TEST(has_line(log, "[rank=3] ", "in wait_for_nothing"), log);
    for (auto const* waiting : {"[rank=0] ", "[rank=1] ", "[rank=2] "})
        BOOST_TEST(has_line(log, waiting, "in allgather"), log);
}

BOOST_AUTO_TEST_CASE(the_rank_that_the_others_wait_for_is_named_and_a_run_without_reports_does_not_hang) {
    add_program("late_rank.py");
    auto const id =
        create("--config slurm.hang_timeout=10 --config 'entrypoint=det-launch python3 late_rank.py'");
    auto const waits_now = [&] { return ask(fmt::format("trial describe {}.0", id)).at("waits"); };
    // At first the share is small, and on a loaded machine it is that of another rank, because the start of
    // the ranks belongs to the period too.
    std::string described;
    wait_until(
        [&] {
            described = shell(fmt::format("det-submit trial describe {}.0", id));
            auto const waits = waits_now();
            return described.find("ranks 0-2 wait for rank 3 on node n1 in allgather: ") !=
                       std::string::npos &&
                   waits.at("straggler").is_object() && waits.at("straggler").at("share").get<double>() > 0.2;
        },
        60s, "the others wait for rank 3 in a fifth of the time");
    auto const waits = waits_now();
    BOOST_REQUIRE(waits.at("ranks").size() == 4u);
    BOOST_TEST(waits.at("ranks")[3].at("seconds").get<double>() <
               waits.at("ranks")[0].at("seconds").get<double>());
    // Without its collective operations the run would hang after ten seconds.
    constexpr int age_s = 13;
    wait_until([&] { return waits_now().at("period_s") >= age_s; }, 30s,
               "the run is older than its hang_timeout");
    auto const run = shared() / fmt::format("det/experiments/{}/trials/0/runs/0", id);
    BOOST_TEST(fs::exists(run / "node-1.waits"));
    BOOST_TEST(!fs::exists(run / "hung"));
    shell(fmt::format("det-submit experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(a_script_of_the_older_api_trains_up_to_the_rungs_of_its_search) {
    must(write_file(home() / "code/older_api.py",
                    must(read_file(det::test::source_path("tests/cluster/programs/older_api.py"))), 0644));
    must(write_file(home() / "older.yaml",
                    "name: older\n"
                    "entrypoint: python3 older_api.py\n"
                    "hyperparameters: {increment_by: {type: int, minval: 1, maxval: 1000}}\n"
                    "searcher: {name: async_halving, metric: x, smaller_is_better: false, num_rungs: 2,\n"
                    "  max_length: {batches: 200}, divisor: 10, max_trials: 3, max_concurrent_trials: 1}\n"
                    "reproducibility: {experiment_seed: 3}\n"
                    "resources: {slots_per_trial: 1}\n",
                    0644));
    auto const id = ask("experiment create older.yaml code")["id"].get<int>();
    wait_for_state(id, "COMPLETED");
    std::vector<int> increments;
    std::vector<std::vector<int>> lengths;  // that each trial has completed
    for (auto const& trial : ask(fmt::format("experiment list-trials {}", id))) {
        increments.push_back(trial.at("hyperparameters").at("increment_by"));
        lengths.emplace_back();
        auto const name = trial.at("name").get<std::string>();
        for (auto const& report : ask(fmt::format("trial metrics {} --group validation", name)))
            lengths.back().push_back(report.at("steps_completed"));
    }
    // One trial at a time: each one that is the best so far trains on to the last rung.
    BOOST_REQUIRE(lengths.size() == 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        auto const best = *std::max_element(increments.begin(), increments.begin() + std::ptrdiff_t(i) + 1);
        auto const expected = increments[i] == best ? std::vector<int>{20, 200} : std::vector<int>{20};
        BOOST_TEST(lengths[i] == expected, boost::test_tools::per_element());
    }
    BOOST_TEST(increments[0] > increments[1], "no trial is stopped with this seed");
}

BOOST_AUTO_TEST_CASE(a_script_on_the_login_node_creates_an_experiment_and_takes_its_best_checkpoint) {
    auto const script = det::test::source_path("tests/python/user_of_client.py");
    must(write_file(home() / "user_of_client.py", must(read_file(script)), 0644));
    shell(
        "PYTHONPATH=$(dirname $(command -v det-submit))/../lib/det-submit/python "
        "/usr/bin/python3 -B user_of_client.py",
        180s);
}

BOOST_AUTO_TEST_SUITE_END()
