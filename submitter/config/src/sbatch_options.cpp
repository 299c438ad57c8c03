#include "sbatch_options.hpp"

namespace det::config {
namespace {

constexpr auto none = SbatchValue::none;
constexpr auto optional = SbatchValue::optional;
constexpr auto required = SbatchValue::required;
constexpr auto script = SbatchOwner::script;

// Hints for refused options.
constexpr std::string_view slots =
    "set resources.slots_per_trial; the nodes and their tasks follow from it and from slurm.slots_per_node";
constexpr std::string_view gpus =
    "set resources.slots_per_trial: a slot is a GPU where nodes have GPUs, and slurm.gpu_type is its type";
constexpr std::string_view array =
    "an array's tasks are the trials: set searcher.max_trials and searcher.max_concurrent_trials";
constexpr std::string_view variables = "set environment.environment_variables";
constexpr std::string_view logs = "remove it; 'det-submit trial logs' shows what the ranks print";
constexpr std::string_view restarts =
    "remove it: a preempted trial is always requeued; for failures set max_restarts";
constexpr std::string_view shared_nodes = "set 'slurm: {exclusive: false}' for trials that share nodes";
constexpr std::string_view comment =
    "remove it: det-submit finds the jobs of an experiment by their comment; describe it with 'description' "
    "or 'labels'";
constexpr std::string_view answer = "remove it: det-submit reads what sbatch prints";
constexpr std::string_view for_people = "remove it; in a shell, run 'sbatch --help'";
constexpr std::string_view another_user = "remove it: run det-submit as that user";
constexpr std::string_view another_cluster = "remove it: run det-submit on that cluster";

constexpr SbatchOption rows[] = {
    {"account", 'A', required},
    {"acctg-freq", 0, required},
    {"array", 'a', required, array, script},
    {"batch", 0, required},
    {"bb", 0, required},
    {"bbf", 0, required},
    {"begin", 'b', required},
    {"chdir", 'D', required,
     "give the directory of the code to 'det-submit experiment create CONFIG CONTEXT': it is the working "
     "directory",
     script},
    {"cluster", 0, required, another_cluster},
    {"cluster-constraint", 0, required},
    {"clusters", 'M', required, another_cluster},
    {"comment", 0, required, comment},
    {"consolidate-segments", 0, none},
    {"constraint", 'C', required},
    {"container", 0, required},
    {"container-id", 0, required},
    {"context", 0, required},
    {"contiguous", 0, none},
    {"core-spec", 'S', required},
    {"cores-per-socket", 0, required},
    {"cpu-freq", 0, required},
    {"cpus-per-gpu", 0, required},
    {"cpus-per-task", 'c', required},
    {"deadline", 0, required},
    {"delay-boot", 0, required},
    {"dependency", 'd', required},
    // Of our plugin. det-requeue makes an experiment of a job of sbatch, which a job of det-submit is.
    {"det", 0, optional},
    {"det-launch", 0, required},
    {"det-log", 0, required},
    {"det-requeue", 0, none, restarts},
    {"det-wrap", 0, required},
    {"distribution", 'm', required},
    {"error", 'e', required, logs, script},
    {"exclude", 'x', required},
    {"exclusive", 0, optional},  // --exclusive=user and the like are refused
    {"export", 0, required, variables, script},
    {"export-file", 0, required, variables, script},
    {"extra", 0, required},
    {"extra-node-info", 'B', required},
    {"get-user-env", 0, optional},
    {"gid", 0, required, another_user},
    {"gpu-bind", 0, required},
    {"gpu-freq", 0, required},
    {"gpus", 'G', required, gpus, script},
    {"gpus-per-node", 0, required, gpus, script},
    {"gpus-per-socket", 0, required, gpus, script},
    {"gpus-per-task", 0, required, gpus, script},
    {"gres", 0, required},  // GPUs are refused
    {"gres-flags", 0, required},
    {"help", 'h', none, for_people},
    {"hint", 0, required},
    {"hold", 'H', none, "remove it: det-submit holds every job until it is recorded, and then releases it"},
    {"ignore-pbs", 0, none},
    {"input", 'i', required, "remove it: let the entrypoint open the file", script},
    {"job-name", 'J', required, "set name", script},
    {"kill-on-invalid-dep", 0, required},
    {"licenses", 'L', required},
    {"mail-type", 0, required},
    {"mail-user", 0, required},
    {"mcs-label", 0, required},
    {"mem", 0, required},
    {"mem-bind", 0, required},
    {"mem-per-cpu", 0, required},
    {"mem-per-gpu", 0, required},
    {"mincpus", 0, required},
    {"network", 0, required},
    {"nice", 0, optional},
    {"no-kill", 'k', optional},
    {"no-requeue", 0, none, restarts},
    {"nodefile", 'F', required},
    {"nodelist", 'w', required},
    {"nodes", 'N', required, slots, script},
    {"ntasks", 'n', required, slots, script},
    {"ntasks-per-core", 0, required, slots, script},
    {"ntasks-per-gpu", 0, required, slots, script},
    {"ntasks-per-node", 0, required, slots, script},
    {"ntasks-per-socket", 0, required, slots, script},
    {"ntasks-per-tres", 0, required, slots, script},
    {"oom-kill-step", 0, optional},
    {"open-mode", 0, required, logs, script},
    {"output", 'o', required, logs, script},
    {"overcommit", 'O', none},
    {"oversubscribe", 's', none, shared_nodes, script},
    {"parsable", 0, none, answer},
    {"partition", 'p', required},
    {"power", 0, required},
    {"prefer", 0, required},
    {"priority", 0, required},
    {"profile", 0, required},
    {"propagate", 0, optional},
    {"qos", 'q', required},
    {"quiet", 'Q', none, answer},  // would suppress the job id too
    {"reboot", 0, none},
    {"requeue", 0, none, restarts},
    {"reservation", 0, required},
    {"resv-ports", 0, optional},
    {"segment", 0, required},
    {"signal", 0, required, "use 'slurm: {forward_signals: [USR1]}': a trial is told in time", script},
    {"sockets-per-node", 0, required},
    {"spread-job", 0, none},
    {"spread-segments", 0, none},
    {"stepmgr", 0, none},
    {"switches", 0, required},
    {"tasks-per-node", 0, required, slots, script},
    {"test-only", 0, none, "remove it; 'det-submit experiment create --dry-run' submits nothing"},
    {"thread-spec", 0, required},
    {"threads-per-core", 0, required},
    {"time", 't', required},
    {"time-min", 0, required},
    {"tmp", 0, required},
    {"tres-bind", 0, required},
    {"tres-per-task", 0, required},  // GPUs are refused
    {"uid", 0, required, another_user},
    {"usage", 0, none, for_people},
    {"use-min-nodes", 0, none},
    {"verbose", 'v', none},
    {"version", 'V', none, for_people},
    {"wait", 'W', none, "remove it; 'det-submit experiment wait' waits"},
    {"wait-all-nodes", 0, required},
    {"wckey", 0, required},
    {"wrap", 0, required, "set entrypoint"},
};

}  // namespace

std::span<SbatchOption const> sbatch_options() { return rows; }

}  // namespace det::config
