// Experiments that have ended go on, on a real Slurm: under the same id, changed, from where they were.
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "digits_cluster.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace {

struct Site : DigitsCluster {
    Site() : DigitsCluster(with_plugin()) {}

    nlohmann::json go_on(int id, std::string const& changes) const {
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

}  // namespace

BOOST_FIXTURE_TEST_SUITE(continued, Site)

BOOST_AUTO_TEST_CASE(a_training_that_has_completed_goes_on_at_its_last_step_for_as_long_again) {
    auto const id = create(std::string(one_node) + "--config hyperparameters.epochs=3");
    finish(id);
    auto const told = go_on(id, "--config hyperparameters.epochs=6");
    BOOST_TEST(told.at("changes").at(0).at("to") == 6);
    finish(id);
    auto const runs = trial(id).at("runs");
    BOOST_REQUIRE(runs.size() == 2u);
    BOOST_TEST(runs.at(1).at("job") != runs.at(0).at("job"));
    auto const checkpoints = ask(fmt::format("experiment list-checkpoints {}", id));
    auto const half = runs.at(1).at("steps_completed").get<int>();
    BOOST_TEST(half > 0);
    BOOST_TEST(checkpoints.back().at("steps_completed") == 2 * half);

    // What has ended is continued, what goes on is not.
    shell(fmt::format("det experiment archive {}", id));
    shell(fmt::format("! det experiment continue {}", id));
}

BOOST_AUTO_TEST_CASE(of_a_grid_the_trial_with_a_bad_value_runs_again_once_that_is_mended) {
    auto const id = create(std::string(one_node) +
                           "--config max_restarts=0 --config hyperparameters.epochs=1 "
                           "--config 'searcher={name: grid, metric: loss}' --config "
                           "'hyperparameters.hidden_units={type: categorical, vals: [8, many, 24]}'");
    finish(id);  // two of three
    BOOST_TEST(states(id) == (std::vector<std::string>{"COMPLETED", "ERROR", "COMPLETED"}),
               boost::test_tools::per_element());
    auto const told = go_on(id, "--config 'hyperparameters.hidden_units.vals=[8, 16, 24]'");
    BOOST_TEST(told.at("trials") == nlohmann::json::array({fmt::format("{}.1", id)}));
    finish(id);
    BOOST_TEST(states(id) == (std::vector<std::string>(3, "COMPLETED")), boost::test_tools::per_element());
    for (std::size_t index = 0; index < 3; ++index)
        BOOST_TEST(trial(id, index).at("runs").size() == (index == 1 ? 2u : 1u), index);
    BOOST_TEST(ask(fmt::format("experiment list-checkpoints {}", id)).size() == 3u);
}

BOOST_AUTO_TEST_CASE(what_was_killed_before_it_ran_goes_on_and_can_be_paused_and_cancelled_again) {
    auto const id = create(std::string(endless) + "--paused");
    shell(fmt::format("det experiment kill {}", id));
    wait_for_state(id, "CANCELED");
    go_on(id, "");
    wait_for_run(id, 0);
    shell(fmt::format("det experiment pause {}", id));
    wait_for_state(id, "PAUSED");
    shell(fmt::format("det experiment activate {}", id));
    wait_for_run(id, 1);
    shell(fmt::format("det experiment cancel {}", id));
    wait_for_state(id, "CANCELED");
    auto const before = trial(id).at("runs").back();
    go_on(id, "");
    wait_for_run(id, 2);
    BOOST_TEST(trial(id).at("runs").at(2).at("steps_completed") > before.at("steps_completed"));
    shell(fmt::format("det experiment kill {}", id));
    wait_for_state(id, "CANCELED");
}

BOOST_AUTO_TEST_SUITE_END()
