#include <det/protocol/json.hpp>
#include <det/search/search.hpp>

#include <boost/test/unit_test.hpp>

#include "create_support.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace search_preview_test {

struct Fixture : CreateFixture {
    void write(std::string const& text) const {
        must(write_file(directory / "exp.yaml", "name: example\nentrypoint: ./train\n" + text));
    }
    std::string preview(std::string const& options = "") const {
        return "search preview " + (directory / "exp.yaml").string() + options;
    }
};

std::string const seed_and_space =
    "reproducibility: {experiment_seed: 42}\n"
    "hyperparameters:\n"
    "  lr: {type: log, base: 10, minval: -4, maxval: -1}\n"
    "  batch: {type: int, minval: 16, maxval: 128}\n"
    "  opt:\n"
    "    name: {type: categorical, vals: [adam, sgd, [x, 1]]}\n"
    "    momentum: {type: double, minval: 0.5, maxval: 0.99}\n"
    "  fixed: true\n";

std::string const random_search =
    "searcher: {name: random, metric: loss, max_trials: 5, max_concurrent_trials: 2}\n" + seed_and_space;

std::string const custom_search =
    "searcher: {name: custom, metric: loss, command: [python3, sampler.py], max_trials: 5}\n" +
    seed_and_space;

constexpr char asha_search[] =
    "searcher: {name: adaptive_asha, metric: loss, max_trials: 100, max_length: {batches: 1000}}\n"
    "reproducibility: {experiment_seed: 42}\n"
    "resources: {slots_per_trial: 8}\n"
    "hyperparameters: {lr: {type: double, minval: 0, maxval: 1}}\n";

constexpr char grid_search[] =
    "searcher: {name: grid, metric: loss}\n"
    "reproducibility: {experiment_seed: 42}\n"
    "hyperparameters:\n"
    "  width: {type: int, minval: 1, maxval: 10, count: 4}\n"
    "  opt: {name: {type: categorical, vals: [adam, sgd]}}\n"
    "  group: {}\n";

}  // namespace search_preview_test

BOOST_FIXTURE_TEST_SUITE(search_preview_test, Fixture)

BOOST_AUTO_TEST_CASE(trials_are_a_table_with_a_column_for_each_hyperparameter) {
    write(random_search);
    BOOST_TEST(run(preview()) == 0);
    check_golden("cli/search_preview_random.txt", out);
    BOOST_TEST(err == "");
    write(custom_search);
    BOOST_TEST(run(preview()) == 0);
    check_golden("cli/search_preview_custom.txt", out);
    write(grid_search);
    BOOST_TEST(run(preview()) == 0);
    check_golden("cli/search_preview_grid.txt", out);
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_CASE(what_a_sampler_decides_besides_hyperparameters_is_shown) {
    write(custom_search);
    BOOST_TEST(run(preview(" --config searcher.prune=true --config searcher.max_length.batches=10")) == 0);
    BOOST_TEST(contains(out, "Each trains up to 10 batches\n\nIn all at most 50 batches\n"), out);
    BOOST_TEST(contains(out, "\nIt may end a trial that has reported a validation\n"), out);
    std::string const lengths = " --config searcher.sets_lengths=true --config searcher.unit=epochs";
    BOOST_TEST(run(preview(lengths + " --config searcher.max_length.batches=10")) == 0);
    BOOST_TEST(contains(out, "\nIt also says how many epochs each trial trains\n"), out);
    BOOST_TEST(!contains(out, "In all"), out);
    auto const answer = ask(preview(lengths));
    BOOST_TEST(answer["length_unit"] == "epochs");
    BOOST_TEST(answer["prune"] == false);
    BOOST_TEST(ask(preview())["length_unit"].is_null());
    BOOST_TEST(run(preview(lengths + " --unit-time 90s")) == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "the sampler says how long each trial trains"), err);
}

BOOST_AUTO_TEST_CASE(of_an_experiment_it_shows_what_the_search_has_done) {
    write(asha_search);
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(run("experiment describe 1 --search") == 0, err);
    auto const described = out;
    BOOST_TEST(contains(described, "Rung"), described);
    for (std::string const name : {"1", "example", "last"}) {
        BOOST_TEST(run("search preview " + name) == 0, err);
        BOOST_TEST(out == described);
    }
    BOOST_TEST((ask("search preview 1") == ask("experiment describe 1 --search")));
    BOOST_TEST(run("search preview 1 --trials 3") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "experiment 1 takes no further options"), err);
    BOOST_TEST(run("search preview 2") == to_int(ExitCode::absent));
    BOOST_TEST(run("search preview exampel") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(json_has_the_same_trials) {
    write(grid_search);
    auto const answer = ask(preview());
    BOOST_TEST(answer["searcher"] == "grid");
    BOOST_TEST(answer["trial_count"] == 8);
    BOOST_TEST(answer["concurrent_trials_max"] == 8);
    BOOST_TEST(answer["experiment_seed"] == 42);
    BOOST_TEST(answer["trials"].size() == 8u);
    BOOST_TEST(
        (answer["trials"][0] ==
         Json{{"index", 0},
              {"seed", 996406378},
              {"hyperparameters", {{"width", 10}, {"opt", {{"name", "sgd"}}}, {"group", Json::object()}}}}));
}

BOOST_AUTO_TEST_CASE(an_adaptive_search_shows_its_brackets_and_what_they_cost) {
    write(asha_search);
    BOOST_TEST(run(preview(" --trials 1 --unit-time 90ms")) == 0);
    check_golden("cli/search_preview_asha.txt", out);
    auto const answer = ask(preview(" --unit-time 90ms"));
    auto const& brackets = answer["brackets"];
    BOOST_REQUIRE(brackets.size() == 3u);
    BOOST_TEST(brackets[1]["trials"] == 22);
    BOOST_TEST(brackets[1]["rungs"][0]["length"] == 62);
    auto const& budget = answer["budget"];
    BOOST_TEST(budget["unit"] == "batches");
    auto const hours = budget["total_length"].get<double>() * 0.09 * 8 / 3600;
    BOOST_TEST(budget["slot_hours"].get<double>() == hours, boost::test_tools::tolerance(1e-12));
    BOOST_TEST(ask(preview())["budget"]["slot_hours"].is_null());
    BOOST_TEST(run(preview(" --unit-time 90")) == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "'90' is not a duration"), err);
    write(random_search);
    BOOST_TEST(run(preview(" --unit-time 90s")) == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "--unit-time needs the length of a training"), err);
    auto const random = ask(preview(" --unit-time 1h --config searcher.max_length.epochs=3"));
    BOOST_TEST(random["budget"]["total_length"] == 15);
    BOOST_TEST(random["budget"]["slot_hours"] == 15);
}

BOOST_AUTO_TEST_CASE(the_requested_number_of_trials_is_shown) {
    write(random_search);
    auto const all = ask(preview());
    auto const two = ask(preview(" --trials 2"));
    BOOST_TEST(two["trial_count"] == 5);
    BOOST_TEST(two["trials"].size() == 2u);
    BOOST_TEST((two["trials"][1] == all["trials"][1]));
    BOOST_TEST(contains(err, "3 more trials: see them with --trials 5"), err);
    BOOST_TEST(ask(preview(" --config searcher.max_trials=1000"))["trials"].size() == 100u);
    BOOST_TEST(ask(preview(" --config searcher.max_trials=1000 --trials 1000"))["trials"].size() == 1000u);
}

BOOST_AUTO_TEST_CASE(a_generated_seed_is_reported) {
    write("searcher: {name: single, metric: loss}\n");
    BOOST_TEST(run(preview()) == 0);
    BOOST_TEST(contains(out, "single: 1 trial; experiment seed"), out);
    BOOST_TEST(contains(err, "set reproducibility.experiment_seed"), err);
    BOOST_TEST(run(preview(" --config reproducibility.experiment_seed=7")) == 0);
    BOOST_TEST(err == "");
}

BOOST_AUTO_TEST_CASE(an_invalid_search_is_refused) {
    write("searcher: {name: grid, metric: loss}\n");
    BOOST_TEST(run(preview()) == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "a grid search without hyperparameters has no trials"), err);
    BOOST_TEST(out == "");
    write(
        "searcher: {name: adaptive_asha, metric: loss, max_trials: 3, max_length: {batches: 1}, "
        "bracket_rungs: [99]}\n");
    BOOST_TEST(run(preview()) == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "searcher.bracket_rungs must be integers from 1 to 64"), err);
    BOOST_TEST(run("search preview absent.yaml") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(the_submitted_trials_are_those_of_the_preview) {
    write(random_search);
    auto const previewed = ask(preview())["trials"];
    BOOST_TEST(create() == 0, err);
    auto const spec = must(parse_spec(must(read_file(experiment(1).spec()))));
    BOOST_TEST(spec.trial_count == 5u);
    BOOST_TEST(contains(must(read_file(experiment(1).script())), "#SBATCH --array=0-2%1\n"));
    for (std::uint32_t index = 0; index < spec.trial_count; ++index) {
        auto const draw = must(search::draw_trial(spec, index));
        BOOST_TEST((previewed[index]["hyperparameters"] == draw.hyperparameters));
        BOOST_TEST(previewed[index]["seed"] == draw.seed);
    }
}

BOOST_AUTO_TEST_SUITE_END()
