// Texts of users, programs and Slurm with control characters: no command passes them on to a terminal.
#include <det/model_registry/registry.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"

using namespace det;
using namespace det::cli;

namespace hostile_names_test {

// C0 (escape sequences, a backspace), DEL, C1 (U+009B begins an escape sequence), bidirectional controls.
std::string const hostile =
    "a\x1b]0;owned\x07\b\x7f\xc2\x9b"
    "31m\xe2\x80\xae"
    "exe\xe2\x81\xa6\xd8\x9c";

constexpr char const* commands[] = {
    "experiment list",
    "experiment list --csv",
    "experiment list --metrics",
    "experiment describe 1",
    "experiment describe 1 --search",
    "experiment config 1",
    "experiment list-trials 1",
    "experiment list-trials 1 --csv",
    "experiment list-checkpoints 1",
    "experiment list-checkpoints 1 --csv",
    "experiment best 1",
    "experiment best 1 --csv",
    "experiment compare 1 2",
    "experiment compare 1 2 --csv",
    "experiment report 1",
    "experiment logs 1",
    "experiment wait 1",
    "experiment gc 1 --dry-run",
    "trial describe 1.0",
    "trial metrics 1.0",
    "trial metrics 1.0 --csv",
    "trial logs 1.0",
    "checkpoint list 1",
    "job list",
    "job list --csv",
    "job list --table",
    "job list --yaml",
    "task list",
    "resource-pool list",
    "resource-pool describe compute",
    "model list",
    "model list --csv",
    "model describe 1",
    "model list-versions 1",
    "model list-versions 1 --csv",
    "model describe 1 --version 9",
};

/// The first harmful character of a text with its surroundings; empty if there is none.
std::string find_harmful(std::string const& text) {
    std::size_t at = 0;
    for (auto const line : split(text, '\n')) {
        for (auto const part : split(line, '\t')) {
            if (escape_control(part) != part) return escape_control(line);
        }
        at += line.size() + 1;
    }
    return "";
}

struct Fixture : CliFixture {
    Fixture() {
        destination = Destination::terminal;
        auto const experiment = create_example(root, 1, hostile);
        auto spec = must(parse_spec(must(read_file(experiment.spec()))));
        spec.hyperparameters = Json{{hostile, hostile}};
        spec.searcher.metric = hostile;
        spec.config =
            Json{{"name", hostile}, {"description", hostile}, {"hyperparameters", {{hostile, hostile}}}};
        must(write_file(experiment.spec(), render_spec(spec)));
        BOOST_REQUIRE(run({"experiment", "set", "description", "1", hostile}) == 0);
        BOOST_REQUIRE(run({"experiment", "label", "add", "1", hostile}) == 0);
        run_trial(experiment);
        run_trial(create_example(root, 2, "plain"));
        // Commands refuse such a name; a file can have it.
        for (auto const& body : {Json{{"change", "created"},
                                      {"model", 1},
                                      {"name", hostile},
                                      {"description", hostile},
                                      {"notes", hostile + "\n" + hostile},
                                      {"labels", {hostile}},
                                      {"metadata", {{hostile, hostile}}}},
                                 Json{{"change", "version-registered"},
                                      {"model", 1},
                                      {"version", 1},
                                      {"checkpoint", hostile},
                                      {"run", hostile}},
                                 Json{{"change", "updated"},
                                      {"model", 1},
                                      {"version", 1},
                                      {"name", hostile},
                                      {"metadata", {{hostile, hostile}}}}})
            must(model_registry::change_registry(root, minute(1), hostile,
                                                 [&](auto const&) { return JsonValue(body); }));
        auto job = job_of(1, slurm::JobState::running, hostile);
        job.name = job.user = job.reason = job.partition = job.account = hostile;
        slurm.other_jobs = {job};
        slurm.partition_list.push_back({hostile, false, true, hostile, std::chrono::seconds(30), {}});
    }

    static void run_trial(ExperimentLayout const& experiment) {
        auto life = start_run(experiment, 0, 1);
        must(life.append(run_end(5, Cause::failed, NextAction::stop, 1, hostile)));
        auto chief = report(experiment, 0);
        must(chief.append(
            MetricsReported{minute(2), "validation", 50, Json{{hostile, 0.5}, {"text", hostile}}}));
        must(chief.append(MetricsReported{minute(2), hostile, 50, Json{{hostile, 0.5}}}));
        must(chief.append(CheckpointCommitted{minute(4), "00000000-0000-4000-8000-000000000001", 100,
                                              Json{{hostile, 1536}},
                                              Json{{"steps_completed", 100}, {hostile, hostile}}}));
        must(write_file(experiment.trial(0).run(0).path() / "node-0.log",
                        "2026-11-21T12:00:00.000000Z [rank=0] " + hostile + "\n"));
    }
};

}  // namespace hostile_names_test

BOOST_FIXTURE_TEST_SUITE(hostile_names_test, Fixture)

using hostile_names_test::commands;
using hostile_names_test::find_harmful;
using hostile_names_test::hostile;

BOOST_AUTO_TEST_CASE(no_control_character_of_a_name_reaches_the_terminal) {
    std::size_t shown = 0;
    for (std::string const command : commands) {
        for (std::string const& format : {command, command + " --json"}) {
            if (format.find("--json") != format.npos && format.find(" --csv") != format.npos) continue;
            (void)run(format);
            BOOST_TEST(find_harmful(out) == "", format);
            BOOST_TEST(find_harmful(err) == "", format << " to stderr");
            shown += contains(out, "owned") ? 1 : 0;
        }
    }
    BOOST_TEST(shown > 30u);
}

BOOST_AUTO_TEST_CASE(json_has_the_same_text_as_was_written) {
    auto const listed = ask("experiment describe 1");
    BOOST_TEST(listed["name"] == hostile);
}

BOOST_AUTO_TEST_CASE(dumps_escape_the_texts_of_journals_and_documents) {
    auto const run_path = ExperimentLayout(root, {1}).trial(0).run(0);
    for (auto const& path :
         {run_path.chief_journal(), run_path.supervisor_journal(), ExperimentLayout(root, {1}).spec()}) {
        BOOST_TEST(run({"dump", path.string()}) == 0, err);
        BOOST_TEST(find_harmful(out) == "", path);
        BOOST_TEST(contains(out, "owned"), path);
    }
}

BOOST_AUTO_TEST_SUITE_END()
