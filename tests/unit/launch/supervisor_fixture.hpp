#pragma once
// The supervisor with a fake Slurm, and steps that are real processes.
#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/journal/reader.hpp>
#include <det/journal/writer.hpp>
#include <det/launch/supervisor/supervise.hpp>
#include <det/protocol/array_job.hpp>
#include <det/protocol/json.hpp>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <mutex>

#include "check_result.hpp"
#include "fake_clock.hpp"
#include "fake_slurm.hpp"
#include "run_plan.hpp"
#include "temporary_directory.hpp"

namespace det::launch::supervisor {

/// A root with experiment 7, its running job 123_0, and a program `srun` that a test defines.
struct SupervisorFixture {
    TemporaryDirectory root;
    ExperimentLayout experiment{RootLayout(root.path()), {7}};
    FakeSlurm slurm;
    FakeClock clock;
    std::mutex log_mutex;
    std::vector<std::string> log_lines;
    std::function<void(std::string const&)> on_log;
    std::function<void(Error const&)> end_process;
    std::string path_before = std::getenv("PATH");

    SupervisorFixture() {
        must(make_directories(experiment.trial(0).path()));
        must(journal::write_desired(root / "pause", DesiredState::pause));  // for steps to copy
        slurm.job = slurm::JobStatus{};
        slurm.job->ref = {123, 0};
        slurm.job->state = slurm::JobState::running;
        slurm.job->batch_host = "n0";
        slurm.job->end_time = UtcTime{1};
        ::setenv("PATH", (root.path().string() + ":" + path_before).c_str(), 1);
    }
    ~SupervisorFixture() { ::setenv("PATH", path_before.c_str(), 1); }

    /// A step whose chief acknowledges the preemption after `script`.
    void acknowledging_step(std::string const& script) {
        must(make_directories(root / "ack"));
        auto chief = must(journal::JournalWriter::create(root / "ack/journal"));
        must(chief.append(PreemptionAcknowledged{UtcTime{1}}));
        step_is(script + "\ncp '" + (root / "ack/journal").string() + "' \"$DET_RUN_PATH/journal\"");
    }
    void step_is(std::string const& script) { must(write_file(root / "srun", "#!/bin/sh\n" + script, 0755)); }

    BatchJob batch_job() const {
        BatchJob a{experiment, {}, 0, {123, 0}, {0, "n0"}, "n[0-1]", 8, 64000, "loopback", "compute"};
        a.spec.id = {7};
        a.spec.root = root.path();
        a.spec.shape = {2, 4, SlotType::cuda};
        a.spec.launch = Launch::rank;
        a.spec.max_restarts = 2;
        a.spec.searcher.name = "single";
        a.spec.checkpoint_path = root / "checkpoints";
        a.spec.entrypoint = {"sh", "-c", "./train 'a b'"};
        a.spec.environment_variables = {"MINE=a=b", "DET_SPANK=off", "EMPTY"};
        return a;
    }
    /// The plan of a run with the shape that its job gives it.
    static RunPlan with_shape(BatchJob const& job, RunPlan plan, Environment const& environment = {}) {
        plan.shape = decide_run_shape(job.spec, must(find_allocation(job, environment, {})));
        return plan;
    }
    /// A batch job that may be replaced by a new one.
    BatchJob replaceable_assignment() const {
        must(make_directories(experiment.events()));
        must(journal::append_event(experiment.events(),
                                   {"created", UtcTime{1}, "me@login", jobs_body({{123, 0, 4, 1}})}));
        auto a = batch_job();
        a.spec.owner = "me";
        a.spec.sbatch_options = {"--partition=compute"};
        return a;
    }
    /// Two trials at a time share the job.
    BatchJob packed_assignment(std::uint32_t trials) const {
        auto a = batch_job();
        a.spec.searcher = {"random", "loss", true, Json{{"max_trials", trials}}};
        a.spec.trial_count = trials;
        a.spec.lanes = 2;
        return a;
    }
    std::filesystem::path output() const { return root / "output"; }
    int supervise() { return supervise(batch_job()); }
    int supervise(BatchJob const& what) {
        return must(
            supervise_trials(what, {slurm, clock, Environment::of_this_process(), "/opt/det-wrap-rank",
                                    [this](std::string const& line) {
                                        {
                                            std::lock_guard const lock(log_mutex);  // of several threads
                                            log_lines.push_back(line);
                                            BOOST_TEST_MESSAGE(line);
                                        }
                                        if (on_log) on_log(line);
                                    },
                                    end_process, output()}));
    }
    RunEnded end_of(std::uint32_t run) const {
        auto const life = must(journal::load_journal(experiment.trial(0).run(run).supervisor_journal()));
        return last_of<RunEnded>(life.records).value();
    }
    /// Whether the job was requeued after that run.
    bool was_requeued_after(std::uint32_t run) const {
        auto const life = must(journal::load_journal(experiment.trial(0).run(run).supervisor_journal()));
        return last_of<JobRequeued>(life.records).has_value();
    }
    template <class Kind>
    static std::optional<Kind> last_of(std::vector<Record> const& records) {
        std::optional<Kind> last;
        for (auto const& record : records) {
            if (auto const* found = std::get_if<Kind>(&record)) last = *found;
        }
        return last;
    }
    std::string run_path(int run) const {
        return experiment.trial(0).run(static_cast<std::uint32_t>(run)).path();
    }
};

}  // namespace det::launch::supervisor
