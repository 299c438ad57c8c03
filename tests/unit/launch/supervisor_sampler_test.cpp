// Trials whose hyperparameters a program chooses.
#include <det/sampler/decision_log.hpp>

#include <boost/test/unit_test.hpp>

#include "supervisor_fixture.hpp"

using namespace det;
using namespace det::launch::supervisor;

namespace supervisor_sampler_test {

struct Fixture : SupervisorFixture {
    BatchJob sampled(std::string const& script, std::uint32_t lanes = 1) const {
        auto a = batch_job();
        a.spec.searcher = {"custom", "loss", true,
                           Json{{"max_trials", 3}, {"command", {"sh", "-c", script}}, {"answer_timeout", 1}}};
        a.spec.hyperparameters = Json{{"lr", {{"type", "double"}, {"minval", 0}, {"maxval", 1}}}, {"c", 5}};
        a.spec.trial_count = 3;
        a.spec.lanes = lanes;
        a.spec.max_restarts = 0;
        return a;
    }
    /// Answers 0.1, 0.2 ... by the number of questions.
    std::string counting() const {
        return "cat >/dev/null; echo x >>" + (root / "asked").string() + "; n=$(wc -l <" +
               (root / "asked").string() +
               ")\necho '{\"sampler\": 1, \"hyperparameters\": {\"lr\": 0.'$n'}}'";
    }
    /// The same, and the sampler sets lengths.
    BatchJob with_lengths(std::string const& script, std::uint32_t lanes = 1) const {
        auto job = sampled(script, lanes);
        (*job.spec.searcher.options)["sets_lengths"] = true;
        job.spec.has_fewer_tasks = true;
        return job;
    }
    /// Trial 0 has begun, and trains to length 4.
    void record_first_trial() const {
        sampler::Answer begun{JsonValue(Json{{"lr", 0.5}, {"c", 5}})};
        begun.lengths[0] = 4;
        begun.can_begin = 1;
        BOOST_TEST(must(sampler::record_decision(experiment, {},
                                                 {UtcTime{1}, "123_0", sampler::Question::begin, 0, begun})));
    }
    /// The first run of trial 0 has trained to its length.
    void record_first_run() const {
        auto const run = experiment.trial(0).run(0);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{UtcTime{1}, "123_0", 0, "n0", "n0", 0, "", 0}));
        must(life.append(
            RunEnded{UtcTime{2}, Cause::waits_for_search, NextAction::requeue_held, 0, "it waits"}));
    }
    /// Such as "begin0", in the order in which they were answered.
    std::vector<std::string> answered() const {
        std::vector<std::string> questions;
        for (auto const& each : decisions().all)
            questions.push_back(std::string(to_string(each.question)) + std::to_string(each.trial));
        return questions;
    }
    bool was_requeued() const {
        return std::ranges::any_of(slurm.calls, [](auto const& call) { return call.starts_with("requeue"); });
    }
    sampler::Decisions decisions() const { return must(sampler::load_decisions(experiment)); }
    bool has_logged(std::string const& text) const {
        return std::ranges::any_of(log_lines,
                                   [&](auto const& line) { return line.find(text) != std::string::npos; });
    }
};

}  // namespace supervisor_sampler_test

BOOST_FIXTURE_TEST_SUITE(supervisor_sampler_test, supervisor_sampler_test::Fixture)

BOOST_AUTO_TEST_CASE(a_trial_gets_what_the_sampler_chooses) {
    step_is("echo \"$DET_HPARAMS\" >'" + (root / "hparams").string() + "'");
    BOOST_TEST(supervise(sampled(counting())) == 0);
    BOOST_TEST(must(read_file(root / "hparams")) == "{\"c\":5,\"lr\":0.1}\n");
    BOOST_REQUIRE(decisions().all.size() == 1u);
    BOOST_TEST(decisions().all[0].job == "123_0");
    BOOST_TEST(end_of(0).cause_name() == "finished");
}

BOOST_AUTO_TEST_CASE(a_supervisor_that_was_killed_after_the_answer_was_recorded_does_not_ask_again) {
    sampler::Decision const before{
        UtcTime{1}, "123_0", sampler::Question::begin, 0, {JsonValue(Json{{"lr", 0.75}, {"c", 5}})}};
    BOOST_TEST(must(sampler::record_decision(experiment, {}, before)));
    step_is("echo \"$DET_HPARAMS\" >'" + (root / "hparams").string() + "'");
    BOOST_TEST(supervise(sampled(counting())) == 0);
    BOOST_TEST(must(read_file(root / "hparams")) == "{\"c\":5,\"lr\":0.75}\n");
    BOOST_TEST(!path_exists(root / "asked"));
}

BOOST_AUTO_TEST_CASE(a_restarted_trial_keeps_its_hyperparameters) {
    step_is("echo \"$DET_HPARAMS\" >>'" + (root / "hparams").string() + "'; [ -e \"" +
            (root / "second").string() + "\" ] || { touch '" + (root / "second").string() + "'; exit 1; }");
    auto job = sampled(counting());
    job.spec.max_restarts = 1;
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(must(read_file(root / "hparams")) == "{\"c\":5,\"lr\":0.1}\n{\"c\":5,\"lr\":0.1}\n");
}

BOOST_AUTO_TEST_CASE(trials_of_a_shared_job_are_asked_for_one_after_another) {
    step_is("echo \"$DET_HPARAMS\" >>'" + (root / "hparams").string() + "'");
    BOOST_TEST(supervise(sampled(counting(), 2)) == 0);
    BOOST_TEST(decisions().all.size() == 3u);
    BOOST_TEST(must(read_file(root / "asked")) == "x\nx\nx\n");
}

BOOST_AUTO_TEST_CASE(a_trial_that_the_sampler_does_not_need_ends_without_a_step) {
    step_is("touch '" + (root / "step").string() + "'");
    BOOST_TEST(supervise(sampled("echo '{\"sampler\": 1, \"stop\": \"good enough\"}'")) == 0);
    BOOST_TEST(end_of(0).cause_name() == "stopped-by-search");
    BOOST_TEST(end_of(0).message == "the search ended it: the sampler begins no further trial: good enough");
    BOOST_TEST(!path_exists(root / "step"));
    BOOST_TEST(!was_requeued_after(0));
}

BOOST_AUTO_TEST_CASE(a_sampler_that_fails_is_asked_three_times_and_its_standard_error_is_kept) {
    auto const script = "echo x >>" + (root / "asked").string() + "; echo 'ValueError: no lr' >&2; exit 1";
    BOOST_TEST(supervise(sampled(script)) == 1);
    BOOST_TEST(must(read_file(root / "asked")) == "x\nx\nx\n");
    auto const end = end_of(0);
    BOOST_TEST(end.cause_name() == "interrupted");  // `activate` runs it again
    BOOST_TEST((end.next_action == NextAction::left_to_slurm));
    BOOST_TEST(clock.steady_now().time_since_epoch() >= std::chrono::seconds(10));  // between the attempts
    BOOST_TEST(end.message.find("has failed with exit code 1: ValueError: no lr") != std::string::npos,
               end.message);
    auto const kept = (sampler::sampler_directory(experiment) / "stderr/0").string();
    BOOST_TEST(end.message.find("its standard error: " + kept) != std::string::npos, end.message);
    BOOST_TEST(must(read_file(kept)) == "ValueError: no lr\n");
    BOOST_TEST(has_logged("has failed with exit code 1: ValueError: no lr"));
}

BOOST_AUTO_TEST_CASE(after_a_failure_of_the_sampler_the_job_begins_no_further_trial) {
    BOOST_TEST(supervise(sampled("exit 1", 2)) == 1);
    BOOST_TEST(end_of(0).cause_name() == "interrupted");
    BOOST_TEST(end_of(0).message.find("'det-submit experiment activate' runs the trial again") !=
               std::string::npos);
    for (std::uint32_t trial : {1, 2}) BOOST_TEST(!path_exists(experiment.trial(trial).runs()));
}

BOOST_AUTO_TEST_CASE(a_damaged_journal_of_another_trial_does_not_end_those_that_begin) {
    sampler::Decision const begun{
        UtcTime{1}, "123_1", sampler::Question::begin, 1, {JsonValue(Json{{"lr", 0.75}, {"c", 5}})}};
    BOOST_TEST(must(sampler::record_decision(experiment, {}, begun)));
    must(make_directories(experiment.trial(1).run(0).path()));
    must(write_file(experiment.trial(1).run(0).supervisor_journal(), "nonsense, which is no journal"));
    step_is("echo \"$DET_HPARAMS\" >'" + (root / "hparams").string() + "'");
    BOOST_TEST(supervise(sampled(counting())) == 0);
    BOOST_TEST(must(read_file(root / "hparams")) == "{\"c\":5,\"lr\":0.1}\n");
    BOOST_TEST(has_logged("the sampler is told no validations of these trials: trial 1: "));
}

BOOST_AUTO_TEST_CASE(a_trial_that_ends_while_the_sampler_is_asked_for_another_one_is_recorded_at_once) {
    step_is("exit 0");
    // The second question is answered when the end of the first trial is recorded.
    auto job = sampled(
        "cat >/dev/null\n"
        "if mkdir \"" +
            (root / "first").string() +
            "\" 2>/dev/null; then echo '{\"sampler\": 1, \"hyperparameters\": {\"lr\": 0.5}}'; exit; fi\n"
            "until grep -q finished \"" +
            experiment.trial(0).run(0).supervisor_journal().string() +
            "\"; do sleep 0.05; done\n"
            "echo '{\"sampler\": 1, \"stop\": \"enough\"}'",
        2);
    (*job.spec.searcher.options)["answer_timeout"] = 10;
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(decisions().all.size() == 2u);
    BOOST_TEST(!has_logged("has not answered"));
}

BOOST_AUTO_TEST_CASE(a_notice_during_a_question_gives_the_trial_a_run_and_the_job_goes_back_to_the_queue) {
    step_is("touch '" + (root / "step").string() + "'");
    slurm.job->preempt_time = UtcTime{1};
    auto job = sampled("kill -TERM $PPID; exec sleep 600");
    (*job.spec.searcher.options)["answer_timeout"] = 600;
    supervise(job);
    BOOST_TEST(end_of(0).cause_name() == "preempted");
    BOOST_TEST(was_requeued_after(0));
    BOOST_TEST(!path_exists(root / "step"));
    BOOST_TEST(decisions().all.empty());
}

BOOST_AUTO_TEST_CASE(a_sampler_that_hangs_ends_the_trial) {
    BOOST_TEST(supervise(sampled("exec sleep 600")) == 1);
    BOOST_TEST(end_of(0).message.find("has not answered within 1 s") != std::string::npos, end_of(0).message);
    BOOST_TEST(decisions().all.empty());
}

BOOST_AUTO_TEST_CASE(a_sampler_that_answers_nonsense_ends_the_trial) {
    BOOST_TEST(supervise(sampled("echo '{\"sampler\": 1, \"hyperparameters\": {\"lr\": 7}}'")) == 1);
    BOOST_TEST(end_of(0).message.find("hyperparameter 'lr' can't be '7'") != std::string::npos);
    BOOST_TEST(decisions().all.empty());
}

BOOST_AUTO_TEST_CASE(a_trial_that_the_sampler_prunes_is_asked_to_stop) {
    auto chief = must(journal::JournalWriter::create(root / "chief"));
    must(chief.append(MetricsReported{UtcTime{1}, "validation", 10, Json{{"loss", 0.5}}}));
    step_is("cp '" + (root / "chief").string() +
            "' \"$DET_RUN_PATH/journal\"\n"
            "while [ ! -e \"$DET_RUN_PATH/asked\" ]; do kill -USR2 $PPID; sleep 0.05; done\n"
            "cp \"$DET_RUN_PATH/asked\" \"$DET_EXPERIMENT_PATH/was-asked\"\n");
    auto job = sampled(
        "read search; read trial; read question || question=$trial\n"
        "case $question in\n"
        "*report*) echo '{\"sampler\": 1, \"prune\": [0]}';;\n"
        "*) echo '{\"sampler\": 1, \"hyperparameters\": {\"lr\": 0.5}}';;\n"
        "esac");
    (*job.spec.searcher.options)["prune"] = true;
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(end_of(0).cause_name() == "stopped-by-search");
    BOOST_TEST(end_of(0).message == "the search ended it: the sampler has pruned it when trial 0 reported");
    BOOST_TEST(must(read_file(experiment.path() / "was-asked")) == "search\n");
    BOOST_REQUIRE(decisions().all.size() == 2u);
    BOOST_TEST((decisions().all[1].answer.prune == std::vector<std::uint32_t>{0}));
}

BOOST_AUTO_TEST_CASE(a_trial_that_is_pruned_by_another_one_is_asked_to_stop) {
    step_is("while [ ! -e \"$DET_RUN_PATH/asked\" ]; do kill -USR2 $PPID; sleep 0.05; done\n");
    sampler::Decision const begun{
        UtcTime{1}, "123_0", sampler::Question::begin, 0, {JsonValue(Json{{"lr", 0.75}, {"c", 5}})}};
    BOOST_TEST(must(sampler::record_decision(experiment, {}, begun)));
    on_log = [&](std::string const& line) {
        if (line.find("begins on") == std::string::npos) return;
        sampler::Decision prune{UtcTime{1}, "123_1", sampler::Question::begin, 1, {{}, "enough", {0}}};
        BOOST_TEST(must(sampler::record_decision(experiment, decisions(), prune)));
    };
    BOOST_TEST(supervise(sampled("exit 1")) == 0);
    BOOST_TEST(end_of(0).message == "the search ended it: the sampler has pruned it when trial 1 began");
}

/// Two trials train to length 4. Trial 0 trains on to 8, and then the search stops.
std::string steps_of_lengths(std::filesystem::path const& asked) {
    return "q=$(tail -n 1)\necho \"$q\" >>'" + asked.string() +
           "'\n"
           "case $q in\n"
           "*begin*0}) a='\"hyperparameters\": {\"lr\": 0.5}, \"lengths\": {\"0\": 4}';;\n"
           "*begin*1}) a='\"hyperparameters\": {\"lr\": 0.25}, \"lengths\": {\"1\": 4}';;\n"
           "*trained*1}) a='\"lengths\": {\"0\": 8}, \"close\": [1]';;\n"
           "*exited*1}) a='\"lengths\": {\"0\": 8}';;\n"
           "*) if grep -q 'trained.*1}\\|exited' '" +
           asked.string() +
           "'; then a='\"stop\": \"enough\"'; else a='\"close\": []'; fi;;\n"
           "esac\n"
           "echo \"{\\\"sampler\\\": 1, $a, \\\"can_begin\\\": 2, \\\"state\\\": \\\"s\\\"}\"";
}

BOOST_AUTO_TEST_CASE(trials_train_to_the_lengths_that_the_sampler_sets_and_train_on) {
    step_is("echo \"$DET_TRIAL_ID $DET_TRAINING_LENGTH\" >>'" + (root / "trained").string() + "'");
    auto job = with_lengths(steps_of_lengths(root / "asked"));
    BOOST_TEST(supervise(job) == 0);
    auto const trained = must(read_file(root / "trained"));
    BOOST_TEST(std::ranges::count(trained, '\n') == 3, trained);
    BOOST_TEST(trained.ends_with(" 8\n"), trained);
    BOOST_TEST(to_string(end_of(0).cause) == "waits-for-search");
    BOOST_TEST(end_of(0).message == "it has trained to length 4: the sampler may let it train on");
    auto const end = [&](std::uint32_t trial, std::uint32_t run) {
        auto const life = must(journal::load_journal(experiment.trial(trial).run(run).supervisor_journal()));
        return std::get<RunEnded>(life.records.back());
    };
    BOOST_TEST(to_string(end(0, 1).cause) == "waits-for-search");
    BOOST_TEST(end(0, 2).message == "the search ended it: the sampler trains it no further");
    BOOST_TEST(end(1, 1).message == "the search ended it: the sampler trains it no further");
    // A trial that was never needed ends without a step.
    BOOST_TEST(end(2, 0).message == "the search ended it: the sampler begins no further trial: enough");
    BOOST_TEST(
        (answered() == std::vector<std::string>{"begin0", "trained0", "begin1", "trained1", "trained0"}));
}

BOOST_AUTO_TEST_CASE(a_trial_that_fails_is_told_to_a_sampler_that_sets_lengths) {
    step_is("case $DET_HPARAMS in *0.25*) exit 1;; esac");
    auto job = with_lengths(steps_of_lengths(root / "asked"));
    supervise(job);
    auto const all = decisions().all;
    BOOST_REQUIRE(all.size() == 5u);
    BOOST_TEST(to_string(all[3].question) == "exited");
    BOOST_TEST(all[3].trial == 1u);
    BOOST_TEST(all[4].answer.stop.value_or("") == "enough");
}

BOOST_AUTO_TEST_CASE(what_a_killed_supervisor_had_recorded_is_not_asked_or_trained_again) {
    step_is("echo x >>'" + (root / "trained").string() + "'");
    auto job = with_lengths(steps_of_lengths(root / "asked"));
    record_first_trial();
    record_first_run();
    must(write_file(experiment.trial(0).claimed(), "123_0\n"));  // it was killed before it gave the claim up
    job.incarnation.restart_count = 1;
    slurm.job->restarts = 1;
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(to_string(decisions().all[1].question) == "trained");
    BOOST_TEST(must(read_file(root / "trained")) == "x\nx\n");  // trial 1 to 4, trial 0 to 8
}

BOOST_AUTO_TEST_CASE(a_waiting_trial_that_the_user_kills_is_told_to_a_sampler_that_sets_lengths) {
    record_first_trial();
    record_first_run();
    must(journal::write_desired(experiment.trial(0).desired(), DesiredState::kill));
    step_is("echo x >>'" + (root / "trained").string() + "'");
    BOOST_TEST(
        supervise(with_lengths("read search; read trial; echo \"$trial\" >'" + (root / "told").string() +
                               "'\necho '{\"sampler\": 1, \"stop\": \"enough\"}'")) == 0);
    BOOST_TEST((answered() == std::vector<std::string>{"begin0", "exited0"}));
    BOOST_TEST(must(read_file(root / "told")).find("\"state\":\"canceled\"") != std::string::npos);
    BOOST_TEST(!path_exists(root / "trained"));
}

BOOST_AUTO_TEST_CASE(in_the_place_of_a_trial_that_the_user_has_killed_before_it_began_another_one_begins) {
    must(journal::write_desired(experiment.trial(0).desired(), DesiredState::kill));
    step_is("exit 0");
    supervise(with_lengths(
        "case $(tail -n 1) in\n"
        "*begin*) a='\"hyperparameters\": {\"lr\": 0.5}, \"lengths\": {\"1\": 4}, \"can_begin\": 1';;\n"
        "*) a='\"stop\": \"enough\"';;\n"
        "esac\necho \"{\\\"sampler\\\": 1, $a}\""));
    BOOST_TEST((answered() == std::vector<std::string>{"begin1", "trained1"}));
}

BOOST_AUTO_TEST_CASE(a_task_whose_trials_are_trained_by_others_goes_back_to_the_queue_after_a_minute) {
    record_first_trial();
    must(write_file(experiment.trial(0).claimed(), "200_1\n"));
    clock.step = std::chrono::seconds(5);
    BOOST_TEST(supervise(with_lengths("exit 1")) == 0);
    BOOST_TEST(was_requeued());
    BOOST_TEST((slurm.start_delay == std::chrono::seconds(60)));
    BOOST_TEST(has_logged("what other tasks train has not ended: the job waits in the queue"));
    BOOST_TEST(clock.steady_now().time_since_epoch() >= std::chrono::seconds(60));
    BOOST_TEST(must(read_file(experiment.trial(0).claimed())) == "200_1\n");
    BOOST_TEST(decisions().all.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_task_does_not_wait_for_trials_whose_supervisor_was_killed_with_its_job) {
    record_first_trial();
    must(write_file(experiment.trial(0).claimed(), "200_1\n"));
    clock.step = std::chrono::seconds(5);
    slurm.job->state = slurm::JobState::failed;
    BOOST_TEST(supervise(with_lengths("exit 1")) == 0);
    BOOST_TEST(std::ranges::count(slurm.calls, "find 200_1") == 1);
    BOOST_TEST(has_logged("the jobs that have claimed the trials have ended without giving them up"));
    BOOST_TEST(!was_requeued());
    BOOST_TEST(must(read_file(experiment.trial(0).claimed())) == "200_1\n");
}

BOOST_AUTO_TEST_CASE(a_task_that_is_idle_trains_what_another_one_gives_up) {
    record_first_trial();
    must(write_file(experiment.trial(0).claimed(), "200_1\n"));
    clock.step = std::chrono::seconds(1);
    clock.on_sleep = [&](std::chrono::milliseconds elapsed) {
        if (elapsed < std::chrono::seconds(20) || clock.step.count() == 0) return;
        clock.step = std::chrono::milliseconds(0);
        record_first_run();  // of the other task, which then gives up its claim
        must(remove_tree(experiment.trial(0).claimed()));
    };
    step_is("exit 0");
    BOOST_TEST(supervise(with_lengths("echo '{\"sampler\": 1, \"stop\": \"enough\"}'")) == 0);
    BOOST_TEST((answered() == std::vector<std::string>{"begin0", "trained0"}));
    BOOST_TEST(!was_requeued());
}

BOOST_AUTO_TEST_CASE(a_notice_while_it_is_asked_what_follows_puts_the_job_back_into_the_queue) {
    record_first_trial();
    record_first_run();
    auto job = with_lengths("kill -TERM $PPID; exec sleep 600");
    (*job.spec.searcher.options)["answer_timeout"] = 600;
    BOOST_TEST(supervise(job) == 0);
    BOOST_TEST(was_requeued());
    BOOST_TEST(decisions().all.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_sampler_that_sets_lengths_and_fails_is_asked_three_times) {
    auto const script = "echo x >>'" + (root / "asked").string() + "'; exit 1";
    BOOST_TEST(supervise(with_lengths(script)) == 1);
    BOOST_TEST(must(read_file(root / "asked")) == "x\nx\nx\n");
    BOOST_TEST(end_of(0).cause_name() == "interrupted");
    std::filesystem::remove(root / "asked");
    record_first_trial();
    must(remove_tree(experiment.trial(0).path()));
    record_first_run();
    BOOST_TEST(supervise(with_lengths(script)) != 0);
    BOOST_TEST(must(read_file(root / "asked")) == "x\nx\nx\n");
    BOOST_TEST(has_logged("error: the sampler"));
}

BOOST_AUTO_TEST_CASE(a_sampler_that_waits_although_no_trial_trains_ends_the_job) {
    BOOST_TEST(supervise(with_lengths("echo '{\"sampler\": 1, \"wait\": true}'")) == 0);
    BOOST_TEST(has_logged("the sampler waits before it begins a trial, but no trial trains"));
    BOOST_TEST(decisions().all.empty());
    BOOST_TEST(!path_exists(experiment.trial(0).claimed()));
    BOOST_TEST(!was_requeued());
}

BOOST_AUTO_TEST_CASE(a_sampler_can_not_wait_without_setting_lengths_or_with_what_follows) {
    auto const waits = "echo '{\"sampler\": 1, \"wait\": true}'";
    BOOST_TEST(supervise(sampled(waits)) == 1);
    BOOST_TEST(end_of(0).message.find("has 'hyperparameters' or 'stop'") != std::string::npos,
               end_of(0).message);
    must(remove_tree(experiment.trial(0).path()));
    record_first_trial();
    record_first_run();
    BOOST_TEST(supervise(with_lengths(waits)) != 0);
    BOOST_TEST(has_logged("an answer to 'trained' has no 'wait'"));
}

BOOST_AUTO_TEST_CASE(a_trial_that_has_begun_without_a_length_trains_once_it_has_one) {
    step_is("echo \"$DET_HPARAMS $DET_TRAINING_LENGTH\" >>'" + (root / "trained").string() + "'");
    BOOST_TEST(supervise(with_lengths(
                   "case $(tail -n 1) in\n"
                   "*begin*0}) a='\"hyperparameters\": {\"lr\": 0.5}, \"can_begin\": 2';;\n"
                   "*begin*1}) a='\"hyperparameters\": {\"lr\": 0.25}, \"lengths\": {\"1\": 4}';;\n"
                   "*trained*1}) a='\"lengths\": {\"0\": 6}';;\n"
                   "*) a='\"stop\": \"enough\"';;\n"
                   "esac\necho \"{\\\"sampler\\\": 1, $a}\"")) == 0);
    BOOST_TEST(must(read_file(root / "trained")) == "{\"c\":5,\"lr\":0.25} 4\n{\"c\":5,\"lr\":0.5} 6\n");
    BOOST_TEST((answered() == std::vector<std::string>{"begin0", "begin1", "trained1", "trained0"}));
}

BOOST_AUTO_TEST_SUITE_END()
