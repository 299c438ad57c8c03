// Elastic trials on a real Slurm: each run has the nodes that are free.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "check_result.hpp"
#include "loopback_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace elastic_trials {

constexpr int steps = 400;

LoopbackOptions four_nodes() {
    LoopbackOptions options;
    options.nodes = 4;
    options.slots = 1;
    return options;
}

/// Four nodes of one slot each.
struct Site : LoopbackCluster {
    Site() : LoopbackCluster(four_nodes()) {
        shell("mkdir code");
        for (auto const* name : {"elastic_training.py", "elastic_trial.py"}) add_program(name);
        must(write_file(home() / "elastic.yaml",
                        fmt::format("name: elastic\n"
                                    "entrypoint: python3 elastic_training.py\n"
                                    "hyperparameters: {{steps: {}}}\n"
                                    "searcher: {{name: single, metric: loss}}\n"
                                    "resources: {{slots_per_trial: {{min: 1, max: 4}}}}\n"
                                    "slurm: {{launch: rank}}\n"
                                    "max_restarts: 0\n",
                                    steps),
                        0644));
    }
    void add_program(std::string const& name) const {
        auto const text = must(read_file(det::test::source_path("tests/cluster/programs/" + name)));
        must(write_file(home() / name, text, 0644));
        shell("cp " + name + " code");
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    int create(std::string const& more = "") const {
        return ask("experiment create elastic.yaml code " + more)["id"].get<int>();
    }
    nlohmann::json runs(int experiment, std::size_t trial = 0) const {
        return ask(fmt::format("experiment describe {}", experiment)).at("trials").at(trial).at("runs");
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {}", experiment));
    }
    void wait_for_state(int experiment, std::string const& wanted) const {
        auto const reached = [&] {
            auto const state = ask(fmt::format("experiment describe {}", experiment)).at("state");
            BOOST_REQUIRE_MESSAGE(state == wanted || state != "ERROR", logs(experiment));
            return state == wanted;
        };
        wait_until(reached, 120s, fmt::format("experiment {} is {}", experiment, wanted));
    }
    /// Waits until the run, counted from 0, has reported a step.
    void wait_for_run(int experiment, std::size_t run) const {
        auto const journal =
            shared() / fmt::format("det/experiments/{}/trials/0/runs/{}/journal", experiment, run);
        auto const trains = [&] {
            auto const text = read_file(journal);
            return text && text->find("size") != std::string::npos;
        };
        wait_until(trains, 120s, fmt::format("run {} trains", run));
    }
    /// A job of another user's that takes `nodes` whole nodes until end_job().
    std::string begin_job(int nodes) const {
        auto const job = shell(fmt::format(
            "sbatch --parsable --output=/dev/null --exclusive --nodes={} --wrap 'sleep 600'", nodes));
        wait_until([&] { return shell("squeue --noheader --format=%t --jobs " + job) == "R"; }, 30s,
                   "a rigid job runs");
        return job;
    }
    void end_job(std::string const& job) const {
        shell("scancel " + job);
        wait_until([&] { return shell("squeue --noheader --jobs " + job + " || true").empty(); }, 60s,
                   "a rigid job has gone");
    }
    /// The number of reports of each size, which must be those of steps 1 to the last one, once each.
    std::map<int, int> count_steps_by_size(int experiment) const {
        std::map<int, int> found;
        int step = 0;
        for (auto const& report : ask(fmt::format("trial metrics {} --group training", experiment))) {
            BOOST_TEST(report.at("steps_completed") == ++step);
            ++found[report.at("metrics").at("size").get<int>()];
        }
        BOOST_TEST(step == steps);
        return found;
    }
};

}  // namespace elastic_trials

BOOST_FIXTURE_TEST_SUITE(elastic_trials, Site)

BOOST_AUTO_TEST_CASE(each_run_has_the_nodes_that_are_free_and_no_step_is_lost) {
    shell("touch slow");
    auto const rigid = begin_job(2);
    auto const id = create();
    wait_for_run(id, 0);
    end_job(rigid);
    shell("srun --partition urgent --nodes 4 true", 120s);  // preempts the trial
    wait_for_run(id, 1);
    shell(fmt::format("det-submit experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    auto const other = begin_job(3);
    shell(fmt::format("det-submit experiment activate {}", id));
    wait_for_run(id, 2);
    shell("rm slow");
    wait_for_state(id, "COMPLETED");

    auto const all = runs(id);
    BOOST_REQUIRE_MESSAGE(all.size() == 3u, all.dump(2));
    int const nodes[] = {2, 4, 1};
    char const* const causes[] = {"preempted", "paused", "finished"};
    for (std::size_t i = 0; i < all.size(); ++i) {
        BOOST_TEST(all[i].at("nodes") == nodes[i], all.dump(2));
        BOOST_TEST(all[i].at("slots") == nodes[i], all.dump(2));
        BOOST_TEST(all[i].at("cause") == causes[i], all.dump(2));
    }
    auto const by_size = count_steps_by_size(id);
    BOOST_TEST(by_size.size() == 3u);
    auto const log = logs(id);
    BOOST_TEST(log.find("rank 3 of 4 continues at step ") != std::string::npos, log);
    BOOST_TEST(log.find("from 4 parts") != std::string::npos, log);
    auto const validation = ask(fmt::format("trial metrics {} --group validation", id));
    BOOST_TEST(validation.at(0).at("metrics").at("loss") == 0);

    auto const described = shell(fmt::format("det-submit experiment describe {}", id));
    BOOST_TEST(described.find("1 to 4 nodes of 1 slot") != std::string::npos, described);
    auto const report = ask(fmt::format("experiment report {}", id));
    std::vector<int> slots;
    for (auto const& allocation : report.at("allocations")) slots.push_back(allocation.at("slots"));
    BOOST_TEST(slots == (std::vector<int>{2, 4, 1}), boost::test_tools::per_element());
    // Sizes of the range, as Slurm would start them now beside the job of three nodes.
    auto const times = ask("experiment create elastic.yaml code --when");
    std::map<int, bool> starts_now;
    for (auto const& each : times) {
        if (each.at("resource_pool") == "compute") starts_now[each.at("slots")] |= each.at("now").get<bool>();
    }
    BOOST_TEST(starts_now[1]);
    BOOST_TEST(!starts_now[4]);
    end_job(other);
}

BOOST_AUTO_TEST_CASE(a_run_grows_at_a_checkpoint_when_nodes_become_idle) {
    shell("touch slow");
    auto const rigid = begin_job(2);
    auto const id = create("--config 'slurm.grow={after: 10s, every: 15s}'");
    wait_for_run(id, 0);
    end_job(rigid);
    wait_for_run(id, 1);
    shell("rm slow");
    wait_for_state(id, "COMPLETED");
    auto const all = runs(id);
    BOOST_REQUIRE_MESSAGE(all.size() == 2u, all.dump(2));
    BOOST_TEST(all[0].at("nodes") == 2, all.dump(2));
    BOOST_TEST(all[1].at("nodes") == 4, all.dump(2));
    BOOST_TEST(all[0].at("message") == "more nodes are idle; the trainer saved its work");
    count_steps_by_size(id);
}

BOOST_AUTO_TEST_CASE(a_job_that_slurm_starts_early_saves_before_the_shorter_limit_that_it_got) {
    shell("touch slow");
    // Slurm keeps all nodes for the second job, from the end of the first one on. Before that it has one
    // node.
    auto const rigid =
        shell("sbatch --parsable --output=/dev/null --exclusive --nodes=3 --time=3 --wrap 'sleep 600'");
    wait_until([&] { return shell("squeue --noheader --format=%t --jobs " + rigid) == "R"; }, 30s,
               "a rigid job runs");
    auto const next =
        shell("sbatch --parsable --output=/dev/null --exclusive --nodes=4 --time=1 --wrap 'sleep 600'");
    auto const id = create(
        "--config hyperparameters.steps=5000 --config 'slurm.min_time=\"1\"' "
        "--config 'slurm.sbatch_args=[--time=30]'");
    wait_for_run(id, 0);
    auto const job = runs(id).at(0).at("job").get<std::string>();
    auto const limit = shell("squeue --noheader --format=%l --jobs " + job);
    BOOST_TEST((limit == "1:00" || limit == "2:00" || limit == "3:00"), limit);
    BOOST_TEST(shell("squeue --noheader --format=%t --jobs " + next) == "PD");
    wait_until([&] { return !runs(id).at(0).at("cause").is_null(); }, 180s, "the first run has ended");
    shell("rm slow");
    shell("scancel " + rigid + " " + next);
    wait_for_run(id, 1);
    auto const all = runs(id);
    BOOST_TEST(all[0].at("nodes") == 1, all.dump(2));
    BOOST_TEST(all[0].at("cause") == "time-limit", all.dump(2));
    BOOST_TEST(all[0].at("follow") == "requeue", all.dump(2));
    BOOST_TEST(all[1].at("nodes") == 4, all.dump(2));
    BOOST_TEST(all[1].at("job") == job, all.dump(2));
    BOOST_TEST(all[1].at("steps_completed") > 0, all.dump(2));
    BOOST_TEST(shell("squeue --noheader --format=%l --jobs " + job) == "30:00");
    shell(fmt::format("det-submit experiment kill {}", id));
}

BOOST_AUTO_TEST_CASE(trials_of_a_search_have_sizes_of_their_own) {
    auto const id = create(
        "--config 'searcher={name: adaptive_asha, metric: loss, max_trials: 4, max_rungs: 2, "
        "mode: aggressive, max_concurrent_trials: 2, max_length: {batches: 400}}'");
    wait_for_state(id, "COMPLETED");
    auto const described = ask(fmt::format("experiment describe {}", id));
    std::vector<int> sizes;
    for (auto const& trial : described.at("trials")) {
        for (auto const& run : trial.at("runs")) {
            sizes.push_back(run.at("nodes"));
            BOOST_TEST(run.at("follow") == "stop", run.dump(2));
        }
    }
    BOOST_TEST(sizes.size() == 4u, described.dump(2));
    // The first job has all nodes, and the others what it and its successors leave.
    BOOST_TEST(std::ranges::all_of(sizes, [](int size) { return size >= 1 && size <= 4; }));
    BOOST_TEST(std::ranges::max(sizes) == 4, described.dump(2));
}

BOOST_AUTO_TEST_CASE(a_pytorch_trial_by_torchrun_keeps_its_batches_in_runs_of_other_sizes) {
    must(write_file(
        home() / "trial.yaml",
        "name: elastic trial\n"
        "entrypoint: python3 -m determined.launch.torch_distributed --trial elastic_trial:ElasticTrial\n"
        "hyperparameters: {global_batch_size: 16, hidden: 16, samples: 322}\n"
        "searcher: {name: single, metric: error, max_length: {batches: 400}}\n"
        "scheduling_unit: 10\n"
        "resources: {slots_per_trial: {min: 1, max: 4}}\n"
        "max_restarts: 0\n",
        0644));
    shell("touch slow");
    auto const rigid = begin_job(2);
    auto const id = ask("experiment create trial.yaml code")["id"].get<int>();
    wait_for_run(id, 0);
    end_job(rigid);
    shell("srun --partition urgent --nodes 4 true", 120s);
    wait_for_run(id, 1);
    shell("rm slow");
    wait_for_state(id, "COMPLETED");
    auto const all = runs(id);
    BOOST_REQUIRE_MESSAGE(all.size() == 2u, all.dump(2));
    BOOST_TEST(all[0].at("nodes") == 2);
    BOOST_TEST(all[1].at("nodes") == 4);
    // All ranks together train the 16 samples of a batch, or the two samples at the end of an epoch.
    std::map<int, std::set<int>> samples;
    auto const log = logs(id);
    for (auto const line : split_lines(log)) {
        constexpr std::string_view before = ": ";
        auto const at = line.find("] batch ");
        if (at == std::string_view::npos) continue;
        auto const text = line.substr(at + 8);
        auto const batch = parse_integer<int>(text.substr(0, text.find(' '))).value();
        for (auto const number : split(text.substr(text.find(before) + before.size()), ' '))
            samples[batch].insert(parse_integer<int>(number).value());
    }
    BOOST_REQUIRE(samples.size() == 400u);
    for (auto const& [batch, numbers] : samples)
        BOOST_TEST(numbers.size() == (batch % 21 == 20 ? 2u : 16u), batch);
}

BOOST_AUTO_TEST_SUITE_END()
