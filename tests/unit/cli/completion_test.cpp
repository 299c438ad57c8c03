// What completes a command line: commands, options and names.
#include <det/config/key_reference.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "cli_support.hpp"
#include "completion/candidates.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace completion_test {

struct Fixture : CliFixture {
    /// The candidates for the last word of a line behind det-submit; words are separated by single blanks.
    std::string complete(std::string const& line) {
        std::vector<std::string> words{"completion", "bash", "--complete", "--"};
        for (auto const word : split(line, ' ')) words.emplace_back(word);
        BOOST_REQUIRE(run(words) == 0);
        std::vector<std::string> found;
        for (auto const candidate : split_lines(out)) found.emplace_back(candidate);
        return join(found, " ");
    }
    void make_experiment(int id, int trials) const {
        for (int trial = 0; trial < trials; ++trial)
            must(
                make_directories(root.experiments() / std::to_string(id) / "trials" / std::to_string(trial)));
    }
};

}  // namespace completion_test

BOOST_FIXTURE_TEST_SUITE(completion_test, Fixture)

BOOST_AUTO_TEST_CASE(the_first_word_is_a_group_or_a_command) {
    BOOST_TEST(complete("ex") == "experiment");
    BOOST_TEST(complete("d") == "dump");
    BOOST_TEST(contains(complete(""), "experiment trial checkpoint"));
    BOOST_TEST(complete("nonsense") == "");
    BOOST_TEST(complete("nonsense x") == "");
}

BOOST_AUTO_TEST_CASE(short_commands_complete_what_they_are_short_for) {
    BOOST_TEST(complete("st") == "status stop");
    BOOST_TEST(complete("ru") == "run");
    make_experiment(7, 2);
    BOOST_TEST(complete("status ") == "7");
    BOOST_TEST(complete("logs 7.") == "7.0 7.1");
    BOOST_TEST(complete("logs 7.1 --fo") == "--follow");
    BOOST_TEST(complete("run --dr") == "--dry-run");
}

BOOST_AUTO_TEST_CASE(the_second_word_is_a_command_of_the_group_or_of_its_alias) {
    BOOST_TEST(complete("experiment cr") == "create");
    BOOST_TEST(complete("e cr") == "create");
    BOOST_TEST(complete("e set") == "set");
    BOOST_TEST(complete("experiment set n") == "name notes");
    BOOST_TEST(complete("e label ") == "add remove");
}

BOOST_AUTO_TEST_CASE(every_command_completes_its_options) {
    for (auto const& entry : command_table()) {
        auto const group = entry.group.empty() ? std::string() : std::string(entry.group) + " ";
        auto const found = complete(fmt::format("{}{} --", group, entry.name));
        BOOST_TEST(contains(found, "--json"), group << entry.name);
        for (auto const& option : entry.make()->options()) {
            for (auto const name : split(option.names, ',')) {
                if (name.starts_with("--"))
                    BOOST_TEST(contains(found, name), group << entry.name << ": " << name);
            }
        }
    }
    BOOST_TEST(complete("e create --dr") == "--dry-run");
    BOOST_TEST(contains(complete("e create -"), "-f"));
    BOOST_TEST(complete("e create exp.yaml . --dry-run --pa") == "--paused");
}

BOOST_AUTO_TEST_CASE(templates_are_completed_where_one_is_named) {
    must(make_directories(root.templates()));
    must(write_file(root.templates() / "mine.yaml", "debug: true\n"));
    for (auto const* line : {"e create exp.yaml --template m", "e create --template = m",
                             "e fork 1 --template m", "template describe m"}) {
        auto const found = complete(line);
        if (std::string_view(line).starts_with("e fork")) continue;  // takes no template
        BOOST_TEST(found == "mine mpi", line);
    }
    BOOST_TEST(complete("e create --template=m") == "--template=mine --template=mpi");
    BOOST_TEST(contains(complete("e create --template ="), "mine"));
    BOOST_TEST(complete("e create m") == "");  // a file: the shell's own completion
}

BOOST_AUTO_TEST_CASE(experiments_and_trials_are_completed_newest_first) {
    make_experiment(7, 2);
    make_experiment(12, 1);
    make_experiment(70, 1);
    BOOST_TEST(complete("e describe ") == "70 12 7");
    BOOST_TEST(complete("e describe 7") == "70 7");
    BOOST_TEST(complete("e compare 7 1") == "12");
    BOOST_TEST(complete("t logs 7") == "70 7");
    BOOST_TEST(complete("t logs 7.") == "7.0 7.1");
    BOOST_TEST(complete("t logs 8.") == "");
    BOOST_TEST(complete("t logs 7.0 ") == "");
    BOOST_TEST(complete("trial shell 7 -- --d") == "");
}

BOOST_AUTO_TEST_CASE(checkpoints_are_completed) {
    must(make_directories(root.checkpoints() / "3f0c9a52-8d1b-4a6e-9c1f-0b7d2e5a4c13"));
    BOOST_TEST(complete("checkpoint verify 3f") == "3f0c9a52-8d1b-4a6e-9c1f-0b7d2e5a4c13");
}

BOOST_AUTO_TEST_CASE(models_are_completed) {
    BOOST_TEST(complete("model describe ") == "");
    BOOST_REQUIRE(run("model create mnist") == 0);
    BOOST_REQUIRE(run("model create cifar") == 0);
    BOOST_TEST(complete("model describe ") == "mnist cifar");
    BOOST_TEST(complete("m register-version m") == "mnist");
    BOOST_TEST(complete("m list --sort-by n") == "name num_versions");
}

BOOST_AUTO_TEST_CASE(pools_are_completed_and_slurm_may_be_down) {
    BOOST_TEST(complete("resource-pool describe c") == "compute");
    BOOST_TEST(complete("job list -p ") == "compute");
    BOOST_TEST(complete("site try --pool co") == "compute");
    slurm.is_down = true;
    BOOST_TEST(complete("job list -p ") == "");
}

BOOST_AUTO_TEST_CASE(keys_of_the_configuration_are_completed_section_by_section) {
    BOOST_TEST(complete("e create --config resources.slots") ==
               "resources.slots_per_trial= resources.slots_per_trial.");
    BOOST_TEST(complete("e fork 1 --config max_restar") == "max_restarts=");
    BOOST_TEST(complete("e continue 1 --config sear") == "searcher.");
    BOOST_TEST(complete("run exp.yaml --config sear") == "searcher.");
    BOOST_TEST(contains(complete("e create --config "), "name="));
    BOOST_TEST(contains(complete("e create --config searcher."), "searcher.metric="));
    BOOST_TEST(contains(complete("e create --config searcher."), "searcher.max_trials="));
    BOOST_TEST(complete("e create --config hyperparameters.") == "");
    BOOST_TEST(complete("e create --config nonsense.") == "");
    BOOST_TEST(complete("e create --config resources.max_slots.") == "");
    BOOST_TEST(complete("e create --config resources.slots_per_trial.") ==
               "resources.slots_per_trial.min= resources.slots_per_trial.max=");
    // In the form with "=" the candidates contain the option; bash separates it, and then they don't.
    BOOST_TEST(complete("e create --config=max_restar") == "--config=max_restarts=");
    BOOST_TEST(complete("e create --config = max_restar") == "max_restarts=");
}

BOOST_AUTO_TEST_CASE(words_that_a_key_takes_are_completed) {
    BOOST_TEST(contains(complete("e create --config searcher.name=a"), "searcher.name=adaptive_asha"));
    BOOST_TEST(complete("e create --config searcher.name = gr") == "grid");
    BOOST_TEST(complete("e create --config = searcher.name = gr") == "grid");
    BOOST_TEST(complete("e create --config searcher.smaller_is_better = ") == "true false");
    BOOST_TEST(complete("e create --config searcher.smaller_is_better =") == "true false");
    BOOST_TEST(complete("e create --config searcher.metric = ") == "");
}

BOOST_AUTO_TEST_CASE(every_key_of_the_configuration_can_be_typed_by_completion) {
    auto const schema = parse_json(config::render_json_schema(config::SchemaFor::user_files));
    auto const found = complete("e create --config ");
    for (auto const& [name, key] : schema["properties"].items()) {
        bool const is_ignored = key.value("description", "").starts_with("ignored: ");
        BOOST_TEST(contains(" " + found, " " + name) != is_ignored, name);
    }
}

BOOST_AUTO_TEST_CASE(metrics_are_those_that_the_named_trials_have_reported) {
    write_examples(root);
    BOOST_TEST(complete("t metrics 1 --metric ") == "accuracy classes loss note");
    BOOST_TEST(complete("t metrics 1.0 --metric a") == "accuracy");
    BOOST_TEST(complete("t metrics --metric lo") == "");  // the newest one was never submitted
    BOOST_TEST(complete("e download 2 --sort-by ") == "loss");
    BOOST_TEST(complete("t download 1 --sort-by acc") == "accuracy");
    BOOST_TEST(complete("t metrics 99 --metric ") == "");
    // Reports of numbers have their names in frames of their own.
    auto journal = report(ExperimentLayout(root, {2}), 0);
    MetricFrameWriter frames;
    std::vector<Metric> const metrics{{"speed", 1}, {"loss", 2}};
    frames.add(minute(1), "training", 1, metrics);
    for (auto const& frame : frames.take()) must(journal.append(frame));
    BOOST_TEST(complete("t metrics 2 --metric ") == "loss speed");
    // bash would run the first one, and show the files of the directory for the second one.
    std::vector<Metric> const hostile{{"$(touch x)", 1}, {"*", 2}, {"val loss", 3}, {"val/loss", 4}};
    frames.add(minute(2), "validation", 2, hostile);
    for (auto const& frame : frames.take()) must(journal.append(frame));
    BOOST_TEST(complete("t metrics 2 --metric ") == "loss speed val/loss");
}

BOOST_AUTO_TEST_CASE(words_that_an_option_accepts_are_completed) {
    BOOST_TEST(complete("completion ") == "bash zsh fish");
    BOOST_TEST(complete("completion f") == "fish");
}

BOOST_AUTO_TEST_CASE(without_a_root_nothing_is_completed_and_nothing_made) {
    BOOST_TEST(complete("e describe ") == "");
    BOOST_TEST(complete("t logs 1.") == "");
    BOOST_TEST(!std::filesystem::exists(root.path()));
}

BOOST_AUTO_TEST_CASE(a_script_is_printed_for_each_shell) {
    for (std::string const shell : {"bash", "zsh", "fish"}) {
        BOOST_TEST(run("completion " + shell) == 0);
        BOOST_TEST(contains(out, "det-submit completion for " + shell), out);
        BOOST_TEST(contains(out, "completion " + shell + " --complete -- "));
    }
    BOOST_TEST((must_fail(parse_command_line({"completion", "tcsh"})).code == codes::usage));
    BOOST_TEST(run("completion bash word") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_SUITE_END()
