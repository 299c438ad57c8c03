// `experiment continue` on a real Slurm: an ended experiment runs again with the same id and a changed
// configuration.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace continue_experiment {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    nlohmann::json continue_experiment(int id, std::string const& changes) const {
        return ask(fmt::format("experiment continue {} {}", id, changes));
    }
    std::vector<std::string> states(int id) const {
        std::vector<std::string> states;
        for (auto const& each : ask(fmt::format("experiment list-trials {}", id)))
            states.push_back(each.at("state"));
        return states;
    }
};

constexpr char one_node[] = "--template mpi --config resources.slots_per_trial=4 ";

}  // namespace continue_experiment

BOOST_FIXTURE_TEST_SUITE(continue_experiment, Site)

BOOST_AUTO_TEST_CASE(a_completed_trial_continues_at_its_last_step) {
    auto const id = create(std::string(one_node) + "--config searcher.max_length.epochs=3");
    finish(id);
    auto const answer = continue_experiment(id, "--config searcher.max_length.epochs=6");
    BOOST_TEST(answer.at("changes").at(0).at("to") == 6);
    finish(id);
    auto const runs = trial(id).at("runs");
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs.at(1).at("job") != runs.at(0).at("job"));
    auto const checkpoints = ask(fmt::format("experiment list-checkpoints {}", id));
    auto const half = runs.at(1).at("steps_completed").get<int>();
    BOOST_TEST(half > 0);
    BOOST_TEST(checkpoints.back().at("steps_completed") == 2 * half);

    // With -f the command ends with the trial.
    shell(fmt::format("det experiment continue {} -f --config searcher.max_length.epochs=7", id));
    BOOST_TEST(states(id) == std::vector<std::string>{"COMPLETED"}, boost::test_tools::per_element());
    BOOST_TEST(trial(id).at("runs").size() == 3u);

    // An archived experiment can't be continued.
    shell(fmt::format("det experiment archive {}", id));
    shell(fmt::format("! det experiment continue {}", id));
}

BOOST_AUTO_TEST_CASE(only_the_failed_trial_of_a_grid_runs_again) {
    auto const id = create(std::string(one_node) +
                           "--config max_restarts=0 "
                           "--config 'searcher={name: grid, metric: loss, max_length: {epochs: 1}}' --config "
                           "'hyperparameters.hidden_units={type: categorical, vals: [8, many, 24]}'");
    finish(id);  // two of three
    BOOST_TEST(states(id) == (std::vector<std::string>{"COMPLETED", "ERROR", "COMPLETED"}),
               boost::test_tools::per_element());
    auto const answer = continue_experiment(id, "--config 'hyperparameters.hidden_units.vals=[8, 16, 24]'");
    BOOST_TEST(answer.at("trials") == nlohmann::json::array({fmt::format("{}.1", id)}));
    finish(id);
    BOOST_TEST(states(id) == (std::vector<std::string>(3, "COMPLETED")), boost::test_tools::per_element());
    for (std::size_t index = 0; index < 3; ++index)
        BOOST_TEST(trial(id, index).at("runs").size() == (index == 1 ? 2u : 1u), index);
    BOOST_TEST(ask(fmt::format("experiment list-checkpoints {}", id)).size() == 3u);
}

BOOST_AUTO_TEST_CASE(an_experiment_killed_before_its_first_run_can_be_continued_paused_and_cancelled) {
    auto const id = create(std::string(endless) + "--paused");
    shell(fmt::format("det experiment kill {}", id));
    wait_for_state(id, "CANCELED");
    continue_experiment(id, "");
    wait_for_run(id, 0);
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 1);
    shell(fmt::format("det experiment cancel {}", id));
    wait_for_state(id, "CANCELED");
    auto const before = trial(id).at("runs").back();
    continue_experiment(id, "");
    wait_for_run(id, 2);
    BOOST_TEST(trial(id).at("runs").at(2).at("steps_completed") > before.at("steps_completed"));
    shell(fmt::format("det experiment kill {}", id));
    wait_for_state(id, "CANCELED");
}

BOOST_AUTO_TEST_SUITE_END()
