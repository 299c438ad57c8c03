#include "trial_text.hpp"

#include <det/foundation/text.hpp>

#include <fmt/format.h>

#include "table.hpp"

namespace det::cli {
namespace {

std::string describe_run(lifecycle::RunView const& run) {
    if (!run.ended) return "no word of its end yet";
    return fmt::format("{} ({})", run.ended->message, to_string(run.ended->cause));
}

std::string describe_job(std::optional<slurm::JobStatus> const& job) {
    if (!job) return "not in Slurm's queue";
    auto const reason = job->reason.empty() || job->reason == "None" ? "" : ", " + job->reason;
    return fmt::format("job {}: {}{}", slurm::to_string(job->ref), job->state_text, escape_control(reason));
}

}  // namespace

std::string trial_headline(history::TrialView const& trial) {
    return fmt::format("Trial {}: {}, {}\n", to_string(trial.record.id), to_string(trial.state),
                       describe_job(trial.job));
}

std::string runs_table(history::TrialView const& trial) {
    if (trial.record.runs.empty()) return "";
    Table runs({"Run", "Started", "Ended", "Nodes", "From step", "How it ended"});
    for (std::size_t number = 0; number < trial.record.runs.size(); ++number) {
        auto const& run = trial.record.runs[number];
        auto const started = run.started.value_or(RunStarted{});
        runs.add({std::to_string(number), run.started ? short_time(started.time) : "",
                  run.ended ? short_time(run.ended->time) : "", started.hosts,
                  std::to_string(started.steps_completed), describe_run(run)});
    }
    return runs.render();
}

}  // namespace det::cli
