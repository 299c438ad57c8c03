// The directories of `experiment export` for other programs. The event files themselves are read in the
// tracker's export_test.cpp.
#include <det/experiment/root_directory.hpp>
#include <det/foundation/process.hpp>

#include <boost/test/unit_test.hpp>
#include <limits>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "experiment/export_formats.hpp"
#include "experiment/export_mlflow.hpp"
#include "experiment/export_wandb.hpp"
#include "experiment/exported_trial.hpp"

using namespace det;
using namespace det::cli;

namespace experiment_export_test {

struct Fixture : CliFixture {
    std::filesystem::path target = directory / "exported";

    Fixture() { write_examples(root); }

    int export_as(std::string const& format, int id = 1) {
        return run({"experiment", "export", std::to_string(id), "--" + format, target.string()});
    }
    /// The content of a file of the export.
    std::string exported(std::filesystem::path const& name) const { return must(read_file(target / name)); }
};

}  // namespace experiment_export_test

BOOST_FIXTURE_TEST_SUITE(experiment_export_test, Fixture)

BOOST_AUTO_TEST_CASE(event_files_are_exported_by_trial) {
    BOOST_TEST(export_as("tensorboard") == 0, err);
    BOOST_TEST(out == "wrote 1 trial into '" + target.string() + "'\n");
    BOOST_TEST(contains(exported("1.0/events.out.tfevents.000000.det"), "training/loss"));
    BOOST_TEST(contains(exported("1.0/events.out.tfevents.000000.det"), "validation/accuracy"));
    BOOST_TEST(contains(exported("1.0/events.out.tfevents.000001.det"), "training/loss"));
    auto const answer = ask("experiment export 1 --tensorboard " + target.string());
    BOOST_TEST(answer == (Json{{"directory", target.string()}, {"format", "tensorboard"}, {"trials", 1}}));
    BOOST_TEST(must(list_directory(target)) == (std::vector<std::string>{".det-export.json", "1.0"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_export_replaces_itself_and_nothing_else) {
    BOOST_TEST(export_as("tensorboard") == 0, err);
    must(write_file(target / "mine", "1"));
    must(write_file(target / "1.0/old", "2"));
    // What a killed export leaves.
    must(make_directories(target / ".det-export.new/1.0"));
    must(make_directories(target / ".det-export.old/1.0"));
    BOOST_TEST(export_as("tensorboard") == 0, err);
    BOOST_TEST(must(list_directory(target)) == (std::vector<std::string>{".det-export.json", "1.0", "mine"}),
               boost::test_tools::per_element());
    BOOST_TEST(!path_exists(target / "1.0/old"));
    BOOST_TEST(export_as("tensorboard", 2) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "has no earlier export of this experiment in this format"), err);
    BOOST_TEST(path_exists(target / "1.0/events.out.tfevents.000000.det"));
    must(write_file(target / ".det-export.json", "{"));
    BOOST_TEST(export_as("tensorboard") == to_int(ExitCode::could_not));
}

BOOST_AUTO_TEST_CASE(only_a_new_or_empty_directory_is_filled) {
    must(make_directory(target));
    must(make_directory(target / ".det-export.new"));  // of an export that was killed
    BOOST_TEST(export_as("tensorboard") == 0, err);
    target = directory / "used";
    must(make_directory(target));
    must(write_file(target / "mine", "1"));
    BOOST_TEST(export_as("tensorboard") == to_int(ExitCode::could_not));
    BOOST_TEST(must(list_directory(target)).size() == 1u);
    target /= "mine";
    BOOST_TEST(export_as("tensorboard") == to_int(ExitCode::bad_file));
    BOOST_TEST(run({"experiment", "export", "1", "--tensorboard", ""}) != 0);
    BOOST_TEST(!err.empty());
    target = directory / "absent/exported";
    BOOST_TEST(export_as("tensorboard") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(a_link_to_a_directory_is_followed) {
    must(make_directory(directory / "real"));
    std::filesystem::create_directory_symlink(directory / "real", target);
    BOOST_TEST(export_as("mlflow") == 0, err);
    BOOST_TEST(contains(exported("1/meta.yaml"), (directory / "real/1").string()));
}

BOOST_AUTO_TEST_CASE(a_failed_export_leaves_no_directory) {
    must(remove_tree(ExperimentLayout(root, {1}).trial(0).run(0).chief_journal()));
    must(make_directories(ExperimentLayout(root, {1}).trial(0).run(0).chief_journal()));  // can't be read
    BOOST_TEST(export_as("tensorboard") != 0);
    BOOST_TEST(!path_exists(target));
}

BOOST_AUTO_TEST_CASE(one_form_of_an_experiment_that_exists_is_exported) {
    BOOST_TEST(run("experiment export 1") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment export 1 --html a --tensorboard b") == to_int(ExitCode::usage));
    BOOST_TEST(contains(err, "one of the options --html, --tensorboard"), err);
    BOOST_TEST(export_as("tensorboard", 9) == to_int(ExitCode::absent));
    BOOST_TEST(export_as("tensorboard", 10) == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "its creation was interrupted"), err);
    BOOST_TEST(!path_exists(target));
}

BOOST_AUTO_TEST_CASE(a_store_of_mlflow_has_a_run_for_each_trial) {
    BOOST_TEST(export_as("mlflow") == 0, err);
    auto const root_id = experiment::root_id(root);
    auto const run = "1/" + render_run_id(root_id, {{1}, 0});
    BOOST_TEST(render_run_id("a", {{1}, 0}) == "b7ed7162e3e0a436c160c0aaa0819394");
    BOOST_TEST(exported("1/meta.yaml") == "artifact_location: file://" + target.string() +
                                              "/1\n"
                                              "creation_time: 1795262400000\n"
                                              "experiment_id: '1'\n"
                                              "last_update_time: 1795262400000\n"
                                              "lifecycle_stage: active\n"
                                              "name: digits\n");
    auto const meta = exported(run + "/meta.yaml");
    for (auto const* line : {"run_name: trial 1.0\n", "status: 3\n", "start_time: 1795262460000\n",
                             "end_time: 1795263600000\n", "user_id: researcher\n", "source_type: 4\n"})
        BOOST_TEST(contains(meta, line), meta);
    BOOST_TEST(exported(run + "/metrics/training/loss") == "1795262520000 0.5 50\n1795263300000 0.25 150\n");
    BOOST_TEST(exported(run + "/metrics/validation/accuracy") == "1795262580000 0.75 100\n");
    BOOST_TEST(exported(run + "/tags/mlflow.runName") == "trial 1.0");
    BOOST_TEST(exported(run + "/tags/det.state") == "COMPLETED");
    auto const names = must(list_directory(target / run));
    BOOST_TEST(names == (std::vector<std::string>{"artifacts", "meta.yaml", "metrics", "params", "tags"}),
               boost::test_tools::per_element());
    BOOST_TEST(export_as("mlflow") == 0, err);
    BOOST_TEST(must(list_directory(target / "1")).size() == 2u);  // meta.yaml and the same run
}

BOOST_AUTO_TEST_CASE(names_that_mlflow_refuses_are_replaced) {
    MlflowNames names;
    BOOST_TEST(names.add({"training", "loss"}) == "training/loss");
    BOOST_TEST(names.add({"training", "a/b"}) == "training/a_b");
    BOOST_TEST(names.add({"training", "a_b"}) == "training/a_b-2");
    BOOST_TEST(names.add({"training", "a/b"}) == "training/a_b");
    BOOST_TEST(names.add({"..", ""}) == "_../_");
    BOOST_TEST(names.add({"/etc", "../x"}) == "_etc/_.._x");
    BOOST_TEST(names.add({"g", std::string(100, 'x')}) == "g/" + std::string(100, 'x'));
    BOOST_TEST(names.add({"g", std::string(101, 'x')}) == "g/" + std::string(100, 'x') + "-2");
    BOOST_TEST(names.add({"g", std::string("\0\n\xff", 3)}) == "g/___");
    BOOST_TEST(names.renamed().size() == 6u);
    BOOST_TEST(!names.renamed().contains("training/loss"));
    BOOST_TEST(names.renamed().at("training/a/b") == "training/a_b");
}

BOOST_AUTO_TEST_CASE(a_run_of_mlflow_has_parameters_and_ranks) {
    ExportedTrial trial{{{7}, 2}, std::string(32, 'a'), lifecycle::State::running, minute(1)};
    trial.hyperparameters = {
        {"lr", 0.5}, {"net.layers", Json{1, 2}}, {"net/name", "a\nb"}, {"text", "plain"}};
    trial.metrics[{"own", "loss", {3}}] = {{4, minute(2), std::numeric_limits<double>::quiet_NaN()},
                                           {5, minute(2), -std::numeric_limits<double>::infinity()}};
    MlflowExperiment store{{7}, "n", "u", minute(0), "/a b/c"};
    std::map<std::string, std::string> files;
    for (auto const& file : render_mlflow_run(trial, store)) files[file.path] = file.content;
    std::string const run(32, 'a');
    BOOST_TEST(files[run + "/params/lr"] == "0.5");
    BOOST_TEST(files[run + "/params/net.layers"] == "[1,2]");
    BOOST_TEST(files[run + "/params/net_name"] == "\"a\\nb\"");
    BOOST_TEST(files[run + "/params/text"] == "plain");
    BOOST_TEST(files[run + "/metrics/own/loss rank 3"] == "1795262520000 nan 4\n1795262520000 -inf 5\n");
    auto const meta = files[run + "/meta.yaml"];
    BOOST_TEST(contains(meta, "artifact_uri: file:///a%20b/c/7/" + run + "/artifacts\n"), meta);
    BOOST_TEST(contains(meta, "end_time: null\n"), meta);
    BOOST_TEST(contains(meta, "status: 1\n"), meta);
}

BOOST_AUTO_TEST_CASE(hostile_names_stay_below_the_directory) {
    auto const layout = create_example(root, 5, "../../x");
    start_run(layout, 0, 1);
    must(report(layout, 0).append(
        MetricsReported{minute(2), "../..", 1, Json{{"../../../evil", 1}, {"a/b", true}, {"text", "x"}}}));
    auto const before = must(list_directory(directory.path()));
    BOOST_TEST(export_as("mlflow", 5) == 0, err);
    BOOST_TEST(contains(err, "MLflow does not take the metric '../../a/b': it is '_.._../a_b' there"), err);
    BOOST_TEST(must(list_directory(directory.path())).size() == before.size() + 1);
    auto const metrics = "5/" + render_run_id(experiment::root_id(root), {{5}, 0}) + "/metrics";
    BOOST_TEST(must(list_directory(target / metrics)) == (std::vector<std::string>{"_.._.."}),
               boost::test_tools::per_element());
    BOOST_TEST(exported(metrics + "/_.._../a_b") == "1795262520000 1 1\n");
}

BOOST_AUTO_TEST_CASE(the_lines_for_wandb_ascend_by_step) {
    ExportedTrial trial{{{7}, 2}, "id", lifecycle::State::error, minute(1)};
    trial.hyperparameters = {{"lr", 0.5}, {"net.layers", Json{1, 2}}};
    trial.metrics[{"training", "loss", {0}}] = {{4, minute(2), 0.5}, {2, minute(1), 1}, {4, minute(3), 0.25}};
    trial.metrics[{"own", "loss", {3}}] = {{4, minute(2), std::numeric_limits<double>::quiet_NaN()}};
    auto const text = render_wandb_lines(trial, {{7}, "a/b", "why", {"x", "y"}});
    auto const lines = split_lines(text);
    BOOST_REQUIRE(lines.size() == 3u);
    BOOST_TEST(parse_json(lines[0]) == (Json{{"config", {{"lr", 0.5}, {"net.layers", {1, 2}}}},
                                             {"exit_code", 1},
                                             {"group", "experiment 7"},
                                             {"id", "id"},
                                             {"name", "trial 7.2"},
                                             {"notes", "why"},
                                             {"project", "a_b"},
                                             {"state", "ERROR"},
                                             {"tags", {"x", "y"}}}));
    BOOST_TEST(lines[1] == R"({"step":2,"values":{"time_s":1795262460.0,"training/loss":1.0}})");
    BOOST_TEST(
        lines[2] ==
        R"({"step":4,"values":{"own/loss [rank=3]":"NaN","time_s":1795262580.0,"training/loss":0.25}})");
}

// A module with the documented calls that the script uses. It prints what they get.
constexpr char const* module_wandb = R"(
import json

class Run:
    def __init__(self):
        self.summary, self.last_step, self.is_open = {}, -1, True

    def log(self, data, step=None, commit=None):
        assert self.is_open and step >= self.last_step and all(type(value) is float for value in data.values())
        self.last_step = step
        print("log", step, json.dumps(data, sort_keys=True))

    def finish(self, exit_code=None):
        self.is_open = False
        print("finish", exit_code, self.summary)

def init(entity=None, project=None, dir=None, id=None, name=None, notes=None, tags=None, config=None,
         config_exclude_keys=None, config_include_keys=None, allow_val_change=None, group=None, job_type=None,
         mode=None, force=None, reinit=None, resume=None, resume_from=None, fork_from=None, save_code=None,
         tensorboard=None, sync_tensorboard=None, monitor_gym=None, settings=None):
    assert not set(id) & set("/\\#?%:")
    print("init", entity, project, name, group, mode, resume, json.dumps(config), tags, repr(notes))
    return Run()
)";

BOOST_AUTO_TEST_CASE(the_script_logs_the_trials_by_wandb) {
    BOOST_TEST(export_as("wandb") == 0, err);
    auto const modules = directory / "modules";
    must(make_directory(modules));
    must(write_file(modules / "wandb.py", module_wandb));
    SystemProcessRunner runner;
    Environment const with_module{{{"PYTHONPATH", modules.string()}, {"PYTHONDONTWRITEBYTECODE", "1"}}};
    auto const import_runs = [&](std::vector<std::string> const& options) {
        std::vector<std::string> words{"/usr/bin/python3", (target / "import.py").string()};
        words.insert(words.end(), options.begin(), options.end());
        auto const output = must(runner.run({words, with_module, std::chrono::seconds(60)}));
        BOOST_REQUIRE_MESSAGE(output.exit_code == 0, output.err);
        return output.out;
    };
    std::string const reports = R"(log 50 {"time_s": 1795262520.0, "training/loss": 0.5})"
                                "\n"
                                R"(log 100 {"time_s": 1795262580.0, "validation/accuracy": 0.75})"
                                "\n"
                                R"(log 150 {"time_s": 1795263300.0, "training/loss": 0.25})"
                                "\nfinish 0 {'state': 'COMPLETED'}\n";
    BOOST_TEST(import_runs({}) == "init None digits trial 1.0 experiment 1 None allow {} [] ''\n" + reports);
    BOOST_TEST(import_runs({"--project", "p", "--entity", "e", "--offline"}) ==
               "init e p trial 1.0 experiment 1 offline None {} [] ''\n" + reports);
    BOOST_TEST(export_as("wandb") == 0, err);
    BOOST_TEST(must(list_directory(target)) ==
                   (std::vector<std::string>{".det-export.json", "experiment.jsonl", "import.py"}),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_damaged_journal_is_exported) {
    auto const journal = ExperimentLayout(root, {1}).trial(0).run(1).chief_journal();
    auto bytes = must(read_file(journal));
    bytes[bytes.size() / 2] ^= 1;
    must(write_file(journal, bytes));
    for (auto const& format : export_formats()) {
        target = directory / format.name;
        BOOST_TEST(export_as(std::string(format.name)) == to_int(ExitCode::damaged), err);
        BOOST_TEST(contains(err, "journal"), err);
        BOOST_TEST(path_exists(target / ".det-export.json"));
    }
}

BOOST_AUTO_TEST_SUITE_END()
