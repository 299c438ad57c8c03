// The checkpoint from which a run resumes, and its step.
#include <det/checkpoint/shared_fs_store.hpp>
#include <det/foundation/process.hpp>
#include <det/foundation/text.hpp>
#include <det/foundation/uuid.hpp>
#include <det/protocol/json.hpp>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <csignal>

#include "golden.hpp"
#include "make_step_request.hpp"
#include "resume_point.hpp"
#include "run_environment.hpp"
#include "skip_step_ids.hpp"
#include "supervisor_fixture.hpp"
#include "test_paths.hpp"

using namespace det;
using namespace det::launch::supervisor;

BOOST_FIXTURE_TEST_SUITE(supervisor_steps_test, SupervisorFixture)

BOOST_AUTO_TEST_CASE(after_a_run_lost_with_its_node_step_numbers_are_skipped) {
    step_is(R"(echo "$*" >>"$DET_ROOT/steps"; exit 0)");
    auto const lost = experiment.trial(0).run(0);
    must(make_directories(lost.path()));
    auto life = must(journal::JournalWriter::create(lost.supervisor_journal()));
    must(life.append(RunStarted{UtcTime{1}, "123_0", 0, "n0", "n[0-1]", 0, "", 0}));
    auto a = batch_job();
    a.incarnation.restart_count = slurm.job->restarts = 1;
    ::setenv("DET_ROOT", root.path().c_str(), 1);
    BOOST_TEST(supervise(a) == 0);
    ::unsetenv("DET_ROOT");
    auto const text = must(read_file(root / "steps"));
    auto const lines = split_lines(text);
    BOOST_REQUIRE(lines.size() == 4 + 16 + 1u);  // two nodes, a check, warm start, the further steps, the run
    BOOST_TEST(lines.back().find("--job-name=7.0.1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(skipped_steps_exceed_the_numbers_of_every_lost_step) {
    // The second incarnation skips 22 steps, so its own steps, which are lost too, have the numbers 22 to 27.
    std::vector<RunSlurmSteps> runs{{"123_0", 0, 4, true}};
    BOOST_TEST(count_step_ids_to_skip(runs) == 22u);
    runs.push_back({"123_0", 1, 4, true});
    BOOST_TEST(count_step_ids_to_skip(runs) == 44u);
    // Runs that were restarted in place have steps of the same incarnation.
    BOOST_TEST(count_step_ids_to_skip(
                   std::vector<RunSlurmSteps>{{"123_0", 0, 4, false}, {"123_0", 0, 4, true}}) == 28u);
    // A recorded end means that no step of that incarnation is left; a new job numbers its steps from 0.
    BOOST_TEST(count_step_ids_to_skip(
                   std::vector<RunSlurmSteps>{{"123_0", 0, 4, false}, {"123_0", 1, 4, true}}) == 22u);
    BOOST_TEST(count_step_ids_to_skip(
                   std::vector<RunSlurmSteps>{{"123_0", 0, 4, true}, {"200_0", 0, 4, true}}) == 22u);
}

struct StepsToSkip {
    FakeClock clock;
    int started = 0;

    SkipEnd skip(std::uint32_t count, std::vector<std::string> const& step,
                 std::chrono::milliseconds each = std::chrono::milliseconds(0)) {
        auto const start = [&] {
            ++started;
            clock.sleep_for(each);
            return slurm::StepProcess::start(step, Environment::of_this_process());
        };
        return skip_step_ids(count, start, clock);
    }
};

BOOST_FIXTURE_TEST_CASE(steps_are_skipped_sixteen_at_a_time_until_all_have_ended, StepsToSkip) {
    for (std::uint32_t const count : {0u, 1u, 16u, 17u}) {
        started = 0;
        BOOST_TEST((skip(count, {"true"}) == SkipEnd::all_skipped));
        BOOST_TEST(started == static_cast<int>(count));
    }
}

BOOST_FIXTURE_TEST_CASE(skipping_has_a_limit_of_a_minute, StepsToSkip) {
    // 59.999 s are over when the last step has been started, and it may still end.
    BOOST_TEST((skip(1, {"true"}, std::chrono::milliseconds(59'999)) == SkipEnd::all_skipped));
    // The steps of the first sixteen do not end in time: they are killed, and no other is started.
    started = 0;
    BOOST_TEST((skip(17, {"sleep", "1000"}, std::chrono::milliseconds(3'750)) == SkipEnd::out_of_time));
    BOOST_TEST(started == 16);
    BOOST_TEST(describe(SkipEnd::out_of_time) == "Slurm is too slow");
}

BOOST_FIXTURE_TEST_CASE(skipping_ends_when_slurm_signals_the_job, StepsToSkip) {
    sigset_t term, before;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    BOOST_REQUIRE(::pthread_sigmask(SIG_BLOCK, &term, &before) == 0);
    BOOST_REQUIRE(::raise(SIGTERM) == 0);
    BOOST_TEST((skip(17, {"sleep", "1000"}) == SkipEnd::signalled));
    BOOST_TEST(started == 16);
    // The notice stays pending for the supervisor.
    timespec const none{};
    BOOST_TEST(::sigtimedwait(&term, nullptr, &none) == SIGTERM);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    BOOST_TEST((skip(17, {"true"}) == SkipEnd::all_skipped));
}

BOOST_FIXTURE_TEST_CASE(a_step_that_cannot_be_started_ends_the_skipping, StepsToSkip) {
    BOOST_TEST((skip(17, {"/nowhere/srun"}) == SkipEnd::not_started));
    BOOST_TEST(started == 1);
}

BOOST_AUTO_TEST_CASE(a_run_resumes_from_the_newest_existing_checkpoint) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    std::vector<std::string> uuids;
    for (std::uint32_t number = 0; number < 3; ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        auto const& uuid = uuids.emplace_back(make_uuid());
        must(make_directories(store.path_of(uuid)));
        must(store.commit({uuid, "7.0", 100 * (number + 1), {}, 1, Json::object()},
                          [] { return Status(Ok{}); }));
        must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100 * (number + 1), {}, {}}));
    }
    auto const newest = must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 3}, store));
    BOOST_TEST(newest.checkpoint == uuids[2]);
    BOOST_TEST(newest.steps_completed == 300u);
    // The chief was killed between two records: the one that begins a checkpoint and the one that commits it.
    auto const untold = make_uuid(), never = make_uuid();
    auto const last = experiment.trial(0).run(3);
    must(make_directories(last.path()));
    auto chief = must(journal::JournalWriter::create(last.chief_journal()));
    must(chief.append(CheckpointBegun{UtcTime{1}, untold, 400}));
    must(chief.append(CheckpointBegun{UtcTime{2}, never, 500}));
    must(make_directories(store.path_of(untold)));
    must(store.commit({untold, "7.0", 400, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    auto const found = must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 4}, store));
    BOOST_TEST(found.checkpoint == untold);
    BOOST_TEST(found.checkpoint_path == store.path_of(untold));
    BOOST_TEST(found.steps_completed == 400u);
    // A deleted checkpoint is skipped.
    must(remove_tree(store.path_of(uuids[2])));
    BOOST_TEST(must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 3}, store)).checkpoint == uuids[1]);
}

BOOST_AUTO_TEST_CASE(the_requeues_of_a_trial_for_more_nodes_are_in_its_records) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    struct Past {
        std::string hosts, message;
    };
    std::string const grown = "more nodes are idle; the trainer saved its work";
    std::vector<Past> const runs{
        {"n[0-1]", grown}, {"n[0-2]", "Slurm preempted the job"}, {"n4", grown}, {"n4", grown}};
    for (std::uint32_t number = 0; number < runs.size(); ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        RunStarted started;
        started.hosts = runs[number].hosts;
        must(life.append(started));
        RunEnded ended;
        ended.time = UtcTime{number + 1};
        ended.cause = Cause::preempted;
        ended.message = runs[number].message;
        must(life.append(ended));
    }
    auto const growths = must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 4}, store)).growths;
    BOOST_REQUIRE(growths.size() == 3u);
    BOOST_TEST((growths[0].ended == UtcTime{4} && growths[0].nodes == 1 && !growths[0].nodes_after));
    BOOST_TEST((growths[1].ended == UtcTime{3} && growths[1].nodes == 1 && growths[1].nodes_after == 1));
    BOOST_TEST((growths[2].ended == UtcTime{1} && growths[2].nodes == 2 && growths[2].nodes_after == 3));
}

BOOST_AUTO_TEST_CASE(a_run_with_a_damaged_journal_resumes_from_the_newest_checkpoint_in_the_store) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const run = experiment.trial(0).run(0);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
    must(life.append(RunStarted{}));
    auto chief = must(journal::JournalWriter::create(run.chief_journal()));
    std::string newest;
    for (std::uint64_t const steps : {100u, 200u}) {
        newest = make_uuid();
        must(make_directories(store.path_of(newest)));
        must(store.commit({newest, "7.0.0", steps, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
        must(chief.append(CheckpointCommitted{UtcTime{1}, newest, steps, {}, {}}));
    }
    auto const of_another_run = make_uuid();
    must(make_directories(store.path_of(of_another_run)));
    must(store.commit({of_another_run, "7.1.0", 300, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    auto bytes = must(read_file(run.chief_journal()));
    bytes[bytes.size() - 5] ^= 1;  // in the record of the newest checkpoint
    must(write_file(run.chief_journal(), bytes));
    auto const point = must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 1}, store));
    BOOST_TEST(point.checkpoint == newest);
    BOOST_TEST(point.steps_completed == 200u);
    BOOST_REQUIRE(point.damage.size() == 1u);
    BOOST_TEST(point.damage[0].find(run.chief_journal().string()) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_trial_starts_from_the_source_until_it_has_its_own_checkpoint) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const source = make_uuid(), own = make_uuid();
    for (auto const& [uuid, steps] : {std::pair(source, 700u), std::pair(own, 100u)}) {
        must(make_directories(store.path_of(uuid)));
        must(store.commit({uuid, "5.0", steps, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    }
    auto a = batch_job();
    a.spec.source_checkpoint = source;
    step_is(R"([ "$DET_TRIAL_RUN_ID" != 0 ] || { echo "$DET_LATEST_CHECKPOINT $DET_STEPS_COMPLETED" \
        >"$DET_RUN_PATH/seen"; exit 1; }
        echo "$DET_LATEST_CHECKPOINT $DET_STEPS_COMPLETED" >"$DET_RUN_PATH/seen")");
    BOOST_TEST(supervise(a) == 0);
    // The second run, after a failure, starts from the same checkpoint, because the trial has saved nothing.
    for (int const run : {0, 1}) BOOST_TEST(must(read_file(run_path(run) + "/seen")) == source + " 0\n");

    auto chief = must(journal::JournalWriter::create(experiment.trial(0).run(1).chief_journal()));
    must(chief.append(CheckpointCommitted{UtcTime{1}, own, 100, {}, {}}));
    auto point = must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, 2}, store));
    must(use_source_checkpoint(source, store, point));
    BOOST_TEST(point.checkpoint == own);
    BOOST_TEST(point.steps_completed == 100u);

    ResumePoint fresh;
    must(remove_tree(store.path_of(source)));
    BOOST_TEST((must_fail(use_source_checkpoint(source, store, fresh)).code == codes::no_such_checkpoint));
    BOOST_TEST(fresh.checkpoint == "");
    must(use_source_checkpoint(std::nullopt, store, fresh));
}

BOOST_AUTO_TEST_CASE(a_run_may_still_run_unless_its_end_is_confirmed) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const trial = experiment.trial(0);
    auto const after = [&](Cause cause, NextAction next, std::string const& file) {
        must(remove_tree(trial.runs()));
        must(make_directories(trial.run(0).path()));
        auto life = must(journal::JournalWriter::create(trial.run(0).supervisor_journal()));
        must(life.append(RunStarted{}));
        must(life.append(RunEnded{{}, cause, next, 1, ""}));
        if (!file.empty()) must(write_file(trial.run(0).path() / file, ""));
        return must(find_resume_point(trial, {{7}, 0}, {0, 1}, store)).may_still_run.has_value();
    };
    BOOST_TEST(!after(Cause::failed, NextAction::restart_in_place, "node-0.pulse"));
    BOOST_TEST(after(Cause::failed, NextAction::restart_in_place, "abandoned"));
    BOOST_TEST(after(Cause::node_failed, NextAction::requeue, ""));
    BOOST_TEST(!after(Cause::preempted, NextAction::left_to_slurm, ""));
    BOOST_TEST(after(Cause::preempted, NextAction::left_to_slurm, "node-1.pulse"));
    BOOST_TEST(after(Cause::preempted, NextAction::left_to_slurm, "tasks.pulse"));
    BOOST_TEST(!after(Cause::preempted, NextAction::left_to_slurm, "node-1.left"));
    BOOST_TEST(!after(Cause::failed, NextAction::restart_in_place, "tasks.pulse"));
    must(remove_tree(trial.run(0).supervisor_journal()));
    auto life = must(journal::JournalWriter::create(trial.run(0).supervisor_journal()));
    must(life.append(RunStarted{}));
    BOOST_TEST(must(find_resume_point(trial, {{7}, 0}, {0, 1}, store)).may_still_run.value() == 0u);
}

BOOST_AUTO_TEST_CASE(steps_of_a_failed_node_may_live_when_the_job_is_queued_again) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const trial = experiment.trial(0);
    auto const after = [&](Cause cause, NextAction next) {
        must(remove_tree(trial.runs()));
        must(make_directories(trial.run(0).path()));
        auto life = must(journal::JournalWriter::create(trial.run(0).supervisor_journal()));
        RunStarted started;
        started.hosts = "n[0-1]";
        must(life.append(started));
        must(life.append(RunEnded{{}, cause, next, 1, ""}));
        auto const point = must(find_resume_point(trial, {{7}, 0}, {0, 1}, store));
        BOOST_TEST(point.step_ids_to_skip == (point.is_previous_run_lost ? 20u : 0u));
        return point.is_previous_run_lost;
    };
    BOOST_TEST(after(Cause::node_failed, NextAction::left_to_slurm));
    BOOST_TEST(after(Cause::node_failed, NextAction::requeue));
    BOOST_TEST(!after(Cause::node_failed, NextAction::restart_in_place));
    BOOST_TEST(!after(Cause::preempted, NextAction::requeue));
}

BOOST_AUTO_TEST_CASE(a_continuation_resets_failures_and_keeps_checkpoints) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    auto const uuid = make_uuid();
    must(make_directories(store.path_of(uuid)));
    must(store.commit({uuid, "7.0", 100, {}, 1, Json::object()}, [] { return Status(Ok{}); }));
    for (std::uint32_t number = 0; number < 3; ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        must(life.append(RunStarted{}));
        must(life.append(RunEnded{{}, Cause::failed, NextAction::stop, 1, "", "n1"}));
        if (number > 0) continue;
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        must(chief.append(CheckpointCommitted{UtcTime{1}, uuid, 100, {}, {}}));
    }
    auto const counted = must(find_resume_point(experiment.trial(0), {{7}, 0}, {2, 3}, store));
    BOOST_TEST(counted.restarts == 1u);
    BOOST_TEST(counted.failures_without_progress == 1u);
    BOOST_TEST(counted.checkpoint == uuid);
    auto const continued = must(find_resume_point(experiment.trial(0), {{7}, 0}, {3, 3}, store));
    BOOST_TEST(continued.restarts == 0u);
    BOOST_TEST(continued.bad_hosts.empty());
    BOOST_TEST(continued.steps_completed == 100u);
    BOOST_TEST(must(has_ended(experiment.trial(0), 2)));
    BOOST_TEST(!must(has_ended(experiment.trial(0), 3)));
}

BOOST_AUTO_TEST_CASE(a_run_from_whose_memory_the_next_one_went_on_has_progressed) {
    checkpoint::SharedFsStore store(root / "checkpoints");
    // The checkpoint is that of step 5. Run 3 gets no further than run 2.
    std::vector<std::uint64_t> const continued_at{0, 30, 60, 60};
    for (std::uint32_t number = 0; number < continued_at.size(); ++number) {
        auto const run = experiment.trial(0).run(number);
        must(make_directories(run.path()));
        auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
        RunStarted started;
        started.steps_completed = number > 0 ? 5 : 0;
        must(life.append(started));
        must(life.append(RunEnded{{}, Cause::failed, NextAction::restart_in_place, 1, ""}));
        auto chief = must(journal::JournalWriter::create(run.chief_journal()));
        if (number > 0) must(chief.append(ContinuedFromMemory{UtcTime{1}, continued_at[number], number - 1}));
    }
    auto const failures_before = [&](std::uint32_t run) {
        return must(find_resume_point(experiment.trial(0), {{7}, 0}, {0, run}, store))
            .failures_without_progress;
    };
    BOOST_TEST(failures_before(2) == 1u);
    BOOST_TEST(failures_before(3) == 1u);
    BOOST_TEST(failures_before(4) == 2u);
}

BOOST_AUTO_TEST_CASE(variables_of_det_submit_override_the_users_which_override_the_jobs) {
    Environment const job({{"PATH", "/bin"},
                           {"SLURM_JOB_ID", "125"},
                           {"SLURM_JOB_NAME", "exp-7"},
                           {"MINE", "old"},
                           {"SLURM_NTASKS", "2"},
                           {"DET_WRAPPED", "1.0.0"},
                           {"PYTHONPATH", "/theirs"},
                           {"DET_READ_AHEAD", "/of/another/trial"}});
    RunPlan run{{{{7}, 0}, 2}, {1, "0a1b2c3d-0000-4000-8000-000000000000", 500}, "n[0-1]", 99, 12345};
    run.resume.checkpoint_path = "/checkpoints/" + run.resume.checkpoint;
    run.trial_dir = "/det/trial/generations/0/files";
    auto const environment = make_run_environment(batch_job(), with_shape(batch_job(), run), job);
    std::string shown;
    for (auto const& variable : environment.to_list()) {
        auto text = variable;
        for (auto at = text.find(root.path()); at != std::string::npos; at = text.find(root.path())) {
            text.replace(at, root.path().string().size(), "/ROOT");
        }
        if (variable == "DET_SPEC=" + render_spec(batch_job().spec))
            text = "DET_SPEC=(the text of spec.json)";
        std::string const build = det::test::built_path() + "/";
        if (auto const at = text.find(build); at != std::string::npos)
            text.replace(at, build.size(), "BUILD/");
        shown += text + "\n";
    }
    check_golden("run_environment.txt", shown);
}

BOOST_AUTO_TEST_CASE(a_specification_that_is_too_long_for_a_variable_stays_in_its_file) {
    RunPlan const run{{{{7}, 0}, 2}, {}, "n0", 99, 12345};
    auto const variables_of = [&](std::string filling) {
        auto job = batch_job();
        job.spec.config = Json{{"data", std::move(filling)}};
        auto const length = render_spec(job.spec).size();
        auto const passed =
            make_run_environment(job, with_shape(job, run), Environment()).find(variables::spec);
        return std::pair(length, passed);
    };
    std::size_t const limit = std::size_t{64} << 10;
    auto const others = variables_of("").first;
    auto const [length, passed] = variables_of(std::string(limit - others, 'x'));
    BOOST_TEST(length == limit);
    BOOST_REQUIRE(passed.has_value());
    BOOST_TEST(passed->size() == limit);
    BOOST_TEST(!variables_of(std::string(limit - others + 1, 'x')).second.has_value());
}

BOOST_AUTO_TEST_CASE(the_cache_of_kernels_can_be_switched_off) {
    RunPlan const run{{{{7}, 0}, 2}, {}, "n0", 99, 12345};
    auto a = batch_job();
    Environment job;
    job.set("TORCH_FR_DUMP_TEMP_FILE", "/mine");
    auto const with = make_run_environment(a, run, job);
    BOOST_TEST(with.find("DET_COMPILE_CACHE").value() == "7");
    BOOST_TEST(with.find("TORCH_FR_DUMP_TEMP_FILE").value() == "/mine");
    a.spec.config = parse_json(R"({"slurm": {"compile_cache": false}})");
    BOOST_TEST(!make_run_environment(a, run, job).find("DET_COMPILE_CACHE").has_value());
}

BOOST_AUTO_TEST_CASE(wandb_and_mlflow_of_a_script_are_replaced_if_the_configuration_says_so) {
    RunPlan const run{{{{7}, 0}, 2}, {}, "n0", 99, 12345};
    auto a = batch_job();
    Environment const job({{"PYTHONPATH", "/theirs"},
                           {"DET_LOG_WANDB", "1"},
                           {"DET_LOG_MLFLOW", "1"},
                           {"MLFLOW_TRACKING_URI", "http://mlflow.example.org"}});
    auto const without = make_run_environment(a, run, job);
    BOOST_TEST(!without.find("DET_LOG_WANDB").has_value());
    BOOST_TEST(!without.find("DET_LOG_MLFLOW").has_value());
    BOOST_TEST(without.find("PYTHONPATH").value().starts_with("/theirs:"));
    BOOST_TEST(without.find("MLFLOW_TRACKING_URI").value() == "http://mlflow.example.org");
    a.spec.config = parse_json(R"({"slurm": {"log_wandb": true, "log_mlflow": true}})");
    auto const with = make_run_environment(a, run, job);
    auto const packages = det::test::built_path() + "/lib/det-submit/";
    BOOST_TEST(with.find("DET_LOG_WANDB").value() == "1");
    BOOST_TEST(with.find("PYTHONPATH").value() ==
               packages + "python-wandb:/theirs:" + packages + "python-path");
    BOOST_TEST(with.find("MLFLOW_TRACKING_URI").value() == "det-submit://trial");
    BOOST_TEST(with.find("MLFLOW_DISABLE_TELEMETRY").value() == "true");
}

BOOST_AUTO_TEST_CASE(the_step_runs_the_wrapper_on_every_slot_or_on_every_node) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    BOOST_TEST(make_step_request(a, run, "/opt/w").command ==
                   (std::vector<std::string>{"/opt/w", "SLURM_PROCID", "sh", "-c", "./train 'a b'"}),
               boost::test_tools::per_element());
    a.spec.launch = Launch::node;
    BOOST_TEST(make_step_request(a, run, "/opt/w").command.at(1) == "--node");
    BOOST_TEST(!make_step_request(a, run, "/opt/w").share);
    BOOST_TEST(make_step_request(a, run, "/opt/w").hosts.empty());
    // Trials that share a node get a share of it each; with spare nodes the hosts are named.
    a.spec.lanes = 4;
    a.spec.spare_nodes = 1;
    a.hosts = "n[0-2]";
    auto const lane = make_step_request(a, with_shape(a, run), "/opt/w");
    BOOST_TEST(lane.cpus_per_node == 2);
    BOOST_TEST(lane.share.value().memory_mib == 16000);
    BOOST_TEST(lane.hosts == "n[0-1]");
}

BOOST_AUTO_TEST_CASE(options_for_srun_come_last_and_with_bind_the_wrappers_bind_the_ranks) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    a.spec.launch = Launch::rank;
    BOOST_TEST(make_step_request(a, run, "/opt/w").binds_ranks);
    BOOST_TEST(!make_run_environment(a, run, {}).find("DET_BIND").has_value());
    a.spec.srun_args = {"--network=single_node_vni", "--mem-bind=local"};
    a.spec.bind = "1,0";
    auto const request = make_step_request(a, run, "/opt/w");
    BOOST_TEST(!request.binds_ranks);
    BOOST_TEST(request.options == a.spec.srun_args, boost::test_tools::per_element());
    auto const words = slurm::render_srun(request);
    BOOST_TEST(std::ranges::count(words, "--cpu-bind=none") == 1);
    auto const separator = std::ranges::find(words, "--");
    BOOST_REQUIRE(separator != words.end());
    BOOST_TEST(*(separator - 1) == "--mem-bind=local");
    BOOST_TEST(*(separator - 2) == "--network=single_node_vni");
    BOOST_TEST(make_run_environment(a, run, {}).find("DET_BIND").value() == "1,0");
    a.spec.launch = Launch::script;  // the script's own steps have their own options
    BOOST_TEST(!make_run_environment(a, run, {}).find("DET_BIND").has_value());
}

BOOST_AUTO_TEST_CASE(the_address_of_the_chief_has_the_suffix_of_the_site) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    BOOST_TEST(make_run_environment(a, run, {}).find("MASTER_ADDR").value() == "n0");
    a.spec.environment_variables = {"DET_HOST_SUFFIX=i"};
    BOOST_TEST(make_run_environment(a, run, {}).find("MASTER_ADDR").value() == "n0i");
}

BOOST_AUTO_TEST_CASE(a_variable_without_a_value_keeps_the_jobs_value) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    a.spec.environment_variables = {"INHERITED=", "ALSO", "ABSENT=", "OWN=x"};
    auto const environment =
        make_run_environment(a, run, Environment({{"INHERITED", "a"}, {"ALSO", "b"}, {"OWN", "c"}}));
    BOOST_TEST(environment.find("INHERITED").value() == "a");
    BOOST_TEST(environment.find("ALSO").value() == "b");
    BOOST_TEST(!environment.find("ABSENT").has_value());
    BOOST_TEST(environment.find("OWN").value() == "x");
}

BOOST_AUTO_TEST_CASE(a_startup_hook_is_sourced_before_the_entrypoint_and_its_failure_fails_the_run) {
    must(make_directories(root / "work"));
    auto a = batch_job();
    a.spec.entrypoint = {"sh", "-c", "echo \"$FROM_HOOK $0\" >out", "a b"};
    RunPlan const run{{{{7}, 0}, 0}, {}, "n0", 0, 0};
    auto const has_hook = [&](bool there) {
        a.spec.context = ContextSpec{"x", 1, there};
        auto const command = make_step_request(a, run, "/opt/w").command;
        return std::find(command.begin(), command.end(), "startup-hook") != command.end();
    };
    BOOST_TEST(!has_hook(false));
    BOOST_TEST(has_hook(true));
    auto command = make_step_request(a, run, "/opt/w").command;
    command.erase(command.begin(), command.begin() + 2);  // the wrapper
    auto environment = Environment::of_this_process();
    environment.set("DET_RUN_DIR", root.path());
    SystemProcessRunner runner;
    auto const go = [&](std::string const& hook) {
        must(write_file(root / "work/startup-hook.sh", hook));
        std::vector<std::string> argv{"env", "--chdir", root / "work"};
        argv.insert(argv.end(), command.begin(), command.end());
        return must(runner.run({argv, environment})).exit_code;
    };
    BOOST_TEST(go("export FROM_HOOK=yes\n(sleep 0)\n") == 0);
    BOOST_TEST(must(read_file(root / "work/out")) == "yes a b\n");
    must(remove_tree(root / "work/out"));
    BOOST_TEST(go("false\necho never\n") == 1);
    BOOST_TEST(!path_exists(root / "work/out"));
}

BOOST_AUTO_TEST_CASE(setup_lines_run_before_the_startup_hook_inside_the_container) {
    auto a = batch_job();
    a.spec.launch = Launch::node;
    a.spec.setup = {"module load x"};
    a.spec.context = ContextSpec{"x", 1, true};
    a.spec.container = ContainerSpec{};
    a.spec.container->runtime = ContainerRuntime::podman;
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    auto const command = make_step_request(a, run, "/opt/w").command;
    BOOST_REQUIRE(command.size() == 15u);
    BOOST_TEST(command.at(3) == "contain");
    BOOST_TEST(command.at(7) == "setup");
    BOOST_TEST(command.at(11) == "startup-hook");
    BOOST_TEST(command.at(14) == "./train 'a b'");
    BOOST_TEST(make_run_environment(a, run, Environment()).find("DET_SETUP").value() == "1");
    Environment of_another_run;
    of_another_run.set("DET_SETUP", "1");
    a.spec.setup.clear();
    BOOST_TEST(!make_run_environment(a, run, of_another_run).find("DET_SETUP"));
}

BOOST_AUTO_TEST_CASE(nodes_sample_their_metrics_if_the_configuration_wants_it) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    Environment of_another_run;
    of_another_run.set("DET_PROFILING", "1");
    for (auto const& [config, is_profiled] :
         {std::pair(Json{{"profiling", {{"enabled", true}}}}, true),
          std::pair(Json{{"profiling", {{"enabled", false}}}}, false), std::pair(Json::object(), false)}) {
        a.spec.config = config;
        BOOST_TEST(make_run_environment(a, run, of_another_run).find("DET_PROFILING").has_value() ==
                   is_profiled);
    }
}

BOOST_AUTO_TEST_CASE(nodes_measure_their_use_if_there_is_an_idle_timeout) {
    auto a = batch_job();
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    Environment of_another_run;
    of_another_run.set("DET_USAGE_WINDOW_MS", "1");
    BOOST_TEST(!make_run_environment(a, run, of_another_run).find("DET_USAGE_WINDOW_MS").has_value());
    a.spec.config = Json{{"slurm", {{"idle_timeout", {{"after", 100}, {"action", "warn"}}}}}};
    BOOST_TEST(make_run_environment(a, run, of_another_run).find("DET_USAGE_WINDOW_MS").value() == "10000");
}

BOOST_AUTO_TEST_CASE(outside_of_a_job_the_error_explains_the_program) {
    must(write_file(experiment.spec(), render_spec(batch_job().spec)));
    auto const error = must_fail(load_batch_job(experiment.path(), 0, Environment()));
    BOOST_TEST((error.code == codes::not_in_slurm));
    BOOST_TEST((must_fail(load_batch_job(root / "absent", 0, Environment())).code == codes::no_such_file));
    BOOST_TEST((must_fail(load_batch_job(experiment.path(), 1, Environment())).code == codes::no_such_trial));
    // A job that was requeued after its experiment was packed.
    must(write_file(experiment.pack(), "detpack"));
    BOOST_TEST(
        (must_fail(load_batch_job(experiment.path(), 0, Environment())).code == codes::experiment_packed));
    std::filesystem::remove(experiment.pack());
}

BOOST_AUTO_TEST_CASE(the_assignment_is_read_from_slurms_variables) {
    must(write_file(experiment.spec(), render_spec(batch_job().spec)));
    Environment const job({{"SLURM_JOB_ID", "130"},
                           {"SLURM_ARRAY_JOB_ID", "123"},
                           {"SLURM_ARRAY_TASK_ID", "0"},
                           {"SLURM_JOB_NODELIST", "n[0-1]"},
                           {"SLURM_JOB_CPUS_PER_NODE", "8,6"},
                           {"SLURMD_NODENAME", "n0"},
                           {"SLURM_RESTART_COUNT", "3"},
                           {"SLURM_CLUSTER_NAME", "loopback"}});
    auto const a = must(load_batch_job(experiment.path(), 0, job));
    BOOST_TEST(slurm::to_string(a.job) == "123_0");
    BOOST_TEST(a.incarnation.restart_count == 3u);
    BOOST_TEST(a.cpus_per_node == 6);
}

BOOST_AUTO_TEST_CASE(containers_start_below_the_wrapper_and_pyxis_containers_by_srun) {
    auto a = batch_job();
    a.spec.launch = Launch::node;
    a.spec.container = ContainerSpec{};
    a.spec.container->runtime = ContainerRuntime::podman;
    RunPlan const run{{{{7}, 0}, 0}, {}, "n[0-1]", 0, 0};
    auto const podman = make_step_request(a, run, "/opt/bin/det-wrap-rank");
    BOOST_TEST(join(podman.command, " ") ==
               "/opt/bin/det-wrap-rank --node /opt/bin/det-launch contain sh -c ./train 'a b'");
    a.spec.container->runtime = ContainerRuntime::pyxis;
    a.spec.container->image = "ubuntu";
    auto const line = join(slurm::render_srun(make_step_request(a, run, "/opt/bin/det-wrap-rank")), " ");
    BOOST_TEST(line.find(" --container-image=ubuntu --container-mounts=/tmp:/tmp,/opt/bin:/opt/bin:ro,") !=
                   std::string::npos,
               line);
    BOOST_TEST(line.find("contain sh") == std::string::npos, line);
}

BOOST_AUTO_TEST_CASE(steps_request_only_the_threads_of_a_core_that_the_job_allows) {
    HostCpus const host{256, 2};
    auto const usable = [&](int cpus, char const* variable, char const* value) {
        return step_cpus_max(cpus, Environment{{{variable, value}}}, host);
    };
    BOOST_TEST(usable(256, "SLURM_THREADS_PER_CORE", "1") == 128);
    BOOST_TEST(usable(256, "SLURM_HINT", "nomultithread") == 128);
    BOOST_TEST(usable(256, "SLURM_THREADS_PER_CORE", "2") == 256);
    BOOST_TEST(usable(128, "SLURM_THREADS_PER_CORE", "1") == 128);  // Slurm counted cores
    BOOST_TEST(usable(256, "SLURM_HINT", "multithread") == 256);
    BOOST_TEST(usable(256, "OTHER", "1") == 256);
    BOOST_TEST(step_cpus_max(8, Environment{{{"SLURM_THREADS_PER_CORE", "1"}}}, {8, 1}) == 8);
}

BOOST_AUTO_TEST_SUITE_END()
