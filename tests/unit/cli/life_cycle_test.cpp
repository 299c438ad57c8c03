// The commands that end, archive, rename and change an experiment.
#include <det/experiment/root_directory.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/writer.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>

#include "create_support.hpp"
#include "example_experiments.hpp"
#include "golden.hpp"

using namespace det;
using namespace det::cli;
using namespace det::experiment;

namespace life_cycle_test {

struct Fixture : CreateFixture {
    Fixture() { write_examples(root); }

    DesiredState desired(std::uint32_t id) const {
        return must(journal::load_desired(experiment(id).desired()));
    }
    std::string state(std::uint32_t id) {
        return ask("experiment describe " + std::to_string(id))["state"].get<std::string>();
    }
    bool was_called(std::string const& call) const {
        return std::find(slurm.calls.begin(), slurm.calls.end(), call) != slurm.calls.end();
    }
    void show_job(std::uint32_t id, slurm::JobState state, std::string const& text) {
        slurm.job = job_of(id, state, text);
    }
};

}  // namespace life_cycle_test

BOOST_FIXTURE_TEST_SUITE(life_cycle_test, Fixture)

BOOST_AUTO_TEST_CASE(archived_experiments_are_hidden_until_unarchived) {
    BOOST_TEST(run("experiment archive 1") == 0, err);
    BOOST_TEST(ask("experiment list").size() == 3u);
    BOOST_TEST(ask("experiment list --all").size() == 4u);
    BOOST_TEST(ask("experiment describe 1")["archived"] == true);
    BOOST_TEST(run("experiment unarchive 1") == 0, err);
    BOOST_TEST(ask("experiment list").size() == 4u);
}

BOOST_AUTO_TEST_CASE(only_ended_experiments_are_archived) {
    show_job(2, slurm::JobState::running, "RUNNING");
    BOOST_TEST(run("experiment archive 2") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "it is RUNNING"), err);
    BOOST_TEST(ask("experiment describe 2")["archived"] == false);
}

BOOST_AUTO_TEST_CASE(names_descriptions_and_labels_change_and_are_shown) {
    BOOST_TEST(run({"experiment", "set", "name", "1", "a better name"}) == 0, err);
    BOOST_TEST(run({"experiment", "set", "notes", "1", "a note"}) == 0, err);
    BOOST_TEST(ask("experiment describe 1")["notes"] == "a note");
    BOOST_TEST(run("experiment describe 1") == 0);
    BOOST_TEST(contains(out, "Notes:         a note\n"), out);
    BOOST_TEST(run({"experiment", "set", "description", "1", "two \x1b[31mwords"}) == 0, err);
    for (auto const* label : {"mnist", "first", "mnist"})
        BOOST_TEST(run({"e", "label", "add", "1", label}) == 0, err);
    auto const now = ask("experiment describe 1");
    BOOST_TEST(now["name"] == "a better name");
    BOOST_TEST(now["labels"] == (Json{"first", "mnist"}));
    BOOST_TEST(run("experiment describe 1") == 0);
    BOOST_TEST(contains(out, "Description:   two \\x1b[31mwords\nLabels:        first, mnist\n"), out);
    BOOST_TEST(run("experiment list") == 0);
    BOOST_TEST(contains(out, "a better name"), out);
    BOOST_TEST(run("e label remove 1 first") == 0, err);
    BOOST_TEST(run("e label remove 1 first") == to_int(ExitCode::absent));
    BOOST_TEST(contains(err, "it has: mnist"), err);
    BOOST_TEST(ask("experiment describe 1")["labels"] == Json{"mnist"});
    BOOST_TEST(run({"experiment", "set", "name", "1", ""}) == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(a_running_trial_may_save_when_its_experiment_is_cancelled) {
    show_job(2, slurm::JobState::running, "RUNNING");
    BOOST_TEST(run("experiment cancel 2") == 0, err);
    BOOST_TEST(was_called("signal 4712_0 URG"));
    BOOST_TEST((desired(2) == DesiredState::cancel));
    BOOST_TEST(state(2) == "STOPPING_CANCELED");
    BOOST_TEST(run("experiment kill 2") == 0, err);
    BOOST_TEST(was_called("cancel 4712_0"));
    BOOST_TEST(state(2) == "STOPPING_KILLED");
    BOOST_TEST(run("experiment cancel 2") == 0, err);
    BOOST_TEST((desired(2) == DesiredState::kill));  // a weaker request does not replace it
}

BOOST_AUTO_TEST_CASE(a_pause_is_shown_while_the_ranks_save) {
    show_job(2, slurm::JobState::running, "RUNNING");
    BOOST_TEST(ask("experiment describe 2")["desired"] == "run");
    BOOST_TEST(run("experiment pause 2") == 0, err);
    BOOST_TEST(was_called("signal 4712_0 URG"));
    BOOST_TEST(state(2) == "RUNNING");
    BOOST_TEST(ask("experiment describe 2")["desired"] == "pause");
    BOOST_TEST(run("experiment describe 2") == 0, err);
    BOOST_TEST(contains(out, "Experiment 2: RUNNING, saves its work and then pauses\n"), out);
    show_job(2, slurm::JobState::pending, "PENDING");
    BOOST_TEST(run("experiment describe 2") == 0, err);
    BOOST_TEST(contains(out, "Experiment 2: PAUSED\n"), out);
}

BOOST_AUTO_TEST_CASE(a_waiting_trial_is_cancelled_at_once) {
    auto const waiting = create_example(root, 20);
    show_job(20, slurm::JobState::pending, "PENDING");
    BOOST_TEST(run("experiment cancel 20") == 0, err);
    BOOST_TEST(was_called("cancel 4730_0"));
    show_job(20, slurm::JobState::canceled, "CANCELLED");
    BOOST_TEST(state(20) == "CANCELED");
    slurm.job.reset();  // and once Slurm has forgotten it
    BOOST_TEST(state(20) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(an_ended_experiment_is_not_ended_again) {
    auto const calls = slurm.calls.size();
    for (auto const* command : {"experiment cancel 1", "experiment kill 1", "trial kill 1.0"}) {
        BOOST_TEST(run(command) == to_int(ExitCode::could_not), command);
        BOOST_TEST(contains(err, "has ended: it is COMPLETED"), err);
    }
    BOOST_TEST((desired(1) == DesiredState::run));
    for (auto i = calls; i < slurm.calls.size(); ++i) BOOST_TEST(slurm.calls[i] == "queue");
}

BOOST_AUTO_TEST_CASE(what_a_user_does_is_recorded_with_its_author) {
    show_job(2, slurm::JobState::running, "RUNNING");
    auto const before = must(journal::load_events(experiment(2).events())).size();
    for (auto const* command : {"experiment pause 2", "experiment activate 2", "trial kill 2.0",
                                "experiment cancel 2", "experiment kill 2"})
        BOOST_TEST(run(command) == 0, command << ": " << err);
    std::vector<std::string> kinds;
    auto const events = must(journal::load_events(experiment(2).events()));
    for (auto i = before; i < events.size(); ++i) {
        kinds.push_back(events[i].kind);
        BOOST_TEST(events[i].by == event_author(environment));
    }
    BOOST_TEST(
        kinds == (std::vector<std::string>{"paused", "activated", "trial-killed", "canceled", "killed"}),
        boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(one_trial_is_killed_alone) {
    show_job(2, slurm::JobState::running, "RUNNING");
    BOOST_TEST(run("trial kill 2.0") == 0, err);
    BOOST_TEST(was_called("cancel 4712_0"));
    BOOST_TEST((desired(2) == DesiredState::run));
    BOOST_TEST((must(journal::load_desired(experiment(2).trial(0).desired())) == DesiredState::kill));
    BOOST_TEST(run("trial kill 2.7") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(an_interrupted_creation_is_completed_or_archived) {
    auto const lost = create_example(root, 21);
    for (auto const& name : must(list_directory(lost.events())))
        std::filesystem::remove(lost.events() / name);
    BOOST_TEST(state(21) == "SUBMITTING");
    BOOST_TEST(run("experiment activate 21") == to_int(ExitCode::could_not));  // Slurm has no job of it
    BOOST_TEST(contains(err, "never reached Slurm"), err);

    auto held = job_of(21, slurm::JobState::pending, "PENDING");
    BOOST_TEST(create(" --paused") == 0, err);
    auto const comment = slurm.submissions.back().options;
    auto const mark = std::find_if(comment.begin(), comment.end(),
                                   [](auto const& option) { return option.starts_with("--comment=det:"); });
    BOOST_REQUIRE(mark != comment.end());
    held.comment = mark->substr(std::string("--comment=").size());
    held.comment = held.comment.substr(0, held.comment.find('/')) + "/21";
    slurm.job = held;
    auto spec = must(parse_spec(must(read_file(lost.spec()))));
    spec.trial_count = 2;  // of two arrays, only one was submitted
    must(write_file(lost.spec(), render_spec(spec)));
    BOOST_TEST(run("experiment activate 21") == to_int(ExitCode::could_not));
    BOOST_TEST(contains(err, "Slurm has jobs for 1 of the 2 trials of experiment 21"), err);
    BOOST_TEST(!was_called("release 4731"));
    spec.trial_count = 1;
    must(write_file(lost.spec(), render_spec(spec)));
    BOOST_TEST(run("experiment activate 21") == 0, err);
    BOOST_TEST(was_called("release 4731"));
    BOOST_TEST(state(21) == "QUEUED");

    BOOST_TEST(run("experiment kill 10") == 0, err);  // this experiment was never submitted
    BOOST_TEST(state(10) == "CANCELED");
}

BOOST_AUTO_TEST_CASE(a_paused_creation_waits_until_it_is_activated) {
    BOOST_TEST(create(" --paused") == 0, err);
    BOOST_TEST(contains(err, "experiment activate 11"), err);
    BOOST_TEST(!was_called("release 4711"));
    auto held = job_of(1, slurm::JobState::pending, "PENDING");
    held.ref = {4711, 0};
    slurm.job = held;
    BOOST_TEST(state(11) == "PAUSED");
    BOOST_TEST(run("experiment activate 11") == 0, err);
    BOOST_TEST(was_called("release 4711"));
    BOOST_TEST(state(11) == "QUEUED");
}

BOOST_AUTO_TEST_CASE(a_fork_has_the_configuration_code_and_secrets_of_its_parent) {
    must(write_file(directory / "exp.yaml", config_text() + "data: {secrets: {token: hunter2}, files: 3}\n"));
    BOOST_TEST(create(" --config max_restarts=2") == 0, err);
    BOOST_TEST(run("experiment fork 11 --config name=again") == 0, err);
    BOOST_TEST(!contains(out + err, "hunter2"), err);
    // Most values of the parent's effective configuration are defaults.
    BOOST_TEST(!contains(err, "has no effect"), err);
    auto const parent = must(parse_spec(must(read_file(experiment(11).spec()))));
    auto const fork = must(parse_spec(must(read_file(experiment(12).spec()))));
    BOOST_TEST(fork.name == "again");
    BOOST_TEST((fork.parent == ExperimentId{11}));
    BOOST_TEST((fork.context == parent.context));
    BOOST_TEST(fork.max_restarts == 2u);
    BOOST_TEST(fork.experiment_seed == parent.experiment_seed);
    BOOST_TEST(contains(must(read_file(experiment(12).secrets())), "hunter2"));
    BOOST_TEST(!contains(must(read_file(experiment(12).config())), "hunter2"));
    BOOST_TEST(ask("experiment describe 12")["parent_id"] == 11);
    BOOST_TEST(run("experiment fork 11 --dry-run --config scheduling_unit=7") == 0, err);
    BOOST_TEST(contains(err, "'scheduling_unit' has no effect"), err);
    must(remove_tree(root.contexts()));
    BOOST_TEST(run("experiment fork 11") == to_int(ExitCode::absent));
    BOOST_TEST(run("experiment fork 77") == to_int(ExitCode::absent));
}

BOOST_AUTO_TEST_CASE(a_fork_may_have_an_edited_configuration) {
    must(write_file(directory / "exp.yaml", config_text() + "data: {secrets: {token: hunter2}, files: 3}\n"));
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(run("experiment config 11") == 0, err);
    auto edited = out;
    BOOST_TEST(!contains(edited, "hunter2"), edited);
    auto const at = edited.starts_with("name:") ? 0 : edited.find("\nname:") + 1;
    BOOST_REQUIRE(edited.substr(at).starts_with("name:"));
    edited.replace(at, edited.find('\n', at) - at, "name: edited");
    auto const file = directory / "edited.yaml";
    must(write_file(file, edited));
    BOOST_TEST(run("experiment fork 11 --config-file " + file.string()) == 0, err);
    BOOST_TEST(must(parse_spec(must(read_file(experiment(12).spec())))).name == "edited");
    BOOST_TEST(contains(must(read_file(experiment(12).secrets())), "hunter2"));
    must(write_file(file, edited + "slot_per_trial: 3\n"));
    BOOST_TEST(run("experiment fork 11 --config-file " + file.string()) == to_int(ExitCode::bad_file), err);
    BOOST_TEST(contains(err, "unknown key 'slot_per_trial'"), err);
    BOOST_TEST(contains(err, "edited.yaml:"), err);
}

BOOST_AUTO_TEST_CASE(a_test_is_one_short_trial_with_one_point_of_the_search) {
    must(write_file(
        directory / "exp.yaml",
        "name: example\nentrypoint: ./train\nresources: {slots_per_trial: 8}\n"
        "searcher: {name: random, metric: loss, max_trials: 9, smaller_is_better: false}\n"
        "hyperparameters: {n: 1, lr: {type: log, minval: -3, maxval: -1, base: 10}, deep: {act: {type: "
        "categorical, vals: [relu, tanh]}}}\n"));
    slurm.on_call = [this](std::string const& call) {
        if (!call.starts_with("release")) return;  // the released trial runs to its end at once
        auto const trial_run = experiment(11).trial(0).run(0);
        must(make_directories(trial_run.path()));
        auto life = must(journal::JournalWriter::create(trial_run.supervisor_journal()));
        RunStarted started;
        started.time = minute(1);
        must(life.append(started));
        must(life.append(finish(2)));
        must(write_file(trial_run.node_log(0), "2026-11-21T12:01:30.000000Z [rank=0] trained \x1b[1m\n"));
    };
    BOOST_TEST(create(" --test") == 0, err);
    BOOST_TEST(contains(out, "[rank=0] trained \\x1b[1m\n"), out);
    BOOST_TEST(contains(err, "the test completed"), err);
    auto const spec = must(parse_spec(must(read_file(experiment(11).spec()))));
    BOOST_TEST(spec.trial_count == 1u);
    BOOST_TEST(spec.max_restarts == 0u);
    BOOST_TEST(spec.config->at("searcher")["smaller_is_better"] == false);
    BOOST_TEST(spec.config->at("searcher")["max_length"] == (Json{{"batches", 1}}));
    BOOST_TEST(ask("experiment list-trials 11")[0]["hyperparameters"] ==
               (Json{{"n", 1}, {"lr", 0.001}, {"deep", {{"act", "relu"}}}}));
    BOOST_TEST(ask("experiment describe 11")["archived"] == true);
    BOOST_TEST(create(" --test --paused") == to_int(ExitCode::usage));
}

BOOST_AUTO_TEST_CASE(trials_beyond_max_array_size_go_to_further_arrays) {
    slurm.config = slurm::ClusterConfig({{"MaxArraySize", "3"}, {"MaxJobCount", "8"}});
    auto const options = std::string(" --config searcher.name=random --config searcher.max_trials=");
    BOOST_TEST(create(options + "7") == 0, err);
    auto const record = must(journal::load_events(experiment(11).events())).at(0);
    BOOST_TEST(record.body->at("arrays").size() == 3u);
    BOOST_TEST(ask("experiment describe 11")["job_ids"] == (Json{"4711", "4712", "4713"}));
    BOOST_TEST(
        contains(must(read_file(experiment(11).script(2))), "--trial \"$((2 + SLURM_ARRAY_TASK_ID))\""));
    for (auto const* call : {"release 4711", "release 4712", "release 4713"})
        BOOST_TEST(was_called(call), call);
    BOOST_TEST(create(options + "9") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "MaxJobCount=8"), err);
    // The second array is refused: the first is taken back, and nothing is left.
    int submitted = 0;
    slurm.on_call = [&](std::string const& call) {
        if (call == "submit" && ++submitted == 2) slurm.refused = {"submit"};
    };
    BOOST_TEST(create(options + "7") == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(was_called("cancel 4714"));
    BOOST_TEST(!path_exists(experiment(12).path()));
}

BOOST_AUTO_TEST_CASE(max_slots_limits_running_tasks_where_slurm_permits) {
    show_job(2, slurm::JobState::running, "RUNNING");
    BOOST_TEST(run("experiment set max-slots 2 17") == 0, err);
    BOOST_TEST(was_called("change 4712 running=2"));  // trials of 8 slots
    BOOST_TEST(ask("experiment describe 2")["max_slots"] == 17);
    BOOST_TEST(run("experiment set max-slots 2 7") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment set max-slots 2 many") == to_int(ExitCode::usage));
    slurm.refused = {"change"};
    BOOST_TEST(run("experiment set max-slots 2 8") == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(contains(err, "a Slurm operator can change it"), err);
    BOOST_TEST(ask("experiment describe 2")["max_slots"] == 17);
}

BOOST_AUTO_TEST_CASE(both_limits_of_running_trials_hold) {
    BOOST_REQUIRE(create(" --config searcher.name=random --config searcher.max_trials=20 "
                         "--config searcher.max_concurrent_trials=3 --config resources.slots_per_trial=8") ==
                  0);
    slurm.other_jobs.push_back(job_of(1, slurm::JobState::running, "RUNNING"));  // 4711_0
    BOOST_TEST(run("experiment set max-slots 11 80") == 0, err);
    BOOST_TEST(was_called("change 4711 running=3"));
    BOOST_TEST(run("experiment set max-concurrent-trials 11 5") == 0, err);
    BOOST_TEST(was_called("change 4711 running=5"));
    BOOST_TEST(ask("experiment describe 11")["max_concurrent_trials"] == 5);
    BOOST_TEST(run("experiment set max-slots 11 16") == 0, err);
    BOOST_TEST(was_called("change 4711 running=2"));
    BOOST_TEST(run("experiment set max-concurrent-trials 11 1") == 0, err);
    BOOST_TEST(was_called("change 4711 running=1"));
    BOOST_TEST(run("experiment set max-concurrent-trials 11 0") == to_int(ExitCode::usage));
    BOOST_TEST(run("experiment set max-concurrent-trials 11 many") == to_int(ExitCode::usage));
    slurm.refused = {"change"};
    BOOST_TEST(run("experiment set max-concurrent-trials 11 2") == to_int(ExitCode::refused_by_slurm));
    BOOST_TEST(ask("experiment describe 11")["max_concurrent_trials"] == 1);
}

BOOST_AUTO_TEST_CASE(a_priority_is_a_move_in_the_queue) {
    auto waiting = job_of(2, slurm::JobState::pending, "PENDING");
    waiting.comment = job_comment(root, {2});
    waiting.user = user_name(environment);
    waiting.partition = "compute";
    waiting.priority = 1000;
    slurm.job = waiting;
    BOOST_TEST(run("experiment set priority 2 1") == run("job update exp-2 --priority 1"), err);
    BOOST_TEST(run("experiment set priority 2 0") == to_int(ExitCode::usage), err);
    BOOST_TEST(run("experiment set priority x 1") == to_int(ExitCode::absent), err);
    BOOST_TEST(run("experiment set priority 77 1") == to_int(ExitCode::absent), err);
}

BOOST_AUTO_TEST_CASE(the_configuration_is_shown_as_it_runs_and_as_it_was_written) {
    BOOST_TEST(create() == 0, err);
    BOOST_TEST(run("experiment config 11") == 0, err);
    BOOST_TEST(contains(out, "slots_per_trial: 8 "), out);  // and where it comes from
    BOOST_TEST(contains(out, "exp.yaml:4\n"), out);
    BOOST_TEST(contains(out, "max_restarts: 5 "), out);
    BOOST_TEST(contains(out, "# default\n"), out);
    BOOST_TEST(run("experiment config 11 --as-written") == 0, err);
    BOOST_TEST(out == config_text());
    BOOST_TEST(ask("experiment config 11")["name"] == "example");
}

BOOST_AUTO_TEST_CASE(lists_can_be_printed_as_csv) {
    BOOST_TEST(run({"experiment", "set", "name", "1", "a, \"b\""}) == 0, err);
    BOOST_TEST(run("experiment list --csv") == 0, err);
    BOOST_TEST(out.starts_with("ID,Owner,Name,Parent ID,State,Trials,Started,Ended,Resource Pool\n"), out);
    BOOST_TEST(contains(out, "1,researcher,\"a, \"\"b\"\"\",,COMPLETED,1/1,"), out);
    BOOST_TEST(run("e lt 1 --csv") == 0, err);
    BOOST_TEST(contains(out, "\n1.0,COMPLETED,2,"), out);
}

BOOST_AUTO_TEST_CASE(a_trial_is_described) {
    BOOST_TEST(run("trial describe 1.0") == 0, err);
    check_golden("cli/trial_describe.txt", out);
    auto const answer = ask("trial describe 1");
    BOOST_TEST(answer["runs"].size() == 2u);
    BOOST_REQUIRE(answer["interruptions"].size() == 1u);
    BOOST_TEST(answer["interruptions"][0]["trained"] == "2026-11-21T12:11:00.000000Z");
    BOOST_TEST(ask("experiment describe 1")["trials"][0]["interruptions"] == answer["interruptions"]);
    BOOST_TEST(ask("experiment describe 2")["trials"][0]["interruptions"].empty());
}

BOOST_AUTO_TEST_CASE(task_list_shows_the_nodes_of_all_users) {
    auto mine = job_of(2, slurm::JobState::running, "RUNNING");
    mine.comment = job_comment(root, {2});
    mine.nodes = 2;
    mine.tres_per_node = "gres:gpu:4";
    mine.node_list = "n[0-1]";
    mine.user = user_name(environment);
    mine.partition = "compute";
    auto theirs = mine;
    theirs.ref = {99, {}};
    // Any user may write such a comment. It names an experiment of the caller only if the job is the
    // caller's.
    theirs.user = "colleague";
    theirs.name = "for\nged\x1b[1m";
    theirs.tres_per_node = "";
    theirs.partition = "cpu";
    theirs.cpus = 32;
    auto waiting = mine;
    waiting.ref = {100, {}};
    waiting.state = slurm::JobState::pending;
    slurm.other_jobs = {mine, theirs, waiting};
    slurm.partition_list.push_back({"cpu", false, true, "OFF", {}, {{2, 16, "idle", "(null)"}}});
    BOOST_TEST(run("task list") == 0, err);
    BOOST_TEST(contains(out, "| for\\nged\\x1b[1m | cpu "), out);
    BOOST_TEST(run("task list --csv") == 0, err);
    BOOST_TEST(out.starts_with("Job,Experiment,User,"), out);
    auto const tasks = ask("task list");
    BOOST_REQUIRE(tasks.size() == 2u);
    BOOST_TEST(tasks[0]["job_id"] == "99");
    BOOST_TEST(tasks[0]["experiment"].is_null());
    BOOST_TEST(tasks[1]["experiment"] == 2);
    BOOST_TEST(tasks[1]["slots"] == 8);
    BOOST_TEST(tasks[1]["nodes"] == "n[0-1]");
    BOOST_TEST(run("task list --resource-pool urgent") == to_int(ExitCode::bad_file));
    BOOST_TEST(contains(err, "hint: there are compute, cpu"), err);
    BOOST_TEST(ask("task list --resource-pool cpu")[0]["slots"] == 32);  // two whole nodes
}

BOOST_AUTO_TEST_CASE(interrupted_trials_are_resubmitted) {
    slurm.job = job_of(2, slurm::JobState::failed, "FAILED");
    BOOST_TEST(state(2) == "INTERRUPTED");
    auto const told = ask("experiment activate 2");
    BOOST_TEST(told["resubmitted"] == Json{"4711"});
    BOOST_REQUIRE(slurm.submissions.size() == 1u);
    auto const& options = slurm.submissions[0].options;
    BOOST_TEST(options.front() == "--hold");
    BOOST_TEST(options.back() == "--array=0");
    BOOST_TEST(was_called("release 4711"));
    slurm.job = job_of(1, slurm::JobState::pending, "PENDING");  // 4711_0
    BOOST_TEST(state(2) == "QUEUED");
    // The trial has its new job, so nothing is resubmitted.
    BOOST_TEST(run("experiment activate 2") == 0, err);
    BOOST_TEST(slurm.submissions.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_job_whose_start_slurm_has_forgotten_is_shown_and_released_by_activate) {
    auto const layout = create_example(root, 7);
    auto life = start_run(layout, 0, 1);
    auto job = job_of(7, slurm::JobState::pending, "PENDING");
    job.reason = "JobHeldUser";
    slurm.job = job;
    BOOST_TEST(run("experiment describe 7") == 0);
    BOOST_TEST(contains(err, "Slurm holds job 4717_0 of trial 7.0, which has begun"), err);
    BOOST_TEST(contains(err, "'det-submit experiment activate 7' releases it"), err);
    BOOST_TEST(run("experiment activate 7") == 0, err);
    BOOST_TEST(was_called("release 4717"));
    BOOST_TEST(slurm.submissions.empty());
    // A later start waits: the user may hold the job.
    slurm.job->restarts = 1;
    BOOST_TEST(run("experiment describe 7") == 0);
    BOOST_TEST(!contains(err, "which has begun"), err);
}

BOOST_AUTO_TEST_CASE(unknown_experiments_and_an_unreachable_slurm_are_distinguished) {
    for (std::string const command : {"experiment activate", "experiment archive", "experiment cancel",
                                      "experiment config", "experiment kill", "experiment list-trials",
                                      "experiment unarchive", "trial describe", "trial kill"}) {
        BOOST_TEST(run(command + " 77") == to_int(ExitCode::absent), command);
        BOOST_TEST(run(command + " x") == to_int(ExitCode::absent), command);
        BOOST_TEST(run(command + " 0") == to_int(ExitCode::usage), command);
    }
    slurm.is_down = true;
    for (std::string const command : {"experiment activate 2", "experiment cancel 2", "experiment kill 2",
                                      "experiment set max-concurrent-trials 2 8",
                                      "experiment set max-slots 2 8", "task list", "trial kill 2"}) {
        BOOST_TEST(run(command) == to_int(ExitCode::slurm_unreachable), command);
    }
    BOOST_TEST((desired(2) == DesiredState::run));
}

BOOST_AUTO_TEST_SUITE_END()
