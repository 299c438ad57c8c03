// Which trials and experiments are better: experiment best, compare, list --metrics.
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "experiment/config_differences.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;

namespace compare_test {

struct Fixture : CliFixture {
    Fixture() {
        write(1, {{"lr", 0.5}, {"layers", {{"count", 3}}}}, {0.5, 0.25, 0.375});
        write(2, {{"lr", 0.125}, {"layers", {{"count", 3}}}}, {0.75});
        create_example(root, 3);
        slurm.is_down = true;
    }

    static Json config_of(std::uint32_t id, Json const& hyperparameters) {
        auto const number = std::to_string(id);
        return {{"name", "run-" + number},
                {"labels", {"label-" + number}},
                {"entrypoint", id == 1 ? "python3 train.py" : "python3 other.py"},
                {"max_restarts", 5},
                {"hyperparameters", hyperparameters},
                {"resources", {{"slots_per_trial", 4 * id}}},
                {"checkpoint_storage", {{"type", "s3"}, {"secret_key", "********"}}},
                {"environment",
                 {{"environment_variables",
                   {{"cpu", {"SAME=1", "DEPTH=" + number, "WANDB_API_KEY=hunter" + number}},
                    {"cuda", {"SAME=1", "DEPTH=" + number, "WANDB_API_KEY=hunter" + number}}}}}}};
    }

    /// An experiment whose one trial validated at 100, 200 ... steps, with a checkpoint at each of them.
    void write(std::uint32_t id, Json const& hyperparameters, std::vector<double> const& losses) {
        auto const layout = create_example(root, id);
        auto spec = must(parse_spec(must(read_file(layout.spec()))));
        spec.hyperparameters = hyperparameters;
        spec.config = config_of(id, hyperparameters);
        must(write_file(layout.spec(), render_spec(spec)));
        must(start_run(layout, 0, 1).append(finish(1 + static_cast<int>(id))));
        auto chief = report(layout, 0);
        std::uint64_t step = 0;
        for (auto const loss : losses) {
            step += 100;
            must(chief.append(
                MetricsReported{minute(2), "validation", step, Json{{"loss", loss}, {"accuracy", "NaN"}}}));
            auto const uuid = "00000000-0000-4000-8000-00000000" + std::to_string(1000 * id + step);
            must(chief.append(CheckpointCommitted{minute(2), uuid, step, {}, {}}));
        }
    }
};

}  // namespace compare_test

BOOST_FIXTURE_TEST_SUITE(compare_test, Fixture)

BOOST_AUTO_TEST_CASE(the_best_trial_has_its_hyperparameters_and_best_checkpoint) {
    BOOST_TEST(run("experiment best 1") == 0);
    check_golden("cli/experiment_best.txt", out);
    auto const best = ask("experiment best 1");
    BOOST_REQUIRE(best.size() == 1u);
    BOOST_TEST(best[0]["value"] == 0.25);
    BOOST_TEST(best[0]["checkpoint"]["steps_completed"] == 200);
    BOOST_TEST(best[0]["hyperparameters"]["lr"] == 0.5);
    BOOST_TEST(ask("experiment best 3") == Json::array());
    BOOST_TEST(run("experiment best 9") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(only_hyperparameters_that_differ_are_compared) {
    BOOST_TEST(run("experiment compare 1 2 3") == 0);
    check_golden("cli/experiment_compare.txt", out);
    BOOST_TEST(run("experiment compare 1 2") == 0);
    BOOST_TEST(!contains(out, "layers"), out);
    auto const json = ask("experiment compare 1 2");
    BOOST_TEST(json[0]["duration_s"] == 60);
    BOOST_TEST(json[1]["duration_s"] == 120);
    BOOST_TEST(json[0]["slots_per_trial"] == 8);
    BOOST_TEST(json[0]["ends"] == (Json{{"finished", 1}}));
    BOOST_TEST(json[0]["metrics"] == (Json{{"loss", 0.25}, {"accuracy", "NaN"}}));
    BOOST_TEST(json[0]["hyperparameters"]["layers"]["count"] == 3);
}

BOOST_AUTO_TEST_CASE(keys_of_the_configurations_that_differ_are_compared_without_names_and_secrets) {
    BOOST_TEST(run("experiment compare 1 2 --json") == 0);
    check_golden("cli/experiment_compare.json", out);
    BOOST_TEST(!contains(out, "hunter"), out);
    BOOST_TEST(!contains(out, "max_restarts"), out);
    BOOST_TEST(run("experiment compare 1 2") == 0);
    BOOST_TEST(contains(out, "config environment.environment_variables.DEPTH | 1                | 2"), out);
    BOOST_TEST(!contains(out, "hunter"), out);
    BOOST_TEST(!contains(out, "config hyperparameters"), out);  // "hparam" rows have them
    BOOST_TEST(ask("experiment compare 1")[0]["config_differences"] == Json::object());
    BOOST_TEST(ask("experiment compare 1 1")[1]["config_differences"] == Json::object());
    // What experiment 3 does not have is null.
    BOOST_TEST(ask("experiment compare 1 3")[1]["config_differences"]["max_restarts"].is_null());
}

BOOST_AUTO_TEST_CASE(variables_and_search_spaces_are_compared_by_key) {
    auto const differences = [](Json const& a, Json const& b) {
        return Json(find_config_differences({a, b}));
    };
    auto const variables = [](Json const& list) {
        return Json{{"environment", {{"environment_variables", list}}}};
    };
    BOOST_TEST(
        differences(variables({"A=1", "B=2", "MY_TOKEN=x"}), variables({"B=3", "A=1", "MY_TOKEN=y"})) ==
        Json::parse(R"([{"environment.environment_variables.B": "2"},
                               {"environment.environment_variables.B": "3"}])"));
    for (std::string const secret : {"DB_PASS=", "PGPASSWORD=", "GITHUB_PAT=", "DB=postgres://me@host/"}) {
        BOOST_TEST(differences(variables({secret + "1"}), variables({secret + "2"}))[0].empty(), secret);
    }
    for (std::string const shown : {"MAX_TOKENS=", "PATH=", "KEYBOARD=", "DATA=https://host/"}) {
        BOOST_TEST(differences(variables({shown + "1"}), variables({shown + "2"}))[0].size() == 1u, shown);
    }
    BOOST_TEST(differences(variables({{"cpu", {"A=1"}}, {"cuda", {"A=1"}}}),
                           variables({{"cpu", {"A=1"}}, {"cuda", {"A=2"}}}))[1] ==
               Json::parse(R"({"environment.environment_variables.A": null,
                               "environment.environment_variables.A.cpu": "1",
                               "environment.environment_variables.A.cuda": "2"})"));
    BOOST_TEST(differences({{"hyperparameters", {{"lr", {{"minval", 0}, {"maxval", 1}}}}}},
                           {{"hyperparameters", {{"lr", 1}}}})[1] ==
               Json::parse(R"({"hyperparameters.lr": 1, "hyperparameters.lr.minval": null,
                               "hyperparameters.lr.maxval": null})"));
    BOOST_TEST(differences({{"name", "a"}, {"project", "p"}, {"searcher", {{"name", "single"}}}},
                           {{"name", "b"}, {"project", "q"}, {"searcher", {{"name", "random"}}}})[1] ==
               (Json{{"searcher.name", "random"}}));
}

BOOST_AUTO_TEST_CASE(the_list_shows_best_trials_if_asked) {
    BOOST_TEST(run("experiment list --metrics --csv") == 0);
    BOOST_TEST(contains(out, ",1.0,loss=0.25\n"), out);
    BOOST_TEST(ask("experiment list --metrics")[1]["best_trial"] ==
               (Json{{"name", "2.0"}, {"metric", "loss"}, {"value", 0.75}, {"steps_completed", 100}}));
    BOOST_TEST(ask("experiment list --metrics")[2]["best_trial"].is_null());
    BOOST_TEST(!ask("experiment list")[0].contains("best_trial"));
}

BOOST_AUTO_TEST_CASE(a_page_of_the_experiments_can_be_listed) {
    auto const ids = [&](std::string const& options) {
        std::vector<std::uint32_t> listed;
        for (auto const& row : ask("experiment list " + options)) listed.push_back(row["id"]);
        return listed;
    };
    using Ids = std::vector<std::uint32_t>;
    auto const all = ids("--all");
    BOOST_REQUIRE(all.size() >= 3u);
    BOOST_TEST(ids("--all --limit 2") == (Ids{all[0], all[1]}), boost::test_tools::per_element());
    BOOST_TEST(ids("--all --offset 1 --limit 1") == (Ids{all[1]}), boost::test_tools::per_element());
    BOOST_TEST(ids("--all --reverse --limit 1") == (Ids{all.back()}), boost::test_tools::per_element());
    BOOST_TEST(ids("--all --offset 99").empty());
    BOOST_TEST(ids("--limit 0").empty());
    BOOST_TEST(run("experiment archive 1") == 0, err);
    BOOST_TEST(ids("--limit 1") == (Ids{all[1]}), boost::test_tools::per_element());
    BOOST_TEST(ids("--all --limit 1") == (Ids{all[0]}), boost::test_tools::per_element());
}

// Several threads read them.
BOOST_AUTO_TEST_CASE(many_experiments_are_listed_in_their_order_with_warnings_in_theirs) {
    for (std::uint32_t id = 4; id <= 200; ++id) {
        if (id == 20 || id == 21)
            write(id, Json::object(), {0.5});
        else
            create_example(root, id);
    }
    for (auto const id : {30u, 150u}) must(write_file(ExperimentLayout(root, {id}).spec(), "{}"));
    for (auto const id : {20u, 21u})
        BOOST_REQUIRE_MESSAGE(run("experiment archive " + std::to_string(id)) == 0, err);
    auto const ids = [&](std::string const& options) {
        std::vector<std::uint32_t> listed;
        for (auto const& row : ask("experiment list " + options)) listed.push_back(row["id"]);
        return listed;
    };
    auto const all = ids("--all");
    BOOST_TEST(all.size() == 198u);
    BOOST_TEST(std::ranges::is_sorted(all));
    auto const first = err.find("listing experiment 30"), second = err.find("listing experiment 150");
    BOOST_TEST((first < second && second != std::string::npos), err);
    BOOST_TEST(ids("--offset 17 --limit 30").front() == 18u);
    BOOST_TEST(ids("--offset 17 --limit 30")[2] == 22u);
    BOOST_TEST(ids("--offset 17 --limit 30").size() == 30u);
    BOOST_TEST(ids("--reverse --limit 60").back() == 140u);
}

BOOST_AUTO_TEST_SUITE_END()
