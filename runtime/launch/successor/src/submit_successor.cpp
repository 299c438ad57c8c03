#include <det/journal/event_log.hpp>
#include <det/successor/submit_successor.hpp>

#include <fmt/format.h>

namespace det::successor {
namespace {

/// "3,5%2"
std::string indices_of(ArrayJob const& array) {
    auto const tasks = fmt::format("{}", fmt::join(array.tasks, ","));
    return array.running_max == 0 ? tasks : fmt::format("{}%{}", tasks, array.running_max);
}

Result<std::vector<std::string>> options_of(ExperimentSpec const& spec, Heirs const& heirs) {
    if (spec.sbatch_options.empty()) {
        return Error{
            codes::wrong_state,
            fmt::format("experiment {} does not say what its jobs were submitted with", spec.id.value),
            "create it again from its config.yaml: 'det-submit experiment fork' does that"};
    }
    std::vector<std::string> options{"--hold"};
    options.insert(options.end(), spec.sbatch_options.begin(), spec.sbatch_options.end());
    // Of an option that is said twice the last counts, and the command line before the script.
    if (!heirs.array.tasks.empty()) options.push_back("--array=" + indices_of(heirs.array));
    if (!heirs.excluded_nodes.empty()) options.push_back("--exclude=" + heirs.excluded_nodes);
    return options;
}

/// A job's environment has much that sbatch would take for options, or for the job that it makes.
Environment without_job(Environment environment) {
    environment.unset_with_prefix("SLURM");
    return environment;
}

}  // namespace

Result<ArrayJob> submit_tasks(std::filesystem::path const& script, ExperimentSpec const& spec,
                              Heirs const& heirs, Environment const& environment, slurm::SlurmClient& slurm) {
    DET_TRY_ASSIGN(auto const options, options_of(spec, heirs));
    auto array = heirs.array;
    DET_TRY_ASSIGN(array.job, slurm.submit({options, script, environment}));
    return array;
}

Result<ArrayJob> submit_successor(ExperimentLayout const& experiment, ExperimentSpec const& spec,
                                  Heirs const& heirs, Author const& author, slurm::SlurmClient& slurm) {
    DET_TRY_ASSIGN(auto const array, submit_tasks(experiment.script(heirs.array.first_trial), spec, heirs,
                                                  without_job(author.environment), slurm));
    DET_TRY(journal::append_event(
        experiment.events(),
        {std::string(event_kinds::resubmitted), author.clock.now(), author.name, jobs_body({array})}));
    return array;
}

}  // namespace det::successor
