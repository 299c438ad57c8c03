#include <det/foundation/trusted_file.hpp>
#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/slurm/resubmit_tasks.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::slurm {
namespace {

Result<std::vector<std::string>> sbatch_options(ExperimentSpec const& spec, ArrayTasks const& tasks) {
    if (spec.sbatch_options.empty()) {
        return Error{
            codes::wrong_state,
            fmt::format("experiment {} does not say what its jobs were submitted with", spec.id.value),
            "create it again from its config.yaml: 'det-submit experiment fork' does that"};
    }
    std::vector<std::string> options{"--hold"};
    options.insert(options.end(), spec.sbatch_options.begin(), spec.sbatch_options.end());
    // sbatch uses the last of repeated options, and prefers the command line to the script.
    if (auto const option = array_option(tasks.array); !option.empty()) options.push_back(option);
    if (!tasks.excluded_nodes.empty()) options.push_back("--exclude=" + tasks.excluded_nodes);
    return options;
}

/// Finds the held job that an sbatch without an answer has submitted: it has the experiment's comment, and no
/// event names it.
Result<std::optional<std::uint32_t>> find_unrecorded_job(ExperimentLayout const& experiment,
                                                         ExperimentSpec const& spec, SlurmClient& slurm) {
    auto const comment = comment_of_jobs(spec);
    if (!comment) return std::optional<std::uint32_t>();
    DET_TRY_ASSIGN(auto const events, journal::load_events(experiment.events()));
    auto const known = array_jobs_of(events);
    DET_TRY_ASSIGN(auto const jobs, slurm.query_queue({}));
    for (auto const& job : jobs) {
        bool const is_known = std::ranges::find(known, job.ref.job, &ArrayJob::job) != known.end();
        if (job.comment == *comment && job.state == JobState::pending && !is_known)
            return std::optional(job.ref.job);
    }
    return std::optional<std::uint32_t>();
}

/// Submits the job. If Slurm does not answer, finds out whether it has the job.
Result<std::uint32_t> submit_or_find(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                     Submission const& submission, SlurmClient& slurm) {
    auto submitted = slurm.submit(submission);
    if (submitted || submitted.error().code != codes::submission_unclear) return submitted;
    auto const found = find_unrecorded_job(experiment, spec, slurm);
    if (found && *found) return **found;
    return submitted;
}

}  // namespace

std::optional<std::string> comment_of_jobs(ExperimentSpec const& spec) {
    constexpr std::string_view option = "--comment=";
    std::optional<std::string> comment;
    for (auto const& each : spec.sbatch_options) {
        if (each.starts_with(option)) comment = each.substr(option.size());
    }
    return comment;
}

std::string array_option(ArrayJob const& array) {
    if (array.tasks.empty()) return "";
    auto const tasks = fmt::format("--array={}", fmt::join(array.tasks, ","));
    return array.running_max == 0 ? tasks : fmt::format("{}%{}", tasks, array.running_max);
}

Result<ArrayJob> resubmit_tasks(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                ArrayTasks const& tasks, SubmitContext const& context, SlurmClient& slurm) {
    DET_TRY_ASSIGN(auto const options, sbatch_options(spec, tasks));
    auto const script = open_trusted_file(experiment.script(tasks.array.first_trial));
    if (!script && script.error().code != codes::no_such_file)
        return script.error();  // sbatch says what is absent
    auto array = tasks.array;
    array.is_plain_job = false;  // the generated script is an array of one task
    bool const is_batch_script = spec.batch_script && !spec.batch_script->working_directory.empty();
    DET_TRY_ASSIGN(array.job, submit_or_find(experiment, spec,
                                             {options, experiment.script(array.first_trial),
                                              context.environment, is_batch_script},
                                             slurm));
    DET_TRY(journal::append_event(
        experiment.events(),
        {std::string(event_kinds::resubmitted), context.clock.now(), context.author, jobs_body({array})}));
    return array;
}

}  // namespace det::slurm
