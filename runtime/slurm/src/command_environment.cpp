#include "command_environment.hpp"

#include <det/foundation/text.hpp>
#include <det/slurm/command_client.hpp>

#include <fmt/format.h>
#include <utility>
#include <vector>

namespace det::slurm {
namespace {

// Variables by which a user or a site says who pays, and where and how jobs may run.
constexpr char const* policy_variables[] = {
    "SLURM_CONF",          // which cluster
    "SLURM_JWT",           // who the user is, where Slurm authenticates by tokens
    "SBATCH_ACCOUNT",      // who pays
    "SBATCH_WCKEY",        // what for
    "SBATCH_QOS",          // under which limits
    "SBATCH_TIMELIMIT",    // how long
    "SBATCH_RESERVATION",  // on which reserved nodes
};

// Prefixes of the variables of the surrounding job, and of those that would set the new job's shape or files.
constexpr char const* job_variables[] = {"SLURM_", "SLURMD_", "SBATCH_", "SRUN_", "SALLOC_",
                                         "SPANK_", "PMI_",    "PMI2_",   "PMIX_"};

Result<std::chrono::milliseconds> parse_timeout(Environment const& environment, std::string_view name,
                                                std::chrono::milliseconds otherwise) {
    constexpr std::uint32_t most_s = 3600;
    auto const text = environment.find_non_empty(name);
    if (!text) return otherwise;
    auto const seconds = parse_integer<std::uint32_t>(*text);
    if (seconds && *seconds > 0 && *seconds <= most_s)
        return std::chrono::milliseconds(std::chrono::seconds(*seconds));
    return Error{codes::usage, fmt::format("{} is '{}'", name, *text),
                 fmt::format("set it to a number of seconds from 1 to {}, or leave it unset", most_s)};
}

}  // namespace

Environment environment_for_reading(Environment environment) {
    for (auto const* prefix : {"SQUEUE_", "SINFO_", "SCONTROL_", "SCANCEL_"})
        environment.unset_with_prefix(prefix);
    // Jobs are submitted to the cluster of Slurm's configuration, so all other requests go there too.
    environment.unset("SLURM_CLUSTERS");
    environment.set("SLURM_TIME_FORMAT", "%s");
    environment.set("SLURM_BITSTR_LEN", "0");  // otherwise squeue truncates the list of tasks of an array
    return environment;
}

Environment environment_for_submission(Submission const& submission) {
    auto environment = submission.environment;
    bool const keeps_step_variables =
        submission.keeps_step_variables && !environment.find_non_empty("SLURM_JOB_ID");
    std::vector<std::pair<std::string, std::string>> kept;
    for (auto const* name : policy_variables) {
        if (auto const value = environment.find(name)) kept.emplace_back(name, *value);
    }
    for (std::string_view const prefix : job_variables) {
        bool const is_of_sbatch = prefix == "SBATCH_" || prefix == "SALLOC_" || prefix == "SPANK_";
        if (is_of_sbatch || !keeps_step_variables) environment.unset_with_prefix(prefix);
    }
    for (auto const& [name, value] : kept) environment.set(name, value);
    return environment;
}

Result<CallTimeouts> parse_call_timeouts(Environment const& environment) {
    CallTimeouts timeouts;
    DET_TRY_ASSIGN(timeouts.submission,
                   parse_timeout(environment, "DET_SBATCH_TIMEOUT_S", timeouts.submission));
    DET_TRY_ASSIGN(timeouts.other, parse_timeout(environment, "DET_SLURM_TIMEOUT_S", timeouts.other));
    return timeouts;
}

}  // namespace det::slurm
