// The examples of templates/examples that are not built with the tree, each created as its README says.
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

namespace examples {

namespace fs = std::filesystem;

LoopbackOptions with_plugin() {
    LoopbackOptions options;
    options.plugin = LoopbackOptions::Plugin::when_built;
    return options;
}

struct Site : LoopbackCluster {
    Site() : LoopbackCluster(with_plugin()) {
        fs::create_directory(home() / "shipped");
        for (std::string const name : {"core_api", "digits_torch", "mpi", "pytorch_trial", "script"}) {
            fs::copy(det::test::source_path("templates/examples/" + name), home() / "shipped" / name,
                     fs::copy_options::recursive);
        }
        fs::permissions(home() / "shipped", fs::perms(0755));
        shell("cp -r shipped examples");  // directories of researcher
    }
    nlohmann::json ask(std::string const& command) const {
        return nlohmann::json::parse(shell("det-submit " + command + " --json"));
    }
    /// Creates the experiment of an example's YAML file, over two nodes if it has several slots.
    int create(std::string const& folder, std::string const& yaml, std::string const& more = "") const {
        auto const answer = shell(
            fmt::format("cd examples/{} && det-submit experiment create {} . {} --json", folder, yaml, more));
        return nlohmann::json::parse(answer)["id"].get<int>();
    }
    void complete(int experiment) const {
        auto const ended = [&] {
            auto const state = ask(fmt::format("experiment describe {}", experiment)).at("state");
            BOOST_REQUIRE_MESSAGE(state != "ERROR", logs(experiment));
            return state == "COMPLETED";
        };
        wait_until(ended, 300s, fmt::format("experiment {} is COMPLETED", experiment));
    }
    std::string logs(int experiment) const {
        return shell(fmt::format("det-submit trial logs {}", experiment));
    }
    /// Runs `experiment create --test`. Returns the steps_completed of the trial's validations.
    std::vector<int> test(std::string const& folder, std::string const& yaml,
                          std::string const& more = "") const {
        shell(
            fmt::format("cd examples/{} && det-submit experiment create {} . --test {}", folder, yaml, more),
            120s);
        int newest = 0;
        for (auto const& experiment : ask("experiment list --all"))
            newest = std::max(newest, experiment.at("id").get<int>());
        std::vector<int> steps;
        for (auto const& report : ask(fmt::format("trial metrics {} --group validation", newest)))
            steps.push_back(report.at("steps_completed"));
        return steps;
    }
    double validation(int experiment, std::string const& metric) const {
        auto const reports = ask(fmt::format("trial metrics {} --group validation", experiment));
        BOOST_REQUIRE(reports.size() == 1u);
        return reports[0].at("metrics").at(metric).get<double>();
    }
};

/// Returns the code block of README.md below the line "`NAME`:".
std::string readme_block(std::string const& name) {
    auto const readme = must(read_file(det::test::source_path("README.md")));
    auto const title = readme.find(fmt::format("\n`{}`:\n", name));
    auto const fence = readme.find("```", title + name.size() + 4);
    BOOST_REQUIRE((title != std::string::npos && fence != std::string::npos));
    auto const begin = readme.find('\n', fence) + 1;
    return readme.substr(begin, readme.find("```", begin) - begin);
}

constexpr char two_nodes[] = "--config slurm.slots_per_node=2";

}  // namespace examples

BOOST_FIXTURE_TEST_SUITE(examples, Site)

BOOST_AUTO_TEST_CASE(the_first_experiment_of_the_readme_completes_in_a_virtual_environment) {
    must(write_file(home() / "first.yaml", readme_block("first.yaml"), 0644));
    must(write_file(home() / "train.py", readme_block("code/train.py"), 0644));
    shell("mkdir examples/first && cp first.yaml train.py examples/first");  // files of researcher
    shell("/usr/bin/python3 -m venv --without-pip venv && echo 'echo venv is active' >> venv/bin/activate");
    auto const id = create("first", "first.yaml", "--config 'slurm.setup=[source ~/venv/bin/activate]'");
    complete(id);
    BOOST_TEST(validation(id, "loss") < 1e-9);
    BOOST_TEST(logs(id).find("venv is active") != std::string::npos, logs(id));
}

BOOST_AUTO_TEST_CASE(the_stages_of_the_core_api_tutorial_complete) {
    auto const metrics = create("core_api", "1_metrics.yaml");
    complete(metrics);
    BOOST_TEST(validation(metrics, "x") == 100);

    auto const checkpoints = create("core_api", "2_checkpoints.yaml");
    wait_until([&] { return !ask(fmt::format("trial metrics {}", checkpoints)).empty(); }, 60s, "it trains");
    shell(fmt::format("det-submit experiment pause {}", checkpoints));
    wait_until(
        [&] { return ask(fmt::format("experiment describe {}", checkpoints)).at("state") == "PAUSED"; }, 60s,
        "it is paused");
    shell(fmt::format("det-submit experiment activate {}", checkpoints));
    complete(checkpoints);
    BOOST_TEST(validation(checkpoints, "x") == 100);
    BOOST_TEST(logs(checkpoints).find("continuing at step") != std::string::npos, logs(checkpoints));

    auto const distributed = create("core_api", "3_distributed.yaml", two_nodes);
    complete(distributed);
    BOOST_TEST(validation(distributed, "x") == 400);
}

BOOST_AUTO_TEST_CASE(torch_learns_digits_on_two_nodes) {
    auto const id = create("digits_torch", "digits_torch.yaml", two_nodes);
    complete(id);
    BOOST_TEST(validation(id, "accuracy") > 0.8);
    BOOST_TEST(ask(fmt::format("experiment list-checkpoints {}", id)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_pytorch_trial_learns_digits_on_two_nodes) {
    auto const id = create("pytorch_trial", "digits.yaml", two_nodes);
    complete(id);
    auto const validations = ask(fmt::format("trial metrics {} --group validation", id));
    BOOST_REQUIRE(validations.size() == 4u);
    BOOST_TEST(validations[3].at("metrics").at("accuracy").get<double>() > 0.8);
    BOOST_TEST(validations[3].at("metrics").at("epochs") == 4);

    // The trained model reads digits, on two ranks.
    auto const checkpoints = ask(fmt::format("experiment list-checkpoints {}", id));
    BOOST_REQUIRE(!checkpoints.empty());
    auto const inference =
        create("pytorch_trial", "predict.yaml",
               fmt::format("--config slurm.slots_per_node=2 --config hyperparameters.checkpoint={}",
                           checkpoints.back().at("uuid").get<std::string>()));
    complete(inference);
    BOOST_TEST(validation(inference, "accuracy") > 0.8);
    auto const output = ask(fmt::format("experiment list-checkpoints {}", inference)).back();
    shell(fmt::format("det-submit checkpoint download {} --output-dir output",
                      output.at("uuid").get<std::string>()));
    // A list of n digits has n - 1 commas.
    BOOST_TEST(shell("cat output/rank_*/batch-*.json | tr -dc '[,' | wc -c") == "1000");
}

BOOST_AUTO_TEST_CASE(a_script_with_a_trainer_learns_digits) {
    auto const id = create("pytorch_trial", "train.yaml", "--config slurm.slots_per_node=1");
    complete(id);
    auto const validations = ask(fmt::format("trial metrics {} --group validation", id));
    BOOST_REQUIRE(validations.size() == 2u);
    BOOST_TEST(validations[1].at("metrics").at("accuracy").get<double>() > 0.8);
}

BOOST_AUTO_TEST_CASE(a_search_stops_pytorch_trials_at_a_rung) {
    auto const id = create("pytorch_trial", "adaptive.yaml", "--config slurm.slots_per_node=2");
    complete(id);
    int stopped = 0;
    auto const trials = ask(fmt::format("experiment describe {}", id)).at("trials");
    BOOST_REQUIRE(trials.size() == 16u);
    for (auto const& trial : trials) {
        auto const reports =
            ask(fmt::format("trial metrics {} --group validation", trial.at("name").get<std::string>()));
        BOOST_REQUIRE_MESSAGE(!reports.empty(), logs(id));
        auto const epochs = reports.back().at("metrics").at("epochs").get<int>();
        BOOST_TEST((epochs == 1 || epochs == 4), reports.dump(2));
        if (epochs == 1) ++stopped;
    }
    BOOST_TEST(stopped > 0);
    BOOST_TEST(stopped < 16);
}

BOOST_AUTO_TEST_CASE(a_test_ends_after_one_batch) {
    std::vector<int> const one_batch{1};
    BOOST_TEST(test("core_api", "1_metrics.yaml") == one_batch);
    BOOST_TEST(test("core_api", "2_checkpoints.yaml") == one_batch);
    BOOST_TEST(test("core_api", "3_distributed.yaml", two_nodes) == one_batch);
    BOOST_TEST(test("digits_torch", "digits_torch.yaml", two_nodes) == one_batch);
    BOOST_TEST(test("pytorch_trial", "digits.yaml", two_nodes) == one_batch);
}

BOOST_AUTO_TEST_CASE(an_mpi_program_is_compiled_on_each_node_and_runs) {
    auto const id = create("mpi", "pi.yaml", two_nodes);
    complete(id);
    BOOST_TEST(logs(id).find("pi is about 3.14, by 4 ranks") != std::string::npos, logs(id));
}

BOOST_AUTO_TEST_CASE(a_batch_script_with_the_plugin_labels_its_ranks) {
    auto const output =
        shell("cd examples/script && sbatch --quiet --wait --output=out ranks.sbatch; sort out");
    BOOST_TEST(output.find("[rank=3] rank 3 of 4, rank 1 on n1, chief n0") != std::string::npos, output);
}

BOOST_AUTO_TEST_SUITE_END()
