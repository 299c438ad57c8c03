// Adaptive searches on a real Slurm: trials that lose are stopped, whatever happens to their jobs.
#include <det/foundation/files.hpp>
#include <det/foundation/text.hpp>
#include <det/journal/reader.hpp>
#include <det/protocol/json.hpp>
#include <det/search/trial_search.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <map>

#include "check_result.hpp"
#include "digits_cluster.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace std::chrono_literals;

namespace adaptive_search {

namespace fs = std::filesystem;

LoopbackOptions options() {
    auto options = DigitsCluster::with_plugin();
    options.nodes = 4;
    options.grace_s = 10;
    return options;
}

struct Site : DigitsCluster {
    Site() : DigitsCluster(options()) {
        fs::copy_file(det::test::source_path("tests/cluster/programs/learning_curve.py"),
                      home() / "learning_curve.py");
        fs::permissions(home() / "learning_curve.py", fs::perms(0644));
        shell("mkdir curve && cp learning_curve.py curve");
        must(write_file(home() / "curve.yaml",
                        "name: curve\n"
                        "entrypoint: python3 learning_curve.py\n"
                        "hyperparameters:\n"
                        "  floor: {type: double, minval: 0, maxval: 1}\n"
                        "searcher: {name: adaptive_asha, metric: loss, max_trials: 16, mode: standard,\n"
                        "  max_concurrent_trials: 4, max_length: 27, divisor: 3, max_rungs: 3}\n"
                        "resources: {slots_per_trial: 1}\n"
                        "slurm: {trials_per_node: 1}\n"
                        "reproducibility: {experiment_seed: 7}\n"
                        "max_restarts: 3\n",
                        0644));
        must(write_file(home() / "search.yaml",
                        "name: digits\n"
                        "entrypoint: [digits, digits.csv.gz]\n"
                        "hyperparameters:\n"
                        "  global_batch_size: 32\n"
                        "  learning_rate: {type: log, base: 10, minval: -3, maxval: 0}\n"
                        "records_per_epoch: 1440\n"
                        "searcher: {metric: loss, max_time: 450}\n"
                        "resources: {slots_per_trial: 1}\n"
                        "reproducibility: {experiment_seed: 7}\n",
                        0644));
    }
    int create_curve(std::string const& arguments = "") const {
        return ask("experiment create curve.yaml curve " + arguments)["id"].get<int>();
    }
    nlohmann::json search(int experiment) const {
        return ask(fmt::format("experiment describe {} --search", experiment));
    }
    std::vector<std::string> rung(int experiment, SearchDecision const& decision) const {
        ExperimentLayout const layout(directory(experiment));
        return must(list_directory(layout.rung(decision.bracket, decision.rung)));
    }
    std::size_t count_arrived(int experiment) const {
        std::size_t arrived = 0;
        auto const description = search(experiment);
        for (auto const& bracket : description["brackets"]) arrived += bracket["rungs"][0]["entries"].size();
        return arrived;
    }
    std::size_t count_decisions(int experiment, std::string const& wanted) const {
        auto const description = search(experiment);
        return static_cast<std::size_t>(std::ranges::count_if(
            description["decisions"], [&](auto const& each) { return each.at("decision") == wanted; }));
    }
    void wait_for_ranks(int ranks) const {
        auto const count = "pgrep --full '^python3 learning_curve.py' | wc -l";
        wait_until([&] { return shell(count) == std::to_string(ranks); }, 60s,
                   fmt::format("{} ranks run", ranks));
    }
    std::size_t count_interrupted(int experiment) const {
        auto const trials = ask(fmt::format("experiment list-trials {}", experiment));
        return static_cast<std::size_t>(std::ranges::count_if(
            trials, [](auto const& each) { return each.at("state") == "INTERRUPTED"; }));
    }
    std::string supervisors() const { return shell("pgrep --full '[d]et-launch trial' | wc -l"); }
    void wait_for_arrivals(int experiment, std::size_t trials) const {
        wait_until([&] { return count_arrived(experiment) >= trials; }, 90s,
                   fmt::format("{} trials have arrived at a rung", trials));
    }
};

SearchDecision decision_from(nlohmann::json const& json) {
    constexpr auto type = static_cast<std::uint16_t>(RecordType::search_decision);
    return std::get<SearchDecision>(must(decode_record(type, json.dump())).value());
}

/// Repeats each decision with the rung's present entries of the trials that the decision lists, and compares
/// the results.
void check_decisions(Site const& site, int experiment, double divisor) {
    auto const description = site.search(experiment);
    std::map<int, std::vector<std::string>> decisions_of_trials;
    for (auto const& json : description["decisions"]) {
        auto const decision = decision_from(json);
        auto const listed = must(search::parse_trial_ranges(decision.trials));
        auto entries = search::parse_rung(site.rung(experiment, decision));
        std::erase_if(entries,
                      [&](auto const& entry) { return !std::ranges::binary_search(listed, entry.trial); });
        BOOST_TEST(search::digest_of(entries) == decision.digest, json.dump());
        auto const own = search::parse_rung_entry_name(decision.entry).value();
        auto const rungs = description["brackets"][decision.bracket]["rungs"].size();
        auto const verdict =
            search::decide_at_rung(entries, own, {divisor, true, decision.rung + 1 == rungs});
        BOOST_TEST(to_string(verdict.decision) == decision.decision, json.dump());
        BOOST_TEST(verdict.better_trials == decision.better_trials);
        decisions_of_trials[json.at("trial")].push_back(decision.decision);
    }
    // Each trial arrived at its first rung, and the search ended it once.
    BOOST_TEST(decisions_of_trials.size() == 16u);
    for (auto const& [trial, decisions] : decisions_of_trials) {
        auto const ends = std::ranges::count_if(decisions, [](auto const& d) { return d != "advance"; });
        BOOST_TEST(ends == 1, fmt::format("trial {}: {}", trial, fmt::join(decisions, " ")));
        BOOST_TEST(decisions.back() != "advance");
    }
}

std::size_t count_ends(nlohmann::json const& trials, std::string const& cause) {
    std::size_t count = 0;
    for (auto const& trial : trials) count += trial.at("runs").back().at("cause") == cause ? 1 : 0;
    return count;
}

}  // namespace adaptive_search

BOOST_FIXTURE_TEST_SUITE(adaptive_search, Site)

using namespace ::adaptive_search;

BOOST_AUTO_TEST_CASE(the_shipped_template_searches_with_trials_that_share_nodes) {
    auto const id = ask("experiment create search.yaml code --template asha")["id"].get<int>();
    finish(id);
    check_decisions(*this, id, 4);
    auto const trials = ask(fmt::format("experiment list-trials {} --by-metric", id));
    BOOST_REQUIRE(trials.size() == 16u);
    // These trainings are short: a trial may end by itself before it is asked to stop.
    BOOST_TEST(count_decisions(id, "stop") >= 4u);
    BOOST_TEST(trials[0]["id"] == search(id)["best_trial"]["id"]);
    BOOST_TEST(trials[0]["best_validation"]["steps_completed"] >= 45);
    for (auto const& trial : trials) BOOST_TEST(trial.at("runs").size() == 1u);
}

BOOST_AUTO_TEST_CASE(no_trial_is_lost_or_stopped_twice_if_jobs_are_killed_preempted_and_paused) {
    auto const hold = home() / "hold";
    auto const id = create_curve(fmt::format(
        "--config hyperparameters.epoch_seconds=0.2 --config hyperparameters.hold_file={}", hold.string()));
    wait_for_arrivals(id, 2);
    shell("pkill --signal KILL --full --newest '^python3 learning_curve.py'");  // a rank
    wait_for_arrivals(id, 4);
    // Held trials do not end by themselves, so each of the following finds a running one on every node.
    must(write_file(hold, "", 0644));
    wait_for_ranks(4);
    shell("pkill --signal KILL --full --oldest '[d]et-launch trial'");  // a supervisor
    wait_until([&] { return count_interrupted(id) == 1; }, 60s, "a trial is interrupted");
    wait_for_ranks(4);
    shell("srun --partition urgent --nodes 1 --exclusive sleep 1");  // preempts a job
    wait_for_ranks(4);
    // scancel may wait for a node whose job is being preempted; the command then asks to be repeated.
    auto const pause = fmt::format("cd && det experiment pause {}", id);
    wait_until([&] { return login("researcher", {"sh", "-c", pause}).exit_code == 0; }, 120s, "it is paused");
    wait_until([&] { return supervisors() == "0"; }, 90s, "no supervisor is left");
    fs::remove(hold);
    shell(fmt::format("det experiment activate {}", id));
    finish(id);
    check_decisions(*this, id, 3);
    auto const trials = ask(fmt::format("experiment list-trials {}", id));
    BOOST_TEST(count_ends(trials, "stopped-by-search") >= 4u);
    BOOST_TEST(count_ends(trials, "stopped-by-search") + count_ends(trials, "finished") == 16u);
    std::size_t runs = 0;
    for (auto const& trial : trials) {
        BOOST_TEST(trial.at("state") == "COMPLETED");
        runs += trial.at("runs").size();
    }
    BOOST_TEST(runs >= 19u);  // the pause ended four runs, or three if the search just stopped a trial
}

BOOST_AUTO_TEST_CASE(the_decisions_are_right_with_and_without_shared_nodes) {
    auto const alone =
        ask("experiment create search.yaml code --template asha --config slurm.trials_per_node=1")["id"];
    auto const shared =
        create_curve("--config slurm.trials_per_node=4 --config hyperparameters.epoch_seconds=0.1");
    finish(alone.get<int>());
    check_decisions(*this, alone.get<int>(), 4);
    finish(shared);
    check_decisions(*this, shared, 3);
}

BOOST_AUTO_TEST_CASE(a_trial_with_invalid_hyperparameters_is_replaced) {
    auto const id = create_curve(
        "--config hyperparameters.invalid_above=0.9 --config searcher.max_trials=8 "
        "--config hyperparameters.epoch_seconds=0.02");
    finish(id);
    auto const trials = ask(fmt::format("experiment list-trials {}", id));
    auto const invalid = count_ends(trials, "invalid-hyperparameters");
    BOOST_TEST(invalid >= 1u);  // trials 5, 6 and 7 of seed 7
    BOOST_TEST(trials.size() == 8u + invalid);
    for (auto const& trial : trials) {
        auto const floor = trial.at("hyperparameters").at("floor").get<double>();
        BOOST_TEST((trial.at("runs").back().at("cause") == "invalid-hyperparameters") == (floor > 0.9));
    }
}

BOOST_AUTO_TEST_CASE(every_shipped_template_makes_an_experiment) {
    for (auto const& entry : fs::directory_iterator(det::test::source_path("templates/config"))) {
        auto const name = entry.path().stem().string();
        auto const config = name == "asha" ? "search.yaml" : "digits.yaml";
        auto const out = login(
            "researcher", {"sh", "-c",
                           fmt::format("cd && det-submit experiment create {} code --template {} --dry-run",
                                       config, name)});
        BOOST_TEST(out.exit_code == 0, name << ": " << out.err);
        BOOST_TEST(out.out.find("#SBATCH") != std::string::npos, name << ": " << out.out);
    }
}

BOOST_AUTO_TEST_SUITE_END()
