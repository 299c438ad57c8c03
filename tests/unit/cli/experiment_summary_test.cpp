// The text of `experiment describe`: few lines for any experiment, and the commands that fit its state.
#include "experiment/experiment_summary.hpp"

#include <det/journal/event_log.hpp>
#include <det/tracker/history/attributes.hpp>

#include <boost/test/unit_test.hpp>

#include "cli_support.hpp"
#include "example_experiments.hpp"
#include "output/table.hpp"

using namespace det;
using namespace det::cli;
using lifecycle::State;

namespace experiment_summary_test {

struct Fixture : CliFixture {
    Fixture() { write_examples(root); }

    /// Creates an experiment of so many trials and ends the first `ended` of them.
    ExperimentLayout create_search(std::uint32_t id, std::uint32_t trials, std::uint32_t ended) const {
        auto const experiment = create_example(root, id, "search");
        change_spec(experiment, [&](auto& spec) {
            spec.searcher = {"random", "loss", true,
                             Json{{"max_trials", trials}, {"max_length", {{"batches", 100}}}}};
            spec.trial_count = trials;
            spec.hyperparameters = Json{{"lr", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}}};
        });
        for (std::uint32_t i = 0; i < ended; ++i) {
            bool const fails = i % 10 == 3;
            end_run(experiment, i, fails ? Cause::failed : Cause::finished, "end of trial", "");
            auto chief = must(journal::JournalWriter::create(experiment.trial(i).run(0).chief_journal()));
            must(chief.append(MetricsReported{minute(2), "validation", 50, Json{{"loss", 1.0 - 0.001 * i}}}));
        }
        return experiment;
    }
    template <typename Change>
    static void change_spec(ExperimentLayout const& experiment, Change const& change) {
        auto spec = must(parse_spec(must(read_file(experiment.spec()))));
        change(spec);
        must(write_file(experiment.spec(), render_spec(spec)));
    }
    static void end_run(ExperimentLayout const& experiment, std::uint32_t trial, Cause cause,
                        std::string message, std::string const& output) {
        auto const directory = experiment.trial(trial).run(0);
        must(make_directories(directory.path()));
        auto life = must(journal::JournalWriter::create(directory.supervisor_journal()));
        RunStarted started;
        started.time = minute(1);
        started.job = "4720_" + std::to_string(trial);
        started.hosts = "n[0-1]";
        must(life.append(started));
        must(life.append(run_end(2 + static_cast<int>(trial), cause, NextAction::stop,
                                 cause == Cause::failed ? 1 : 0, std::move(message))));
        if (output.empty()) return;
        RankFailure const failure{minute(2), 3, "n0", 1, 0, output};
        must(write_file(RunLayout::failures_beside(directory.node_log(0)), render_rank_failure(failure)));
    }
    std::string describe_on_terminal(std::string const& id, std::uint32_t columns) {
        environment.set("COLUMNS", std::to_string(columns));
        destination = Destination::terminal;
        BOOST_TEST(run("experiment describe " + id) == 0, err);
        destination = Destination::pipe_or_file;
        return out;
    }
};

std::string line_with(std::string const& text, std::string_view begin) {
    for (auto const line : split_lines(text))
        if (line.starts_with(begin)) return std::string(line);
    return "";
}

/// The number of rows of a terminal, with the lines that wrap.
std::size_t rows_of(std::string const& text, std::size_t columns) {
    std::size_t rows = 0;
    for (auto const line : split_lines(text))
        rows += std::max<std::size_t>(1, (display_width(line) + columns - 1) / columns);
    return rows;
}

std::string repeat(std::string const& text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

}  // namespace experiment_summary_test

BOOST_FIXTURE_TEST_SUITE(experiment_summary_test, experiment_summary_test::Fixture)

using namespace experiment_summary_test;

BOOST_AUTO_TEST_CASE(a_search_of_200_trials_is_shown_in_20_lines) {
    (void)create_search(20, 200, 60);
    for (std::uint32_t i = 60; i < 200; ++i) {
        slurm.other_jobs.push_back(job_of(20, slurm::JobState::pending, "PENDING"));
        slurm.other_jobs.back().ref.task = i;
    }
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(split_lines(out).size() <= summary_lines_max, out);
    BOOST_TEST(contains(out, "\nTrials:        200 by random: "), out);
    BOOST_TEST(contains(out, " 54 COMPLETED"), out);
    BOOST_TEST(contains(out, " 6 ERROR"), out);
    BOOST_TEST(contains(out, "\nProgress:      30 %\n"), out);
    BOOST_TEST(contains(out, "\nBest trial:    20.59, smallest loss 0.941 at step 50\n               lr="),
               out);
    BOOST_TEST(contains(out, "\nLast failure:  trial 20.53, run 0, "), out);
    BOOST_TEST(!contains(out, "How it ended"), out);
    BOOST_TEST(run("experiment describe 20 --trials") == 0, err);
    BOOST_TEST(contains(out, "\nTrial 20.199: "), out);
}

BOOST_AUTO_TEST_CASE(an_experiment_that_failed_shows_the_error_and_what_to_do) {
    auto const experiment = create_example(root, 20, "fails");
    end_run(experiment, 0, Cause::failed, "rank 3 on n0 ended with exit code 1",
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad \x1b[2J\n\n");
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(split_lines(out).size() <= summary_lines_max, out);
    BOOST_TEST(out.starts_with("Experiment 20: ERROR\n"), out);
    BOOST_TEST(contains(out, "\n    rank 3 on n0 ended with exit code 1\n"), out);
    BOOST_TEST(contains(out, "\n    ValueError: bad \\x1b[2J\n"), out);
    BOOST_TEST(out.ends_with("\nNext:          det-submit trial logs 20.0 --run 0 --rank 3\n"
                             "               det-submit experiment continue 20\n"),
               out);
    BOOST_TEST(run("experiment archive 20") == 0, err);
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(out.starts_with("Experiment 20: ERROR, archived\n"), out);
    BOOST_TEST(out.ends_with(" det-submit experiment unarchive 20\n"), out);
}

BOOST_AUTO_TEST_CASE(a_hung_run_is_a_failure_and_a_preempted_one_is_not) {
    end_run(create_example(root, 20, "hangs"), 0, Cause::hung, "rank 3 made no step", "");
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(contains(out, "\n    rank 3 made no step (hung)\n"), out);
    end_run(create_example(root, 21, "is preempted"), 0, Cause::preempted, "Slurm preempted the job", "");
    BOOST_TEST(run("experiment describe 21") == 0, err);
    BOOST_TEST(!contains(out, "Last failure"), out);
}

BOOST_AUTO_TEST_CASE(an_idle_run_is_named_while_it_runs_and_when_it_has_ended) {
    auto const experiment = create_example(root, 20, "sleeps");
    auto const first_run = experiment.trial(0).run(0);
    must(make_directories(first_run.path()));
    auto life = must(journal::JournalWriter::create(first_run.supervisor_journal()));
    RunStarted started;
    started.time = minute(1);
    started.job = "4720_0";
    must(life.append(started));
    must(life.append(
        AlertRaised{minute(2), "the run is idle", "its GPUs were used less than 5 % for 60 s", "warn"}));
    slurm.other_jobs = {job_of(20, slurm::JobState::running, "RUNNING")};
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(line_with(out, "Idle:").ends_with(": its GPUs were used less than 5 % for 60 s"), out);
    BOOST_TEST(run("trial describe 20") == 0, err);
    BOOST_TEST(contains(out, " warn: the run is idle: its GPUs were used less than 5 % for 60 s\n"), out);
    BOOST_TEST(out.find("the run is idle") == out.rfind("the run is idle"), out);
    BOOST_TEST(run("experiment describe 20 --json") == 0, err);
    BOOST_TEST(contains(out, "\"title\": \"the run is idle\""), out);
    must(life.append(
        run_end(3, Cause::idle, NextAction::stop, 0, "it was idle: it slept; the trainer ended")));
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(out.starts_with("Experiment 20: CANCELED\n"), out);
    BOOST_TEST(contains(out, ": it was idle: it slept; the trainer ended\n"), out);
    BOOST_TEST(!contains(out, "Last failure"), out);
}

BOOST_AUTO_TEST_CASE(a_running_and_a_waiting_experiment_have_their_commands) {
    slurm.other_jobs = {job_of(2, slurm::JobState::running, "RUNNING")};
    BOOST_TEST(run("experiment describe 2") == 0, err);
    BOOST_TEST(split_lines(out).size() <= summary_lines_max, out);
    BOOST_TEST(contains(out, "\nTrial:         2.0, run 0 on n[0-1]\n"), out);
    BOOST_TEST(out.ends_with("\nNext:          det-submit experiment logs 2 --follow\n"
                             "               det-submit experiment pause 2\n"),
               out);
    (void)create_example(root, 20, "waits");
    slurm.other_jobs = {job_of(20, slurm::JobState::pending, "PENDING")};
    slurm.other_jobs[0].reason = "Priority";
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(split_lines(out).size() <= summary_lines_max, out);
    BOOST_TEST(contains(out, "\nWaits:         job 4730_0: "), out);
    BOOST_TEST(out.ends_with("\nNext:          det-submit job list\n"
                             "               det-submit experiment cancel 20\n"),
               out);
}

BOOST_AUTO_TEST_CASE(hostile_texts_take_no_more_rows_of_a_terminal) {
    auto const experiment = create_search(20, 2, 1);
    auto const hostile = repeat("\n\x1b[2J\xe4\xb8\xad word\t", 400);
    namespace changes = tracker::history::changes;
    for (auto const& [kind, body] : {changes::set_name(hostile), changes::set_description(hostile),
                                     changes::set_notes(hostile), changes::add_label(hostile)})
        must(journal::append_event(experiment.events(),
                                   {std::string(kind), minute(3), hostile, JsonValue(body)}));
    must(journal::append_event(experiment.events(), {std::string(event_kinds::continued), minute(3), hostile,
                                                     JsonValue(Json{{"changes", Json::array()}})}));
    change_spec(experiment, [&](auto& spec) {
        spec.name = spec.owner = spec.pool = spec.searcher.metric = hostile;
        spec.config = Json{{"name", hostile}, {"description", hostile}, {"labels", {hostile, "b"}}};
    });
    end_run(experiment, 1, Cause::failed, hostile, repeat(repeat("word \xe4\xb8\xad", 100) + "\n", 50));
    for (std::uint32_t const columns : {40u, 80u, 200u}) {
        auto const text = describe_on_terminal("20", columns);
        BOOST_TEST(rows_of(text, columns) <= summary_lines_max, columns << ":\n" << text);
        BOOST_TEST(contains(text, "\nLast failure:  "), text);
        BOOST_TEST(contains(text, "\nNext:          det-submit "), text);
    }
    BOOST_TEST(run("experiment describe 20") == 0, err);
    BOOST_TEST(split_lines(out).size() <= summary_lines_max, out);
    BOOST_TEST(line_with(out, "Name:").size() > 1000u);  // nothing is cut in a pipe
}

BOOST_AUTO_TEST_CASE(an_error_wraps_on_a_terminal_and_its_end_is_cut) {
    auto const experiment = create_example(root, 20, "fails");
    end_run(experiment, 0, Cause::failed, "failed",
            "before\n" + std::string(36, 'a') + std::string(36, 'b') + "\n");
    auto text = describe_on_terminal("20", 40);
    BOOST_TEST(
        contains(text, "    before\n    " + std::string(36, 'a') + "\n    " + std::string(36, 'b') + "\n"),
        text);
    end_run(create_example(root, 21, "fails"), 0, Cause::failed, "failed", std::string(36 * 4 + 1, 'a'));
    text = describe_on_terminal("21", 40);
    BOOST_TEST(contains(text, "    " + std::string(33, 'a') + "...\nNext:"), text);
    end_run(create_example(root, 22, "fails"), 0, Cause::failed, "failed", std::string(36 * 4, 'a'));
    text = describe_on_terminal("22", 40);
    BOOST_TEST(contains(text, "    " + std::string(36, 'a') + "\nNext:"), text);
}

BOOST_AUTO_TEST_CASE(times_are_local_on_a_terminal_and_utc_elsewhere) {
    auto waits = job_of(2, slurm::JobState::pending, "PENDING");
    waits.submit_time = minute(0);
    slurm.other_jobs = {waits};
    environment.set("COLUMNS", "500");
    auto const has_utc = [&] { return contains(out, ":00Z"); };
    for (std::string const command :
         {"experiment list", "experiment describe 1", "experiment list-trials 1", "job list"}) {
        destination = Destination::terminal;
        BOOST_TEST(run(command) == 0, err);
        BOOST_TEST(!has_utc(), out);
        if (!command.ends_with("describe 1")) {
            BOOST_TEST(run(command + " --csv") == 0, err);
            BOOST_TEST(has_utc(), out);
        }
        BOOST_TEST(run(command + " --json") == 0, err);
        BOOST_TEST(contains(out, ":00.000000Z"), out);
        destination = Destination::pipe_or_file;
        BOOST_TEST(run(command) == 0, err);
        BOOST_TEST(has_utc(), out);
    }
}

BOOST_AUTO_TEST_CASE(each_state_has_the_commands_that_it_allows) {
    auto const experiment = create_example(root, 20);
    tracker::history::ExperimentView view;
    view.record.id = {20};
    view.record.spec = must(parse_spec(must(read_file(experiment.spec()))));
    view.trials.emplace_back().record.id = {{20}, 0};
    auto const commands = [&](State state, SummaryFacts const& facts = {},
                              SummaryContext const& context = {}) {
        view.state = view.trials[0].state = state;
        return join(next_commands(view, facts, context), "; ");
    };
    SummaryFacts saved;
    saved.has_checkpoint = true;
    auto validated = saved;
    validated.has_validated_checkpoint = true;
    BOOST_TEST(commands(State::paused) == "det-submit experiment activate 20");
    BOOST_TEST(commands(State::stopping_killed) == "det-submit experiment wait 20");
    BOOST_TEST(commands(State::interrupted) ==
               "det-submit experiment logs 20 --tail 50; det-submit experiment activate 20");
    BOOST_TEST(commands(State::completed) == "");
    BOOST_TEST(commands(State::completed, saved) == "det-submit experiment list-checkpoints 20");
    BOOST_TEST(commands(State::completed, validated) == "det-submit experiment download 20");
    BOOST_TEST(commands(State::canceled, validated) ==
               "det-submit experiment download 20; det-submit experiment continue 20");
    view.record.spec->searcher.name = "adaptive_asha";
    BOOST_TEST(commands(State::error) == "det-submit experiment fork 20");
    // Commands for the root of another user name it, and change nothing.
    BOOST_TEST(commands(State::canceled, validated, {80, " --root /r", true}) ==
               "det-submit experiment download 20 --root /r");
}

BOOST_AUTO_TEST_SUITE_END()
