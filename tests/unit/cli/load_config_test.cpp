// The layers of a configuration from their files; how they merge is tested in config.
#include <det/config/explain_config.hpp>
#include <det/experiment/load_config.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "golden.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace load_config_test {

struct Fixture : CliFixture {
    std::filesystem::path file = directory / "exp.yaml";

    Fixture() { write("entrypoint: ./train\nsearcher: {name: single, metric: loss}\n"); }

    void write(std::string const& text) const { must(write_file(file, text)); }
    void write_template(std::string const& name, std::string const& text) const {
        must(make_directories(root.templates()));
        must(write_file(root.templates() / (name + ".yaml"), text));
    }
    Result<LoadedConfig, Diagnostics> load(std::optional<std::string> name = std::nullopt,
                                           std::vector<std::string> overrides = {}) const {
        return load_config({file, std::move(name), std::move(overrides)}, root, clock.now());
    }
    Error refusal(std::optional<std::string> name, std::vector<std::string> overrides = {}) const {
        return must_fail(load(std::move(name), std::move(overrides))).sorted().at(0).error;
    }
};

}  // namespace load_config_test

BOOST_FIXTURE_TEST_SUITE(load_config_test, Fixture)

BOOST_AUTO_TEST_CASE(values_of_the_submission_are_the_lowest_layer) {
    auto const loaded = must(load());
    BOOST_TEST(loaded.config.name == "exp");
    BOOST_TEST(loaded.config.reproducibility.experiment_seed.value() == 1'795'262'400 % (1LL << 31));
    BOOST_TEST(std::get<config::SharedFsStorage>(loaded.config.checkpoint_storage.location).host_path ==
               root.checkpoints().string());
    BOOST_TEST(loaded.written == must(read_file(file)));
    BOOST_TEST(loaded.warnings.empty());
    write("name: mine\nentrypoint: ./train\nsearcher: {name: single, metric: loss}\n");
    BOOST_TEST(must(load()).config.name == "mine");
}

BOOST_AUTO_TEST_CASE(a_default_name_is_made_of_any_file_name) {
    for (auto const* name : {"a: b.yaml", "\"'#{}.yaml", "[x.yaml", "123.yaml", "null.yaml"}) {
        file = directory / name;
        write("entrypoint: ./train\nsearcher: {name: single, metric: loss}\n");
        BOOST_TEST(must(load()).config.name == file.stem().string());
    }
}

BOOST_AUTO_TEST_CASE(overrides_replace_the_file_which_replaces_the_template) {
    write_template("mine", "max_restarts: 1\nscheduling_unit: 11\ndescription: template\n");
    write(must(read_file(file)) + "max_restarts: 2\nscheduling_unit: 22\n");
    auto const config = must(load("mine", {"max_restarts=3", "max_restarts=4"})).config;
    BOOST_TEST(config.max_restarts == 4);  // the last one typed
    BOOST_TEST(config.scheduling_unit == 22);
    BOOST_TEST(config.description == "template");
}

BOOST_AUTO_TEST_CASE(a_test_is_checked_as_the_experiment_that_it_tests) {
    std::string const rest =
        "entrypoint: ./train\nhyperparameters: {a.b: {type: int, minval: 3, maxval: 4}}\n";
    write(rest + "searcher: {name: random, metric: loss}\n");
    experiment::ConfigSources sources{file, {}, {"max_restarts=4"}};
    sources.is_test = true;
    auto const text = explain(must_fail(load_config(sources, root, clock.now())));
    BOOST_TEST(contains(text, "exp.yaml:3:1: error: 'max_trials' is missing"), text);
    write(rest + "searcher: {name: random, metric: loss, max_trials: 9}\n");
    auto const loaded = must(load_config(sources, root, clock.now()));
    BOOST_TEST(loaded.config.searcher.name == "single");
    BOOST_TEST(loaded.config.name == "[test] exp");
    auto const effective = config::explain_config(loaded.config.effective);
    BOOST_TEST(contains(effective, "max_restarts: 0                                         # --test\n"),
               effective);
    auto const& point = loaded.config.hyperparameters.at(0).hyperparameter.value;
    BOOST_TEST(*std::get<config::ConstHyperparameter>(point).value.integer() == 3);
    config::SiteFile site;
    site.invariants = must(config::parse_layer("max_restarts: 1\n", "site.yaml"));
    sources.site = &site;
    BOOST_TEST(must(load_config(sources, root, clock.now())).config.max_restarts == 1);
}

BOOST_AUTO_TEST_CASE(own_templates_take_precedence_over_shipped_ones) {
    BOOST_TEST(must(load("mpi")).config.slurm.mpi == "pmix");  // shipped
    write_template("mpi", "description: mine\n");
    auto const config = must(load("mpi")).config;
    BOOST_TEST(config.slurm.mpi == "none");
    BOOST_TEST(config.description == "mine");
}

BOOST_AUTO_TEST_CASE(an_unknown_template_is_reported_with_the_nearest_name) {
    auto const error = refusal("debuging");
    BOOST_TEST((error.code == codes::no_such_template));
    BOOST_TEST(error.hint.starts_with("use 'debugging'; templates here: asha, debugging, "));
    write_template("mine", "");
    auto const hint = refusal("something-else").hint;
    BOOST_TEST(contains(hint, "mine"), hint);
    BOOST_TEST(contains(hint, "preemptible"), hint);
}

BOOST_AUTO_TEST_CASE(a_template_name_is_not_a_path) {
    must(make_directories(root.templates() / "deeper"));
    must(write_file(directory / "evil.yaml", "description: evil\n"));
    must(write_file(root.templates() / ".hidden.yaml", "description: hidden\n"));
    std::vector<std::string> const names{
        "", ".", "..", ".hidden", "../../evil", "deeper/../../../evil", (directory / "evil").string()};
    for (auto const& name : names) BOOST_TEST((refusal(name).code == codes::no_such_template), name);
}

BOOST_AUTO_TEST_CASE(a_template_that_can_not_be_read_does_not_fall_back_to_a_shipped_one) {
    must(make_directories(root.templates() / "mpi.yaml"));
    BOOST_TEST((refusal("mpi").code == codes::not_a_file));
}

BOOST_AUTO_TEST_CASE(all_errors_are_reported_at_once_with_their_files) {
    write("entrypoint: ./train\nnonsense: 1\n");
    write_template("mine", "max_restarts: many\n");
    auto const text = explain(must_fail(load("mine", {"resources.slots_per_trial"})));
    BOOST_TEST(contains(text, "exp.yaml:2:1: error: unknown key 'nonsense'"), text);
    BOOST_TEST(contains(text, "templates/mine.yaml:1:15: error:"), text);
    BOOST_TEST(contains(text, "resources.slots_per_trial"), text);
}

BOOST_AUTO_TEST_CASE(a_missing_or_too_large_file_is_reported) {
    BOOST_TEST(
        (must_fail(load_config({directory / "absent.yaml", {}, {}}, root, {})).sorted().at(0).error.code ==
         codes::no_such_file));
    write("# " + std::string(1 << 20, 'x'));
    BOOST_TEST((refusal(std::nullopt).code == codes::document_too_large));
}

BOOST_AUTO_TEST_CASE(config_check_reports_every_file) {
    auto const good = file.string();
    file = directory / "bad.yaml";
    write("entrypoint: ./train\nnonsense: 1\n");
    BOOST_TEST(run("config check " + good) == 0);
    BOOST_TEST(out == good + ": ok\n");
    BOOST_TEST(run("config check " + good + " " + file.string()) == to_int(ExitCode::bad_file));
    BOOST_TEST(out == good + ": ok\n");
    BOOST_TEST(contains(err, "bad.yaml:2:1: error:"), err);
    BOOST_TEST(run("config check --json " + file.string()) == to_int(ExitCode::bad_file));
    auto const answer = parse_json(out);
    BOOST_TEST(answer["files"][0]["ok"] == false);
    BOOST_TEST(answer["problems"][0]["code"] == "missing-key");
    BOOST_TEST(answer["problems"][1]["code"] == "unknown-key");
    BOOST_TEST(answer["problems"][1]["line"] == 2);
    BOOST_TEST(slurm.calls.empty());
}

BOOST_AUTO_TEST_CASE(config_check_names_the_keys_without_effect) {
    file = directory / "every_key.yaml";
    auto text = must(read_file(test::golden_path("config/every_key.yaml")));
    // Only `experiment create job.sbatch` sets this key.
    std::string const key = "  batch_script: /job.sbatch\n";
    write(text.erase(text.find(key), key.size()));
    BOOST_TEST(run("config check " + file.string()) == 0, err);
    BOOST_TEST(out == file.string() + ": ok\n");
    auto shown = err;
    auto const path = (directory / "").string();
    for (auto at = shown.find(path); at != std::string::npos; at = shown.find(path))
        shown.erase(at, path.size());
    check_golden("cli/config_check_every_key.txt", shown);
}

BOOST_AUTO_TEST_SUITE_END()
