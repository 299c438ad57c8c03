// Searches whose hyperparameters a program chooses, on a real Slurm.
#include <det/foundation/files.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <map>
#include <set>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace sampler_searches {

namespace fs = std::filesystem;

LoopbackOptions options() {
    auto options = DigitsCluster::with_plugin();
    options.nodes = 2;
    return options;
}

struct Site : DigitsCluster {
    Site() : DigitsCluster(options()) {
        shell("mkdir curve");
        for (auto const* name : {"learning_curve.py", "shrinking_sampler.py"}) {
            fs::copy_file(det::test::source_path(std::string("tests/cluster/programs/") + name),
                          home() / name);
            fs::permissions(home() / name, fs::perms(0644));
            shell(fmt::format("cp {} curve", name));
        }
        must(write_file(home() / "curve.yaml",
                        "name: curve\n"
                        "entrypoint: python3 learning_curve.py\n"
                        "hyperparameters:\n"
                        "  floor: {type: double, minval: 0, maxval: 1}\n"
                        "  epochs: 8\n"
                        "  epoch_seconds: 0.02\n"
                        "searcher: {name: custom, metric: loss, command: [python3, shrinking_sampler.py],\n"
                        "  max_trials: 6, max_concurrent_trials: 2}\n"
                        "resources: {slots_per_trial: 1}\n"
                        "max_restarts: 1\n",
                        0644));
    }
    /// A search written for Determined, and the trials that it trains.
    void copy_custom_search() const {
        auto const source = det::test::source_path("tests/cluster/programs/custom_search");
        shell("mkdir --parents custom_search/trial_code");
        for (auto const& file : fs::recursive_directory_iterator(source)) {
            if (!file.is_regular_file()) continue;
            must(write_file(home() / "copied", must(read_file(file.path())), 0644));
            shell("cp copied custom_search/" + fs::relative(file.path(), source).string());
        }
    }
    int create_search(std::string const& arguments) const {
        return ask("experiment create curve.yaml curve " + arguments)["id"].get<int>();
    }
    /// The decisions of the sampler: objects, in their order.
    nlohmann::json decisions(int experiment) const {
        return ask(fmt::format("experiment describe {} --search", experiment)).at("sampler");
    }
    nlohmann::json trials(int experiment) const {
        return ask(fmt::format("experiment list-trials {}", experiment));
    }
    std::string det(std::string const& command) const {
        return login("researcher", {"sh", "-c", "cd && det-submit " + command}).out;
    }
    void wait_for_ranks(int ranks) const {
        auto const count = "pgrep --full '^python3 learning_curve.py' | wc -l";
        wait_until([&] { return shell(count) == std::to_string(ranks); }, 60s,
                   fmt::format("{} ranks run", ranks));
    }
};

/// The floor with which a trial has trained for 8 epochs, by its best loss.
double floor_of(nlohmann::json const& trial) {
    return trial.at("best_validation").at("value").get<double>() - 1.0 / 8;
}

}  // namespace sampler_searches

BOOST_FIXTURE_TEST_SUITE(sampler_searches, Site)

using namespace ::sampler_searches;

BOOST_AUTO_TEST_CASE(each_trial_gets_what_the_sampler_chooses_until_it_stops_the_search) {
    for (auto const* shared : {"1", "2"}) {
        auto const id = create_search("--config searcher.stop_after=4 --config slurm.trials_per_node=" +
                                      std::string(shared));
        finish(id);
        std::vector<double> floors;
        int unneeded = 0;
        for (auto const& trial : trials(id)) {
            BOOST_TEST(trial.at("state") == "COMPLETED");
            if (trial.at("runs").back().at("cause") == "stopped-by-search") {
                BOOST_TEST(trial.at("best_validation").is_null());
                ++unneeded;
                continue;
            }
            BOOST_TEST(std::abs(floor_of(trial) - trial.at("hyperparameters").at("floor").get<double>()) <
                       1e-9);
            floors.push_back(floor_of(trial));
        }
        std::ranges::sort(floors, std::greater<>());
        BOOST_TEST(unneeded == 2);
        BOOST_REQUIRE(floors.size() == 4u);
        double number = 0;
        for (auto const floor : floors) BOOST_TEST(std::abs(floor - 0.9 / ++number) < 1e-9);
        BOOST_TEST(decisions(id).size() == 5u);
        BOOST_TEST(det(fmt::format("trial describe {}.5", id)).find("4 trials are enough") !=
                   std::string::npos);
    }
}

BOOST_AUTO_TEST_CASE(
    a_trial_whose_supervisor_and_node_processes_are_killed_has_the_same_hyperparameters_again) {
    auto const hold = home() / "hold";
    must(write_file(hold, "", 0644));
    auto const id =
        create_search(fmt::format("--config searcher.max_trials=2 --config slurm.trials_per_node=1 --config "
                                  "hyperparameters.hold_file={}",
                                  hold.string()));
    wait_for_ranks(2);
    auto const before = decisions(id);
    BOOST_REQUIRE(before.size() == 2u);
    shell("pkill --signal KILL --full '[d]et-launch trial'");  // both supervisors and their parents
    wait_until(
        [&] {
            auto const all = trials(id);
            return std::ranges::all_of(all,
                                       [](auto const& each) { return each.at("state") == "INTERRUPTED"; });
        },
        90s, "both trials are interrupted");
    det(fmt::format("experiment activate {}", id));
    wait_for_ranks(2);
    fs::remove(hold);
    finish(id);
    BOOST_TEST(decisions(id).size() == 2u);
    auto const after = trials(id);
    for (std::size_t index = 0; index < after.size(); ++index) {
        auto const& trial = after[index];
        BOOST_TEST(trial.at("runs").size() == 2u);
        auto const begin =
            std::ranges::find_if(before, [&](auto const& each) { return each.at("trial") == index; });
        BOOST_REQUIRE((begin != before.end()));
        auto const floor = begin->at("hyperparameters").at("floor").get<double>();
        BOOST_TEST(std::abs(floor_of(trial) - floor) < 1e-9);
    }
}

BOOST_AUTO_TEST_CASE(a_sampler_that_fails_hangs_or_answers_nonsense_is_reported) {
    std::pair<std::string, std::string> const moods[] = {
        {"fail", "ValueError: no mood to choose"},
        {"hang", "has not answered within 2 s"},
        {"nonsense", "the sampler's answer is wrong: 'floor = 0.5' is no JSON object"}};
    for (auto const& [mood, message] : moods) {
        auto const id = create_search(fmt::format(
            "--config searcher.max_trials=1 --config searcher.answer_timeout=2 --config searcher.mood={}",
            mood));
        wait_for_state(id, "INTERRUPTED");
        auto const described = det(fmt::format("trial describe {}.0", id));
        BOOST_TEST(described.find(message) != std::string::npos, described);
        auto const output = shell(fmt::format("cat {}/slurm-*.out", directory(id).string()));
        BOOST_TEST(output.find(message) != std::string::npos, output);
        BOOST_TEST(decisions(id).empty());
    }
}

BOOST_AUTO_TEST_CASE(a_search_whose_sampler_has_failed_goes_on_when_the_user_activates_it) {
    auto const broken = home() / "broken";
    for (auto const* shared : {"1", "2"}) {
        must(write_file(broken, "", 0644));
        auto const id = create_search(
            fmt::format("--config searcher.max_trials=2 --config slurm.trials_per_node={} --config "
                        "searcher.mood=fail --config searcher.mood_file={}",
                        shared, broken.string()));
        wait_for_state(id, "INTERRUPTED");
        fs::remove(broken);
        det(fmt::format("experiment activate {}", id));
        finish(id);
        BOOST_TEST(decisions(id).size() == 2u);
        for (auto const& trial : trials(id)) BOOST_TEST(trial.at("runs").back().at("cause") == "finished");
    }
}

BOOST_AUTO_TEST_CASE(a_trial_that_the_sampler_prunes_ends_and_the_others_go_on) {
    auto const id = create_search(
        "--config searcher.max_trials=3 --config searcher.prune=true --config searcher.prune_above=0.6 "
        "--config hyperparameters.epochs=150 --config hyperparameters.epoch_seconds=0.1 "
        "--config slurm.trials_per_node=1");
    finish(id);
    auto const all = decisions(id);
    auto const prune = std::ranges::find_if(all, [](auto const& each) { return !each.at("prune").empty(); });
    BOOST_REQUIRE((prune != all.end()));
    BOOST_REQUIRE(prune->at("prune").size() == 1u);
    for (auto const& trial : trials(id)) {
        bool const is_worst = trial.at("hyperparameters").at("floor") == 0.9;
        auto const cause = trial.at("runs").back().at("cause").get<std::string>();
        BOOST_TEST(cause == (is_worst ? "stopped-by-search" : "finished"));
    }
    auto const described = det(fmt::format("experiment describe {} --search", id));
    BOOST_TEST(described.find("prune " + prune->at("prune")[0].dump()) != std::string::npos, described);
}

BOOST_AUTO_TEST_CASE(optuna_chooses_the_trials_of_a_search) {
    if (login("researcher", {"python3", "-c", "import optuna"}).exit_code != 0) {
        BOOST_TEST_MESSAGE("skipped: Optuna is not installed");
        return;
    }
    must(write_file(home() / "optuna_sampler.py",
                    "import determined.optuna\n"
                    "import optuna\n\n\n"
                    "def make_study(seed):\n"
                    "    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=4)\n"
                    "    return optuna.create_study(sampler=sampler)\n\n\n"
                    "determined.optuna.run(make_study)\n",
                    0644));
    shell("cp optuna_sampler.py curve");
    auto const id = create_search(
        "--config 'searcher.command=[python3, optuna_sampler.py]' --config searcher.max_trials=12");
    finish(id);
    std::vector<double> floors(12);
    for (auto const& each : decisions(id))
        floors[each.at("trial").get<std::size_t>()] = each.at("hyperparameters").at("floor").get<double>();
    // The first four are random, and TPE then stays where the losses were low.
    BOOST_TEST(*std::ranges::min_element(floors) < 0.3);
    BOOST_TEST(std::set(floors.begin(), floors.end()).size() == 12u);
    for (auto const& trial : trials(id))
        BOOST_TEST(std::abs(floor_of(trial) - trial.at("hyperparameters").at("floor").get<double>()) < 1e-9);
}

constexpr char run_python[] =
    "PYTHONPATH=$(dirname $(command -v det-submit))/../lib/det-submit/python /usr/bin/python3 -B";

/// The length to which each trial has trained, where its loss was the best; in descending order.
std::vector<int> lengths_of(nlohmann::json const& trials) {
    std::vector<int> lengths;
    for (auto const& trial : trials) {
        auto const& last = trial.at("best_validation");
        if (!last.is_null()) lengths.push_back(last.at("steps_completed").get<int>());
    }
    std::ranges::sort(lengths, std::greater<>());
    return lengths;
}

BOOST_AUTO_TEST_CASE(a_custom_search_written_for_determined_runs_from_the_login_node) {
    copy_custom_search();
    auto const printed = shell(std::string("cd custom_search && ") + run_python +
                                   " run_experiment.py 2>runner.log || cat runner.log",
                               180s);
    BOOST_TEST(printed.find("Experiment 1 has been completed.") != std::string::npos, printed);
    BOOST_TEST(state(1) == "COMPLETED");
    auto const all = trials(1);
    auto const lengths = lengths_of(all);
    BOOST_REQUIRE(lengths.size() == 8u);  // of at most 12
    BOOST_TEST(lengths.front() == 16);
    BOOST_TEST(lengths.back() == 4);
    double best_floor = 1, best_of_long = 1;
    for (auto const& trial : all) {
        BOOST_TEST(trial.at("state") == "COMPLETED");
        if (trial.at("best_validation").is_null()) continue;
        auto const floor = trial.at("hyperparameters").at("floor").get<double>();
        best_floor = std::min(best_floor, floor);
        if (trial.at("best_validation").at("steps_completed") == 16)
            best_of_long = std::min(best_of_long, floor);
    }
    BOOST_TEST(best_floor == best_of_long);
    wait_until([&] { return shell("squeue --noheader | wc -l") == "0"; }, 30s,
               "no job goes back to the queue");
    // A trial that trains on begins where it was, in a run of its own.
    auto const logs = shell(fmt::format("cat {}/trials/*/runs/*/node-0.log", directory(1).string()));
    BOOST_TEST(logs.find("begins at batch 0") != std::string::npos);
    BOOST_TEST(logs.find("begins at batch 8") != std::string::npos);
    // The script again waits for the same experiment, which has ended.
    BOOST_TEST(shell(std::string("cd custom_search && ") + run_python + " run_experiment.py")
                   .find("Experiment 1 has") != std::string::npos);
    auto const described = det("experiment describe 1 --search");
    BOOST_TEST(described.find("trained") != std::string::npos, described);
    BOOST_TEST(described.find("the search method has shut down the search") != std::string::npos, described);
}

BOOST_AUTO_TEST_CASE(a_custom_search_written_for_determined_is_the_sampler_of_an_experiment) {
    copy_custom_search();
    for (auto const* shared : {"1", "2"}) {
        auto const id =
            ask(fmt::format("experiment create custom_search/trial_code/config.yaml custom_search "
                            "--config 'entrypoint=python3 trial_code/train.py' --config "
                            "'searcher.command=[python3, run_experiment.py]' --config "
                            "searcher.sets_lengths=true --config slurm.trials_per_node={}",
                            shared))["id"]
                .get<int>();
        finish(id);
        auto const lengths = lengths_of(trials(id));
        BOOST_REQUIRE(lengths.size() == 8u);
        BOOST_TEST(lengths.front() == 16);
    }
}

BOOST_AUTO_TEST_CASE(a_custom_search_whose_supervisors_are_killed_goes_on_without_repeating_an_event) {
    copy_custom_search();
    auto const id = ask("experiment create custom_search/trial_code/config.yaml custom_search "
                        "--config 'entrypoint=python3 trial_code/train.py' --config "
                        "'searcher.command=[python3, run_experiment.py]' --config "
                        "searcher.sets_lengths=true --config slurm.trials_per_node=1")["id"]
                        .get<int>();
    wait_until([&] { return decisions(id).size() >= 4; }, 60s, "four answers are recorded");
    shell("pkill --signal KILL --full '[d]et-launch trial'");
    wait_for_state(id, "INTERRUPTED");
    det(fmt::format("experiment activate {}", id));
    finish(id);
    auto const lengths = lengths_of(trials(id));
    BOOST_REQUIRE(lengths.size() == 8u);
    BOOST_TEST(lengths.front() == 16);
    std::map<int, int> trained;
    for (auto const& each : decisions(id)) {
        if (each.at("question") == "trained") ++trained[each.at("trial").get<int>()];
    }
    for (auto const& [trial, count] : trained) BOOST_TEST(count <= 3, trial << " was told too often");
}

BOOST_AUTO_TEST_CASE(a_custom_search_written_for_determined_runs_from_a_trial) {
    copy_custom_search();
    auto const remote = ask("experiment create custom_search/searcher.yaml custom_search")["id"].get<int>();
    finish(remote);
    BOOST_TEST(state(remote + 1) == "COMPLETED");
    auto const lengths = lengths_of(trials(remote + 1));
    BOOST_REQUIRE(lengths.size() == 4u);
    BOOST_TEST(lengths.front() == 16);
}

/// Trial 0 waits for a length while trial 1 trains. It gets none, and then it is killed.
constexpr char waiting_sampler[] = R"(case $(tail -n 1) in
*begin*0}) a='"hyperparameters": {"floor": 0.1}, "lengths": {"0": 8}, "can_begin": 2';;
*begin*1}) a='"hyperparameters": {"floor": 0.2, "hold_file": "HOLD"}, "lengths": {"1": 8}';;
*trained*1}) a='"stop": "enough"';;
*) a='"close": []';;
esac
echo "{\"sampler\": 1, $a}"
)";

BOOST_AUTO_TEST_CASE(a_waiting_trial_that_the_user_kills_is_told_to_the_sampler_while_others_train) {
    auto const hold = home() / "hold";
    must(write_file(hold, "", 0644));
    auto script = std::string(waiting_sampler);
    script.replace(script.find("HOLD"), 4, hold.string());
    must(write_file(home() / "waiting.sh", script, 0644));
    shell("cp waiting.sh curve");
    auto const id = create_search(
        "--config 'searcher.command=[sh, waiting.sh]' --config searcher.sets_lengths=true --config "
        "slurm.trials_per_node=1");
    auto const has_answered = [&](std::string const& question, int trial) {
        return std::ranges::any_of(decisions(id), [&](auto const& each) {
            return each.at("question") == question && each.at("trial") == trial;
        });
    };
    wait_until([&] { return has_answered("trained", 0) && has_answered("begin", 1); }, 60s,
               "trial 0 waits, and trial 1 has begun");
    BOOST_TEST(trials(id)[0].at("state") == "QUEUED");
    det(fmt::format("trial kill {}.0", id));
    wait_until([&] { return has_answered("exited", 0); }, 60s, "the sampler is told");
    fs::remove(hold);
    wait_until([&] { return has_answered("trained", 1); }, 60s, "trial 1 trains on");
    wait_until([&] { return shell("squeue --noheader | wc -l") == "0"; }, 60s, "no job is left");
    auto const all = trials(id);
    BOOST_TEST(all[0].at("state") == "CANCELED");
    for (std::size_t trial = 1; trial < all.size(); ++trial)
        BOOST_TEST(all[trial].at("state") == "COMPLETED", all[trial].dump());
    BOOST_TEST(decisions(id).size() == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
