#include <det/journal/event_log.hpp>
#include <det/protocol/json.hpp>
#include <det/slurm/submit_array.hpp>

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

}  // namespace

std::string array_option(ArrayJob const& array) {
    if (array.tasks.empty()) return "";
    auto const tasks = fmt::format("--array={}", fmt::join(array.tasks, ","));
    return array.running_max == 0 ? tasks : fmt::format("{}%{}", tasks, array.running_max);
}

Result<ArrayJob> resubmit_tasks(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                ArrayTasks const& tasks, SubmitContext const& context, SlurmClient& slurm) {
    DET_TRY_ASSIGN(auto const options, sbatch_options(spec, tasks));
    auto array = tasks.array;
    DET_TRY_ASSIGN(array.job,
                   slurm.submit({options, experiment.script(array.first_trial), context.environment}));
    DET_TRY(journal::append_event(
        experiment.events(),
        {std::string(event_kinds::resubmitted), context.clock.now(), context.author, jobs_body({array})}));
    return array;
}

}  // namespace det::slurm
