// What a trial left: its checkpoints, its metrics, and what its ranks printed.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/rank_failure.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <set>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"
#include "local_time_zone.hpp"
#include "logs/terminal_lines.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace reports_test {

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    void log(std::uint32_t number, int node, std::string const& text) const {
        must(write_file(ExperimentLayout(root, {1}).trial(0).run(number).node_log(node), text));
    }
};

constexpr char noon[] = "2026-11-21T12:00:00.000000Z ";
constexpr char later[] = "2026-11-21T12:00:00.000001Z ";

}  // namespace reports_test

BOOST_FIXTURE_TEST_SUITE(reports_test, Fixture)

BOOST_AUTO_TEST_CASE(checkpoints_are_listed_oldest_first) {
    BOOST_TEST(run("experiment list-checkpoints 1") == 0);
    check_golden("cli/checkpoints.txt", out);
    BOOST_TEST(run("experiment list-checkpoints 1 --json") == 0);
    check_golden("cli/checkpoints.json", out);
}

BOOST_AUTO_TEST_CASE(the_best_checkpoints_are_stored_and_validated_ones) {
    auto const best = [&](int number) {
        return ask(fmt::format("experiment list-checkpoints 1 --best {}", number));
    };
    auto const next = ExperimentLayout(root, {1}).trial(0).run(2);
    must(make_directories(next.path()));
    must(must(journal::JournalWriter::create(next.chief_journal()))
             .append(MetricsReported{{}, "validation", 100, Json{{"loss", 0.75}}}));
    BOOST_TEST(best(2) == Json::array());
    std::string const uuid = "00000000-0000-4000-8000-000000000001";
    auto const spec = must(journal::load_spec(ExperimentLayout(root, {1})));
    checkpoint::SharedFsStore store(spec.checkpoint_path);
    must(make_directories(store.path_of(uuid)));
    must(store.commit({uuid, "1.0.0", 100, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    BOOST_REQUIRE(best(2).size() == 1u);
    BOOST_TEST(best(2)[0]["uuid"] == uuid);
    BOOST_TEST(best(2)[0]["state"] == "PARTIALLY_DELETED");
    BOOST_TEST(best(2)[0]["metric"] == 0.75);
    BOOST_TEST(best(0) == Json::array());
    BOOST_TEST(run("experiment list-checkpoints 1 --best 1 --csv") == 0);
    BOOST_TEST(out.find("\n1.0,0,100,") != std::string::npos, out);
}

BOOST_AUTO_TEST_CASE(an_experiment_without_checkpoints_has_an_empty_list) {
    BOOST_TEST(run("experiment list-checkpoints 2") == 0);
    BOOST_TEST(split_lines(out).size() == 2u);
    BOOST_TEST(ask("experiment list-checkpoints 2") == Json::array());
    BOOST_TEST(ask("experiment list-checkpoints 10") == Json::array());
    BOOST_TEST(run("experiment list-checkpoints 4") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(metrics_of_all_runs_are_listed) {
    BOOST_TEST(run("trial metrics 1.0") == 0);
    check_golden("cli/trial_metrics.txt", out);
    auto const metrics = ask("trial metrics 1.0");
    BOOST_REQUIRE(metrics.size() == 3u);
    BOOST_TEST(metrics[2] == (Json{{"trial", "1.0"},
                                   {"run", 1},
                                   {"group", "training"},
                                   {"steps_completed", 150},
                                   {"time", "2026-11-21T12:15:00.000000Z"},
                                   {"superseded", false},
                                   {"rank", 0},
                                   {"metrics", {{"loss", 0.25}}}}));
}

BOOST_AUTO_TEST_CASE(descriptions_have_metrics_if_they_are_asked_for) {
    auto const plain = ask("trial describe 1.0");
    BOOST_TEST(!plain.contains("metrics"));
    auto const trial = ask("trial describe 1.0 --metrics --metrics-summary");
    BOOST_TEST(trial["metrics"] == ask("trial metrics 1.0"));
    auto const loss = trial["summary_metrics"]["training"]["loss"];
    BOOST_TEST(loss["count"].get<int>() >= 1);
    BOOST_TEST(loss["min"].get<double>() <= loss["mean"].get<double>());
    BOOST_TEST(loss["mean"].get<double>() <= loss["max"].get<double>());
    BOOST_TEST(run("trial describe 1.0 --metrics") == 0);
    auto const text = out;
    BOOST_TEST(run("trial metrics 1.0") == 0);
    BOOST_TEST(text.ends_with("\n\n" + out), text);
    BOOST_TEST(run("trial describe 1.0 --metrics --csv") == 0);
    auto const csv = out;
    BOOST_TEST(run("trial metrics 1.0 --csv") == 0);
    BOOST_TEST(csv == out);
    BOOST_TEST(run("trial describe 1.0 --metrics-summary --csv") == 0);
    BOOST_TEST(out.starts_with("Group,Metric,Count,Min,Max,Mean,Last\n"), out);
    BOOST_TEST(run("trial describe 1.0 --csv") == 0);
    BOOST_TEST(out.starts_with("Trial,State,Run,Started,"), out);
    BOOST_TEST(run("trial describe 1.0 --csv --json") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(several_experiments_are_described_together) {
    BOOST_TEST(ask("experiment describe 1")["id"] == 1);
    auto const both = ask("experiment describe 1,2 --metrics");
    BOOST_REQUIRE(both.size() == 2u);
    BOOST_TEST(both[1]["id"] == 2);
    BOOST_TEST(both[0]["trials"][0]["metrics"] == ask("trial metrics 1.0"));
    BOOST_TEST(run("experiment describe 1") == 0);
    auto const one = out;
    BOOST_TEST(run("experiment describe 1,2") == 0);
    BOOST_TEST(out.starts_with(one + "\nExperiment 2: "), out);
    BOOST_TEST(run("experiment describe 1,2 --csv") == 0);
    BOOST_TEST(contains(out, "\n1.0,"), out);
    BOOST_TEST(contains(out, "\n2.0,"), out);
    BOOST_TEST(run("experiment describe 1 --metrics --csv") == 0);
    BOOST_TEST(out.starts_with("trial,run,group,"), out);
    BOOST_TEST(run("experiment describe 1,99") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment describe 1,") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment describe 1 --csv --search") == to_int(ExitCode::usage));
    auto const tables = directory / "a/tables";
    BOOST_TEST(run("experiment describe 1,2 --metrics --outdir " + tables.string()) == 0, err);
    BOOST_TEST(out == "");
    BOOST_TEST(must(read_file(tables / "trials.csv")).starts_with("Trial,State,Run"));
    BOOST_TEST(must(read_file(tables / "metrics.csv")).starts_with("trial,run,group"));
    BOOST_TEST(run("experiment describe 1 --json --outdir " + tables.string()) == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(metrics_of_one_group_can_be_listed) {
    auto const metrics = ask("trial metrics 1 --group validation");
    BOOST_REQUIRE(metrics.size() == 1u);
    BOOST_TEST(metrics[0]["steps_completed"] == 100);
}

BOOST_AUTO_TEST_CASE(a_metric_that_does_not_exist_is_an_error_with_those_that_do) {
    BOOST_TEST(run("trial metrics 1 --metric los") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "there is no metric 'los' in trial 1"), err);
    BOOST_TEST(contains(err, "use 'loss'; there are "), err);
    BOOST_TEST(out == "");
    BOOST_TEST(run("trial metrics 1 --metric los --json") == to_int(ExitCode::absent));
    BOOST_TEST(run("trial metrics 1 --group absent") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "there are training, validation"), err);
    BOOST_TEST(run("trial metrics 1 --group training --metric accuracy") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "in the group 'training' of trial 1"), err);
    BOOST_TEST(run("trial metrics 2 --metric loss --json") == 0);  // it runs and may report it later
    BOOST_TEST(out == "[]\n");
    BOOST_TEST(contains(err, "warning: there is no metric 'loss' in trial 2"), err);
    BOOST_TEST(contains(err, "none has been reported so far"), err);
    BOOST_TEST(run("trial metrics 2 1 --metric loss") == 0);
}

BOOST_AUTO_TEST_CASE(metrics_of_several_trials_are_listed_and_drawn) {
    auto const layout = create_example(root, 5);
    start_run(layout, 0, 1);
    auto chief = report(layout, 0);
    must(chief.append(MetricsReported{minute(2), "training", 50, Json{{"loss", "NaN"}, {"a,b", 1}}}));
    must(chief.append(MetricsReported{minute(2), "training", 150, Json{{"loss", 0.75}}}));
    BOOST_TEST(run("trial metrics 1 5 --metric loss") == 0);
    BOOST_TEST(contains(out, "Trial ID | Run | Group"), out);
    BOOST_TEST(contains(out, "\n5.0      | 0   | training | 50    | 2026-11-21 12:02:00Z | loss=NaN\n"), out);
    BOOST_TEST(run("trial metrics 5 --csv") == 0);
    BOOST_TEST(out ==
               "trial,run,group,steps_completed,time,metric,value,rank\n"
               "5.0,0,training,50,2026-11-21T12:02:00.000000Z,\"a,b\",1,0\n"
               "5.0,0,training,50,2026-11-21T12:02:00.000000Z,loss,NaN,0\n"
               "5.0,0,training,150,2026-11-21T12:02:00.000000Z,loss,0.75,0\n");
    BOOST_TEST(ask("trial metrics 1 5 --metric loss").size() == 4u);
    BOOST_TEST(run("trial metrics 1 5 --metric loss --plot") == 0);
    check_golden("cli/trial_metrics_plot.txt", out);
    BOOST_TEST(run("trial metrics 1 --metric note --plot") == 0);
    BOOST_TEST(err == "no numbers to draw\n");
    BOOST_TEST(run("trial metrics 1 --csv --plot") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(metrics_of_all_ranks_are_listed) {
    auto const layout = create_example(root, 5);
    start_run(layout, 0, 1);
    auto chief = report(layout, 0);
    must(chief.append(MetricsReported{minute(2), "training", 50, Json{{"loss", 0.5}}}));
    auto other = must(journal::JournalWriter::create(layout.trial(0).run(0).rank_journal({1})));
    must(other.append(MetricsReported{minute(1), "training", 50, Json{{"loss", 2.5}}, Rank{1}}));
    must(other.append(MetricsReported{minute(3), "training", 51, Json{{"loss", 0.25}}, Rank{1}}));
    BOOST_TEST(run("trial metrics 5") == 0);
    BOOST_TEST(contains(out, "Run | Group    | Steps | Time                 | Rank | Metrics"), out);
    BOOST_TEST(contains(out, "\n0   | training | 50    | 2026-11-21 12:01:00Z | 1    | loss=2.5\n"), out);
    BOOST_TEST(run("trial metrics 5 --csv") == 0);
    BOOST_TEST(contains(out, "5.0,0,training,51,2026-11-21T12:03:00.000000Z,loss,0.25,1\n"), out);
    auto const metrics = ask("trial metrics 5");
    BOOST_REQUIRE(metrics.size() == 3u);
    BOOST_TEST(metrics[1]["rank"] == 0);
    BOOST_TEST(metrics[2]["rank"] == 1);
    // A curve has the chief's value of step 50.
    BOOST_TEST(run("trial metrics 5 --plot") == 0);
    BOOST_TEST(!contains(out, "2.5"), out);
}

BOOST_AUTO_TEST_CASE(superseded_metrics_are_shown_only_if_asked_for) {
    auto first =
        must(journal::JournalWriter::open(ExperimentLayout(root, {1}).trial(0).run(0).chief_journal()));
    must(first.append(MetricsReported{minute(4), "training", 120, Json{{"loss", 0.125}}}));
    must(first.append(MetricsReported{minute(4), "validation", 120, Json{{"loss", 0.125}}}));
    BOOST_TEST(ask("trial metrics 1.0").size() == 3u);
    auto const all = ask("trial metrics 1.0 --all-runs");
    BOOST_REQUIRE(all.size() == 5u);
    BOOST_TEST(all[2]["superseded"] == true);
    BOOST_TEST(all[4]["superseded"] == false);
    BOOST_TEST(run("trial metrics 1.0 --all-runs") == 0);
    BOOST_TEST(contains(out, "loss=0.125                                    | yes"), out);
    BOOST_TEST(ask("experiment describe 1 --search")["best_trial"].is_null());
}

BOOST_AUTO_TEST_CASE(what_a_program_says_of_its_trial_is_shown) {
    auto const quiet = ask("trial describe 1");
    BOOST_TEST(quiet["progress"].is_null());
    BOOST_TEST(quiet["metadata"].is_null());
    BOOST_TEST(quiet["alerts"] == Json::array());
    BOOST_TEST(quiet["dropped_reports"] == 0);
    auto const next = ExperimentLayout(root, {1}).trial(0).run(2);
    must(make_directories(next.path()));
    auto journal = must(journal::JournalWriter::create(next.chief_journal()));
    must(journal.append(ProgressReported{minute(1), 0.25}));
    must(journal.append(StatusSet{minute(1), "warming up"}));
    must(journal.append(AlertRaised{minute(2), "careful", "the loss is \x1b[2J", "warn"}));
    must(journal.append(ProgressReported{minute(3), 0.5}));
    must(journal.append(TrialMetadataSet{minute(3), Json{{"old", 1}}}));
    must(journal.append(TrialMetadataSet{minute(3), Json{{"lr", 0.5}, {"note", "\x1b[2J"}}}));
    for (int i = 0; i < 2; ++i)
        must(journal.append(ReportsDropped{minute(3), 4, "the queue of reports was full"}));
    BOOST_TEST(run("trial describe 1") == 0);
    BOOST_TEST(
        contains(out,
                 "\nProgress: 50 %\nStatus: warming up\nMetadata: {\"lr\":0.5,\"note\":\"\\u001b[2J\"}\n"
                 "Dropped reports: 8\nAlert: 2026-11-21 "
                 "12:02:00Z warn: careful: the "
                 "loss is \\x1b[2J\n"),
        out);
    auto const answer = ask("trial describe 1");
    BOOST_TEST(answer["progress"] == 0.5);
    BOOST_TEST(answer["status"] == "warming up");
    BOOST_TEST(answer["metadata"]["lr"] == 0.5);
    BOOST_TEST(answer["alerts"][0]["title"] == "careful");
}

BOOST_AUTO_TEST_CASE(an_unknown_trial_is_reported) {
    for (auto const* command :
         {"trial metrics 1.1", "trial logs 1.1", "trial logs 4", "trial logs 1 --run 2"}) {
        BOOST_TEST(run(command) == to_int(ExitCode::absent), command);
    }
    BOOST_TEST(run("trial metrics 1.x") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(logs_are_printed_unchanged_run_after_run) {
    log(0, 0, std::string(noon) + "[rank=0] a\n" + later + "[rank=1] c\n");
    log(0, 1, std::string(noon) + "[rank=4] b\n");
    log(1, 0, std::string(noon) + "resumed\n");
    BOOST_TEST(run("trial logs 1") == 0);
    BOOST_TEST(out == std::string(noon) + "[rank=0] a\n" + noon + "[rank=4] b\n" + later + "[rank=1] c\n" +
                          noon + "resumed\n");
    BOOST_TEST(run("trial logs 1000000 --run 1") == 0);
    BOOST_TEST(out == std::string(noon) + "resumed\n");
}

BOOST_AUTO_TEST_CASE(lines_of_one_rank_can_be_selected) {
    log(0, 0, std::string(noon) + "[rank=1] a\n" + later + "[rank=11] b\n" + later + "no rank\n");
    for (auto const* option : {"--rank", "--rank-id"}) {
        BOOST_TEST(run(std::string("trial logs 1 ") + option + " 1") == 0);
        BOOST_TEST(out == std::string(noon) + "[rank=1] a\n");
    }
    BOOST_TEST(run("trial logs 1 --rank 7") == 0);
    BOOST_TEST(out == "");
}

BOOST_AUTO_TEST_CASE(a_rank_that_does_not_exist_is_an_error_with_those_that_do) {
    // A script may start more ranks than the trial has slots.
    log(0, 0, std::string(noon) + "[rank=1] a\n" + later + "[rank=11] b\n");
    for (auto const* command : {"trial logs 1 --rank 9", "experiment logs 1 --rank 9",
                                "trial logs 1 --rank 1 --rank 9", "trial logs 1 --rank 9 --tail 3 --json"}) {
        BOOST_TEST(run(command) == to_int(ExitCode::absent), command);
        BOOST_TEST(contains(err, "trial 1.0 has no rank 9"), err);
        BOOST_TEST(contains(err, "its ranks are 0 to 7"), err);
        BOOST_TEST(out == "");
    }
    BOOST_TEST(run("trial logs 1 --rank 11") == 0);
    BOOST_TEST(out == std::string(later) + "[rank=11] b\n");
    // The trial has ended, so nothing follows.
    BOOST_TEST(run("trial logs 1 --rank 9 --follow") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "warning: trial 1.0 has no rank 9"), err);
}

BOOST_AUTO_TEST_CASE(logs_of_several_ranks_are_printed_together) {
    log(0, 0, std::string(noon) + "[rank=1] a\n" + later + "[rank=11] b\n" + later + "no rank\n");
    log(0, 1, std::string(later) + "[rank=2] c\n");
    BOOST_TEST(run("trial logs 1 --rank-id 2 --rank 1") == 0);
    BOOST_TEST(out == std::string(noon) + "[rank=1] a\n" + later + "[rank=2] c\n");
    BOOST_TEST(run("trial logs 1 --rank-id 1 --rank-id 2 --tail 1") == 0);
    BOOST_TEST(out == std::string(later) + "[rank=2] c\n");
}

BOOST_AUTO_TEST_CASE(logs_of_an_experiment_are_those_of_its_first_trial) {
    log(0, 0, std::string(noon) + "[rank=0] a\n" + later + "[rank=1] b\n");
    for (auto const* options :
         {"", " --rank-id 0", " --timestamp-before 2100-01-01 --timestamp-after 2000-01-01"}) {
        BOOST_TEST(run(std::string("trial logs 1.0") + options) == 0);
        auto const logs_of_trial = out;
        BOOST_TEST(!logs_of_trial.empty());
        BOOST_TEST(run(std::string("experiment logs 1") + options) == 0);
        BOOST_TEST(out == logs_of_trial);
    }
    BOOST_TEST(run("experiment logs 1 --timestamp-after 2100-01-01") == 0);
    BOOST_TEST(out == "");
    BOOST_TEST(run("experiment logs 4") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(with_json_each_log_line_is_an_object) {
    log(0, 3, std::string(noon) + "[rank=12] \x1b[31m\xff\"\r\n" + "Killed");
    BOOST_TEST(run("trial logs 1 --json") == 0);
    auto const lines = split_lines(out);
    BOOST_REQUIRE(lines.size() == 2u);
    BOOST_TEST(parse_json(lines[0]) == (Json{{"run", 0},
                                             {"node", 3},
                                             {"rank", 12},
                                             {"time", "2026-11-21T12:00:00.000000Z"},
                                             {"level", nullptr},
                                             {"message", "\x1b[31m\xef\xbf\xbd\"\r"}}));
    BOOST_TEST(contains(lines[0], "\\u001b"));
    BOOST_TEST(parse_json(lines[1])["rank"].is_null());
    BOOST_TEST(parse_json(lines[1])["message"] == "Killed");
}

BOOST_AUTO_TEST_CASE(on_a_terminal_control_bytes_of_logs_are_escaped) {
    log(0, 0, std::string(noon) + "[rank=1] \x1b[2Jgone\tand \xff \r\n");
    BOOST_TEST(run("trial logs 1") == 0);
    BOOST_TEST(out == std::string(noon) + "[rank=1] \x1b[2Jgone\tand \xff \r\n");
    destination = Destination::terminal;
    BOOST_TEST(run("trial logs 1") == 0);
    BOOST_TEST(out == std::string(noon) + "[rank=1] \\x1b[2Jgone\tand \\xff \\r\n");
}

BOOST_AUTO_TEST_CASE(a_terminal_with_colours_shows_the_local_time_and_a_colour_for_each_rank) {
    LocalTimeZone const two_hours_east("XYZ-2");
    auto const lines =
        "2026-11-21T21:59:59.999999Z [rank=0] last of the day\n"
        "2026-11-21T22:00:00.000000Z [rank=1] \x1b[2Jnext\tday\n"
        "2026-11-21T22:00:00.000001Z [rank=8] like rank 0\n"
        "2026-11-21T22:00:01.500000Z srun: a line without a label\n"
        "a line without a time\n";
    log(0, 0, lines);
    environment.set("TERM", "xterm");
    BOOST_TEST(run("trial logs 1") == 0);
    BOOST_TEST(out == lines);  // a pipe
    destination = Destination::terminal;
    auto const shown =
        "\x1b[2m2026-11-21, times in XYZ\x1b[0m\n"
        "23:59:59 \x1b[36m[rank=0]\x1b[0m last of the day\n"
        "\x1b[2m2026-11-22, times in XYZ\x1b[0m\n"
        "00:00:00 \x1b[33m[rank=1]\x1b[0m \\x1b[2Jnext\tday\n"
        "00:00:00 \x1b[36m[rank=8]\x1b[0m like rank 0\n"
        "00:00:01 srun: a line without a label\n"
        "a line without a time\n";
    for (auto const* command : {"trial logs 1", "experiment logs 1", "task logs 1"}) {
        BOOST_TEST(run(command) == 0);
        BOOST_TEST(out == shown);
    }
    BOOST_TEST(run("trial logs 1 --head 1 --json") == 0);
    BOOST_TEST(parse_json(out)["time"] == "2026-11-21T21:59:59.999999Z");
    environment.set("NO_COLOR", "1");
    BOOST_TEST(run("trial logs 1 --head 1") == 0);
    BOOST_TEST(out == "2026-11-21T21:59:59.999999Z [rank=0] last of the day\n");
}

BOOST_AUTO_TEST_CASE(the_ranks_of_a_node_of_eight_gpus_have_different_colours) {
    TerminalLines lines(true);
    std::set<std::string> labels;
    for (int rank = 0; rank < 8; ++rank) {
        auto const line = std::string(noon) + "[rank=" + std::to_string(rank) + "] x";
        auto const shown = lines.format(parse_log_line(line));
        auto const label = shown.rfind("\x1b[", shown.find("[rank="));
        labels.insert(shown.substr(label, shown.find("[rank=") - label));
    }
    BOOST_TEST(labels.size() == 8u);
}

BOOST_AUTO_TEST_CASE(a_node_is_selected_by_number_or_name) {
    log(0, 0, std::string(noon) + "[rank=0] a\n");
    log(0, 1, std::string(noon) + "[rank=4] b\n");
    for (auto const* node : {"1", "n1"}) {
        BOOST_TEST(run(std::string("trial logs 1 --node ") + node) == 0);
        BOOST_TEST(out == std::string(noon) + "[rank=4] b\n");
    }
    BOOST_TEST(run("trial logs 1 --node n1 --container-id n0") == 0);
    BOOST_TEST(out == "");
    BOOST_TEST(run("trial logs 1 --node elsewhere") == to_int(ExitCode::absent));
    BOOST_TEST(out == "");
    BOOST_TEST(
        contains(err, "there is no node 'elsewhere' in trial 1.0 [no-such-node]\n  hint: there are n0, n1"),
        err);
    BOOST_TEST(run("trial logs 1 --node 2") == to_int(ExitCode::absent));
    BOOST_TEST(run("trial logs 1 --container-id elsewhere") == to_int(ExitCode::absent));
    BOOST_TEST(run("trial logs 1 --run 9") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "trial 1.0 has no run 9 [no-such-trial]\n  hint: its runs are 0 to "), err);
}

BOOST_AUTO_TEST_CASE(the_first_or_last_lines_can_be_selected) {
    log(0, 0, std::string(noon) + "[rank=0] a\n" + later + "[rank=0] c\n");
    log(0, 1, std::string(noon) + "[rank=4] b\n" + later + "[rank=4] d\n");
    log(1, 0, std::string(noon) + "[rank=0] e\n");
    auto const texts = [&](std::string const& options) {
        BOOST_TEST(run("trial logs 1 --json " + options) == 0);
        std::string all;
        for (auto const line : split_lines(out)) all += parse_json(line)["message"].get<std::string>();
        return all;
    };
    BOOST_TEST(texts("--head 3") == "abc");
    BOOST_TEST(texts("--head 0") == "");
    BOOST_TEST(texts("--head 9") == "abcde");
    BOOST_TEST(texts("--tail 1") == "e");
    BOOST_TEST(texts("--tail 3") == "cde");
    BOOST_TEST(texts("--tail 4") == "bcde");
    BOOST_TEST(texts("--tail 0") == "");
    BOOST_TEST(texts("--tail 9") == "abcde");
    BOOST_TEST(texts("--tail 2 --rank 4") == "bd");
    BOOST_TEST(texts("--tail 1 --run 0") == "d");
    BOOST_TEST(texts("--tail 2 --follow") == "de");
    BOOST_TEST(texts("--head 2 --follow") == "ab");
    BOOST_TEST(run("trial logs 1 --head 1 --tail 1") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(lines_are_selected_by_time_level_and_text) {
    log(0, 0,
        "2026-11-21T11:00:00.000000Z [rank=0] INFO: starting\n"
        "2026-11-21T12:00:00.000000Z [rank=0] WARNING: slow\n"
        "2026-11-21T12:30:00.000000Z [rank=0] loss=0.25\n"
        "2026-11-21T13:00:00.000000Z [rank=0] ERROR: lost\n");
    auto const count = [&](std::string const& options) {
        BOOST_TEST(run("trial logs 1 " + options) == 0);
        return split_lines(out).size();
    };
    BOOST_TEST(count("--since 2026-11-21T12:00") == 3u);
    BOOST_TEST(count("--until 2026-11-21T12:00:00Z") == 2u);
    BOOST_TEST(count("--since 2026-11-21T11:30 --until 2026-11-21T12:45") == 2u);
    BOOST_TEST(count("--level warning") == 2u);
    BOOST_TEST(count("--level INFO") == 3u);
    BOOST_TEST(count("--grep loss=[0-9.]+$") == 1u);
    BOOST_TEST(count("--grep rank") == 0u);
    BOOST_TEST(parse_json([&] {
                   run("trial logs 1 --level error --json");
                   return out;
               }())["level"] == "ERROR");
    for (auto const* option : {"--since soon", "--until 25:00", "--level loud", "--grep ("})
        BOOST_TEST(run(std::string("trial logs 1 ") + option) == to_int(ExitCode::usage), option);
}

BOOST_AUTO_TEST_CASE(the_rank_of_a_run_that_failed_first_is_shown) {
    auto const experiment = create_example(root, 20, "fails");
    auto life = start_run(experiment, 0, 1);
    auto const run_directory = experiment.trial(0).run(0);
    std::string words;
    for (int i = 0; i < 30; ++i) words += "line " + std::to_string(i) + "\n";
    RankFailure const first{minute(2), 3, "n0", 1, 0, words + "ValueError: \x1b[2J\n"};
    RankFailure const second{minute(3), 5, "n1", 139, 11, ""};
    must(write_file(RunLayout::failures_beside(run_directory.node_log(1)), render_rank_failure(second)));
    must(write_file(RunLayout::failures_beside(run_directory.node_log(0)),
                    render_rank_failure(first) + "{torn"));
    must(life.append(run_end(4, Cause::failed, NextAction::stop, 1, "a rank failed")));

    BOOST_TEST(run("trial describe 20") == 0);
    BOOST_TEST(contains(out, "\nRun 0: rank 3 on n0 failed first: exit code 1\n    line 11\n"), out);
    BOOST_TEST(contains(out, "    line 29\n    ValueError: \\x1b[2J\n"), out);
    BOOST_TEST(contains(out, "det-submit trial logs 20.0 --run 0 --rank 3\n"), out);
    auto const failure = ask("trial describe 20")["runs"][0]["first_failure"];
    BOOST_TEST(failure["rank"] == 3);
    BOOST_TEST(failure["exit_code"] == 1);
    BOOST_TEST(failure["signal"].is_null());
    BOOST_TEST(failure["last_words"].get<std::string>().ends_with("[2J\n"));
    BOOST_TEST(ask("trial describe 1")["runs"][0]["first_failure"].is_null());
}

BOOST_AUTO_TEST_CASE(the_cpus_of_each_rank_of_the_last_run_are_shown) {
    auto const experiment = create_example(root, 20, "runs");
    auto life = start_run(experiment, 0, 1);
    auto const run_directory = experiment.trial(0).run(0);
    BOOST_TEST(ask("trial describe 20")["runs"][0]["ranks"].empty());
    must(write_file(RunLayout::placements_beside(run_directory.node_log(1)),
                    render_rank_placement({2, "n1\x1b[2J", "0-7", {0}, 1}) + "{torn"));
    must(write_file(RunLayout::placements_beside(run_directory.node_log(0)),
                    render_rank_placement({1, "n0", "8-15,72-79", {0, 1}, std::nullopt})));
    BOOST_TEST(run("trial describe 20") == 0);
    auto const table = out.substr(std::min(out.size(), out.find("Rank ")));
    auto const lines = split_lines(table);
    BOOST_REQUIRE(lines.size() >= 4u);
    BOOST_TEST(contains(std::string(lines[0]), "CPUs"), table);
    BOOST_TEST(contains(std::string(lines[2]), "8-15,72-79"), table);
    BOOST_TEST(contains(std::string(lines[3]), "n1\\x1b[2J"), table);
    auto const ranks = ask("trial describe 20")["runs"][0]["ranks"];
    BOOST_REQUIRE(ranks.size() == 2u);
    BOOST_TEST(ranks[0]["rank"] == 1);
    BOOST_TEST(ranks[0]["gpu_numa_node"].is_null());
    BOOST_TEST(ranks[1]["cpus"] == "0-7");
    BOOST_TEST(ranks[1]["numa_nodes"][0] == 0);
    BOOST_TEST(ranks[1]["gpu_numa_node"] == 1);
}

BOOST_AUTO_TEST_CASE(a_stopped_run_has_no_failing_rank) {
    auto const experiment = create_example(root, 20, "preempted");
    auto life = start_run(experiment, 0, 1);
    RankFailure const end{minute(2), 3, "n0", 1, 0, ""};
    must(write_file(RunLayout::failures_beside(experiment.trial(0).run(0).node_log(0)),
                    render_rank_failure(end)));
    must(life.append(run_end(4, Cause::canceled, NextAction::stop, 1, "the user canceled it")));
    BOOST_TEST(run("trial describe 20") == 0);
    BOOST_TEST(!contains(out, "failed first"), out);
}

BOOST_AUTO_TEST_SUITE_END()
