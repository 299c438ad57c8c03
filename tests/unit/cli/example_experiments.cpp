#include "example_experiments.hpp"

#include <det/foundation/files.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/experiment_spec.hpp>
#include <det/protocol/json.hpp>

#include <fmt/format.h>

#include "check_result.hpp"

namespace det::cli {

UtcTime minute(int number) { return {1'795'262'400'000'000 + std::int64_t{number} * 60'000'000}; }

ExperimentLayout create_example(RootLayout const& root, std::uint32_t id, std::string const& name) {
    ExperimentLayout const layout(root, {id});
    must(make_directories(layout.events()));
    ExperimentSpec spec;
    spec.id = {id};
    spec.name = name;
    spec.owner = "researcher";
    spec.created = minute(0);
    spec.pool = "compute";
    spec.shape = {2, 4, SlotType::cuda};
    spec.sbatch_options = {"--partition=compute"};
    spec.entrypoint = {"digits", "digits.csv.gz"};
    spec.searcher = {"single", "loss", true, Json::object()};
    spec.checkpoint_path = root.path() / "checkpoints";
    spec.config = Json{{"name", name}};
    must(write_file(layout.spec(), render_spec(spec)));
    must(journal::append_event(layout.events(), {"created", minute(0), "researcher@login",
                                                 Json{{"job_id", std::to_string(4710 + id)}}}));
    return layout;
}

journal::JournalWriter start_run(ExperimentLayout const& experiment, std::uint32_t number, int at) {
    auto const run = experiment.trial(0).run(number);
    must(make_directories(run.path()));
    auto life = must(journal::JournalWriter::create(run.supervisor_journal()));
    RunStarted started;
    started.time = minute(at);
    started.job = fmt::format("{}_0", 4710 + std::stoi(experiment.path().filename()));
    started.restart_count = number;
    started.hosts = "n[0-1]";
    if (number > 0) {
        started.latest_checkpoint = "00000000-0000-4000-8000-000000000001";
        started.steps_completed = 100;
    }
    must(life.append(started));
    return life;
}

RunEnded run_end(int at, Cause cause, NextAction next_action, int exit_code, std::string message) {
    return {minute(at), cause, next_action, exit_code, std::move(message)};
}

RunEnded finish(int at) { return run_end(at, Cause::finished, NextAction::stop, 0, "the trainer finished"); }

journal::JournalWriter report(ExperimentLayout const& experiment, std::uint32_t number) {
    return must(journal::JournalWriter::create(experiment.trial(0).run(number).chief_journal()));
}

slurm::JobStatus job_of(std::uint32_t id, slurm::JobState state, std::string text) {
    slurm::JobStatus job;
    job.ref = {4710 + id, 0};
    job.state = state;
    job.state_text = std::move(text);
    job.reason = "None";
    job.name = "exp-" + std::to_string(id);
    return job;
}

void write_examples(RootLayout const& root) {
    auto const completed = create_example(root, 1);
    auto life = start_run(completed, 0, 1);
    must(life.append(run_end(5, Cause::preempted, NextAction::requeue, 0, "Slurm preempted the job")));
    must(life.append(JobRequeued{minute(5)}));
    auto first = report(completed, 0);
    must(first.append(MetricsReported{minute(2), "training", 50, Json{{"loss", 0.5}}}));
    must(first.append(
        MetricsReported{minute(3), "validation", 100,
                        Json{{"accuracy", 0.75}, {"classes", Json{1, 2}}, {"note", "\x1b[31m"}}}));
    must(first.append(CheckpointCommitted{minute(4), "00000000-0000-4000-8000-000000000001", 100,
                                          Json{{"weights", 1536}, {"shards/", 0}},
                                          Json{{"steps_completed", 100}}}));
    must(first.append(PreemptionAcknowledged{minute(4), minute(3)}));
    must(start_run(completed, 1, 10).append(finish(20)));
    auto second = report(completed, 1);
    must(second.append(FirstStep{minute(11)}));
    must(second.append(MetricsReported{minute(15), "training", 150, Json{{"loss", 0.25}}}));
    must(second.append(CheckpointCommitted{minute(19), "00000000-0000-4000-8000-000000000002", 200,
                                           Json{{"weights", 3'000'000}}, Json{{"steps_completed", 200}}}));

    start_run(create_example(root, 2, "still running"), 0, 30);
    auto const failed = create_example(root, 3, "red\x1b[31m");
    must(start_run(failed, 0, 40)
             .append(run_end(41, Cause::failed, NextAction::stop, 9, "a rank ended with exit code 9")));
    must(make_directories(ExperimentLayout(root, {10}).path()));
}

}  // namespace det::cli
