// What `det-submit top` shows of running trials.
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>
#include <det/protocol/metric_frames.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"
#include "in_terminal.hpp"
#include "local_time_zone.hpp"
#include "output/table.hpp"
#include "top/running_trials.hpp"

using namespace det;
using namespace det::cli;

namespace top_test {

MetricsReported gpu_report(int seconds, Json metrics) {
    return {UtcTime{std::int64_t{seconds} * 1'000'000}, "gpu", 0, std::move(metrics)};
}

/// Experiment 2 runs on two nodes and has reported; experiment 4 waits.
struct Fixture : CliFixture {
    Fixture() {
        write_examples(root);
        auto reports = report(ExperimentLayout(root, {2}), 0);
        must(reports.append(MetricsReported{minute(31), "training", 60, Json{{"loss", 0.5}}}));
        must(reports.append(MetricsReported{minute(32), "validation", 120, Json{{"loss", 0.123456}}}));
        must(reports.append(ProgressReported{minute(32), 0.4}));
        create_example(root, 4, "waits");
        clock.sleep_for(std::chrono::minutes(32));
        slurm.other_jobs = {own_job(2, slurm::JobState::running, "RUNNING"),
                            own_job(4, slurm::JobState::pending, "PENDING")};
        slurm.other_jobs.push_back(slurm.other_jobs[0]);
        slurm.other_jobs.back().user = "you";  // any user can write any comment
        slurm.other_jobs.back().comment = experiment::job_comment(root, {3});
    }
    slurm::JobStatus own_job(std::uint32_t id, slurm::JobState state, std::string text) const {
        auto job = job_of(id, state, std::move(text));
        job.user = experiment::user_name(environment);
        job.comment = experiment::job_comment(root, {id});
        return job;
    }
    void write_node(int node, std::vector<Metric> const& metrics) const {
        auto journal = must(
            journal::JournalWriter::create(ExperimentLayout(root, {2}).trial(0).run(0).node_metrics(node)));
        MetricFrameWriter frames;
        frames.add(minute(32), "gpu", 0, metrics);
        for (auto const& frame : frames.take()) must(journal.append(frame));
    }
};

RunningTrials many_trials(std::uint32_t count) {
    RunningTrials running{minute(0), {}, 3};
    for (std::uint32_t i = 0; i < count; ++i) {
        RunningTrial trial;
        trial.id = {{7}, i};
        trial.experiment_name = "a name with \x1b[2J in it \xe6\xbc\xa2\xe5\xad\x97";
        trial.hosts = "node[0-1]";
        trial.training.progress = 0.5;
        trial.training.step = 50;
        trial.training.metric = MetricFact{"loss", 0.25, 50, {}};
        running.trials.push_back(trial);
    }
    return running;
}

std::size_t width_of(std::string line) {
    for (std::string const style : {"\x1b[1m", "\x1b[36m", "\x1b[0m"}) {
        if (auto const at = line.find(style); at != std::string::npos) line.erase(at, style.size());
    }
    BOOST_TEST(escape_control(line) == line);
    return display_width(line);
}

}  // namespace top_test

BOOST_FIXTURE_TEST_SUITE(top_test, Fixture)

BOOST_AUTO_TEST_CASE(a_pipe_gets_the_running_trials_once_without_escape_sequences) {
    write_node(0, {{"gpu_util GPU-1", 80}, {"gpu_util GPU-2", 90}, {"gpu_free_memory GPU-1", 1e9}});
    write_node(1, {{"gpu_util GPU-3", 100}});
    BOOST_TEST(run("top") == 0, err);
    check_golden("cli/top.txt", out);
    auto const once = out;
    BOOST_TEST(run("top --once") == 0);
    BOOST_TEST(out == once);
}

BOOST_AUTO_TEST_CASE(json_has_what_is_known_and_null_for_the_rest) {
    auto answer = ask("top");
    BOOST_TEST(answer["queued_trials"] == 1);
    BOOST_TEST(answer["time"] == format_utc(minute(32)));
    BOOST_REQUIRE(answer["trials"].size() == 1u);
    auto const& trial = answer["trials"][0];
    BOOST_TEST(trial["name"] == "2.0");
    BOOST_TEST(trial["experiment_name"] == "still running");
    BOOST_TEST(trial["state"] == "RUNNING");
    BOOST_TEST(trial["progress"] == 0.4);
    BOOST_TEST(trial["step"] == 120);
    BOOST_TEST(trial["steps_per_s"] == 1.0);
    BOOST_TEST(trial["steps_total"].is_null());
    BOOST_TEST(trial["metric"] == (Json{{"name", "loss"}, {"value", 0.123456}, {"steps_completed", 120}}));
    BOOST_TEST(trial["gpu_use"].is_null());
    BOOST_TEST(trial["nodes"] == "n[0-1]");
}

BOOST_AUTO_TEST_CASE(slurm_is_asked_once_and_its_silence_is_an_error) {
    BOOST_TEST(run("top") == 0);
    BOOST_TEST(slurm.calls.size() == 1u);
    slurm.is_down = true;
    BOOST_TEST(run("top") == to_int(ExitCode::slurm_unreachable));
    BOOST_TEST(out == "");
}

BOOST_AUTO_TEST_CASE(without_running_trials_the_table_is_empty) {
    slurm.other_jobs.clear();
    BOOST_TEST(run("top") == 0);
    BOOST_TEST(split_lines(out).size() == 2u);
    BOOST_TEST(ask("top")["trials"] == Json::array());
}

BOOST_AUTO_TEST_CASE(an_interval_is_not_too_short) {
    BOOST_TEST(run("top --interval 0.5") == to_int(ExitCode::usage));
    BOOST_TEST(run("top --interval nan") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(the_newest_report_of_each_gpu_counts_for_a_minute) {
    std::vector<Record> const records{gpu_report(10, {{"gpu_util A", 10}, {"gpu_util B", 20}}),
                                      gpu_report(50, {{"gpu_util A", 70}, {"gpu_free_memory A", 5}})};
    auto const both = last_gpu_use(records, UtcTime{60'000'000});
    BOOST_TEST((both == std::map<std::string, double>{{"A", 70}, {"B", 20}}));
    auto const later = last_gpu_use(records, UtcTime{100'000'000});
    BOOST_TEST((later == std::map<std::string, double>{{"A", 70}}));
    BOOST_TEST(last_gpu_use(records, UtcTime{200'000'000}).empty());
}

BOOST_AUTO_TEST_CASE(every_line_of_the_screen_fits_it) {
    for (std::size_t const columns : {1u, 20u, 40u, 80u, 200u}) {
        for (std::size_t const rows : {1u, 3u, 6u, 30u}) {
            for (std::uint32_t const trials : {0u, 1u, 50u}) {
                TopView view{many_trials(trials)};
                view.first_row = 1000;
                view.has_colour = trials == 50;
                auto const lines = render_top(view, {rows, columns});
                BOOST_TEST(lines.size() == rows);
                for (auto const& line : lines) BOOST_TEST(width_of(line) == columns);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_screen_with_colours_shows_states_in_colour) {
    TopView view{many_trials(1)};
    view.has_colour = true;
    auto const lines = render_top(view, {6, 100});
    BOOST_TEST(contains(lines[3], "\x1b[36mRUNNING\x1b[0m"));
}

BOOST_AUTO_TEST_CASE(a_narrow_screen_shows_the_important_columns_and_names_the_others) {
    LocalTimeZone const zone("XYZ-2");
    TopView view{many_trials(2)};
    std::string text;
    for (auto const& line : render_top(view, {9, 70})) text += escape_control(line) + "\n";
    check_golden("cli/top_screen.txt", text);
}

BOOST_AUTO_TEST_CASE(a_screen_scrolls_to_the_last_trial_and_says_which_ones_it_shows) {
    TopView view{many_trials(50)};
    view.first_row = 1000;
    auto const lines = render_top(view, {12, 200});
    BOOST_TEST(view.first_row == 42u);
    BOOST_TEST(lines[3].starts_with("7.42 "));
    BOOST_TEST(lines[10].starts_with("7.49 "));
    BOOST_TEST(contains(lines.back(), "trials 43 to 50 of 50"));
}

/// `top` on a terminal, with a fake Slurm.
int play_top(int terminal_fd) {
    ::dup2(terminal_fd, STDIN_FILENO);
    ::dup2(terminal_fd, STDOUT_FILENO);
    Fixture fixture;
    fixture.destination = Destination::terminal;
    return fixture.run("top --interval 1");
}

BOOST_AUTO_TEST_CASE(a_terminal_shows_the_trials_live_and_is_restored) {
    InTerminal terminal(play_top);
    terminal.expect("\x1b[?1049h");
    terminal.expect("1 trial with nodes, 1 queued");
    terminal.expect("2.0");
    terminal.resize(60);
    terminal.expect("not shown: ");
    terminal.type("q");
    terminal.expect("\x1b[?1049l");
    BOOST_TEST(terminal.wait() == 0);
    BOOST_TEST(terminal.is_as_before());
}

BOOST_AUTO_TEST_CASE(ctrl_c_ends_top_and_the_terminal_is_restored) {
    InTerminal terminal(play_top);
    terminal.expect("2.0");
    terminal.signal(SIGINT);
    terminal.expect("\x1b[?1049l");
    BOOST_TEST(terminal.wait() == to_int(ExitCode::interrupted));
    BOOST_TEST(terminal.is_as_before());
}

BOOST_AUTO_TEST_SUITE_END()
