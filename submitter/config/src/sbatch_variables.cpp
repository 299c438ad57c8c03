#include <det/config/sbatch_args.hpp>

#include <algorithm>

#include "sbatch_options.hpp"

namespace det::config {
namespace {

struct SbatchInputVariable {
    std::string_view variable, option;
};

// The input variables of sbatch whose options a batch script may set. SBATCH_MEM_BIND and SBATCH_CPU_FREQ_REQ
// are left out: Slurm sets them in jobs.
constexpr SbatchInputVariable sbatch_variables[] = {
    {"SBATCH_ACCOUNT", "account"},
    {"SBATCH_ACCTG_FREQ", "acctg-freq"},
    {"SBATCH_ARRAY_INX", "array"},
    {"SBATCH_BATCH", "batch"},
    {"SBATCH_CONSTRAINT", "constraint"},
    {"SBATCH_CONTAINER", "container"},
    {"SBATCH_CONTAINER_ID", "container-id"},
    {"SBATCH_CORE_SPEC", "core-spec"},
    {"SBATCH_CPUS_PER_GPU", "cpus-per-gpu"},
    {"SBATCH_DELAY_BOOT", "delay-boot"},
    {"SBATCH_DISTRIBUTION", "distribution"},
    {"SBATCH_ERROR", "error"},
    {"SBATCH_EXCLUSIVE", "exclusive"},
    {"SBATCH_EXPORT", "export"},
    {"SBATCH_GET_USER_ENV", "get-user-env"},
    {"SBATCH_GPUS", "gpus"},
    {"SBATCH_GPUS_PER_NODE", "gpus-per-node"},
    {"SBATCH_GPUS_PER_TASK", "gpus-per-task"},
    {"SBATCH_GPU_BIND", "gpu-bind"},
    {"SBATCH_GPU_FREQ", "gpu-freq"},
    {"SBATCH_GRES", "gres"},
    {"SBATCH_GRES_FLAGS", "gres-flags"},
    {"SBATCH_HINT", "hint"},
    {"SBATCH_INPUT", "input"},
    {"SBATCH_JOB_NAME", "job-name"},
    {"SBATCH_MEM_PER_CPU", "mem-per-cpu"},
    {"SBATCH_MEM_PER_GPU", "mem-per-gpu"},
    {"SBATCH_MEM_PER_NODE", "mem"},
    {"SBATCH_NETWORK", "network"},
    {"SBATCH_NO_KILL", "no-kill"},
    {"SBATCH_OPEN_MODE", "open-mode"},
    {"SBATCH_OUTPUT", "output"},
    {"SBATCH_OVERCOMMIT", "overcommit"},
    {"SBATCH_PARTITION", "partition"},
    {"SBATCH_POWER", "power"},
    {"SBATCH_PROFILE", "profile"},
    {"SBATCH_QOS", "qos"},
    {"SBATCH_RESERVATION", "reservation"},
    {"SBATCH_SIGNAL", "signal"},
    {"SBATCH_SPREAD_JOB", "spread-job"},
    {"SBATCH_THREADS_PER_CORE", "threads-per-core"},
    {"SBATCH_THREAD_SPEC", "thread-spec"},
    {"SBATCH_TIMELIMIT", "time"},
    {"SBATCH_TRES_BIND", "tres-bind"},
    {"SBATCH_TRES_PER_TASK", "tres-per-task"},
    {"SBATCH_USE_MIN_NODES", "use-min-nodes"},
    {"SBATCH_WAIT_ALL_NODES", "wait-all-nodes"},
    {"SBATCH_WCKEY", "wckey"},
};

SbatchValue sbatch_value_kind(std::string_view option) {
    auto const options = sbatch_options();
    auto const found = std::ranges::find(options, option, &SbatchOption::name);
    return found == options.end() ? SbatchValue::required : found->value;
}

}  // namespace

std::vector<SbatchArg> parse_sbatch_variables(VariableLookup const& lookup) {
    std::vector<SbatchArg> args;
    for (auto const& [variable, option] : sbatch_variables) {
        auto const value = lookup(variable);
        if (!value) continue;
        auto const takes = sbatch_value_kind(option);
        if (takes == SbatchValue::none || (takes == SbatchValue::optional && value->empty())) {
            args.push_back({std::string(option), std::nullopt});
        } else if (!value->empty()) {
            args.push_back({std::string(option), *value});
        }
    }
    return args;
}

}  // namespace det::config
