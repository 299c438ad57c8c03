#include "sbatch_options.hpp"

namespace det::config {
// Named, because its names are those of the table of sbatch too.
namespace srun_table {
namespace {

constexpr auto none = SbatchValue::none;
constexpr auto optional = SbatchValue::optional;
constexpr auto required = SbatchValue::required;

// Hints for refused options.
constexpr std::string_view of_the_job = "it belongs to the job: set it in slurm.sbatch_args";
constexpr std::string_view pool = "it belongs to the job: set resources.resource_pool";
constexpr std::string_view tasks =
    "set resources.slots_per_trial; the step's nodes and tasks follow from it and from slurm.slots_per_node";
constexpr std::string_view gpus =
    "remove it: the step gets all GPUs of the trial, and every rank of a node sees them";
constexpr std::string_view binding = "set slurm.bind: auto, none, cores, numa or a map";
constexpr std::string_view share =
    "remove it: the step gets the job's CPUs and memory; slurm.sbatch_args asks for them";
constexpr std::string_view output = "remove it; 'det-submit trial logs' shows what the ranks print";
constexpr std::string_view ends =
    "remove it: the supervisor of the trial decides what follows the end of a rank";
constexpr std::string_view variables = "set environment.environment_variables";
constexpr std::string_view for_people = "remove it; in a shell, run 'srun --help'";
constexpr std::string_view in_place = "remove it: the step runs in the job of the trial";

constexpr SbatchOption srun_rows[] = {
    {"accel-bind", 0, required},
    {"account", 'A', required, of_the_job},
    {"acctg-freq", 0, required},
    {"async", 0, none, ends},
    {"bb", 0, required, of_the_job},
    {"bbf", 0, required, of_the_job},
    {"bcast", 0, optional, "remove it: the wrapper of the ranks is installed on the nodes"},
    {"bcast-exclude", 0, required},
    {"begin", 'b', required, of_the_job},
    {"chdir", 'D', required,
     "give the directory of the code to 'det-submit experiment create CONFIG CONTEXT': it is the working "
     "directory"},
    {"cluster-constraint", 0, required, of_the_job},
    {"clusters", 'M', required, in_place},
    {"comment", 0, required},
    {"compress", 0, optional},
    {"constraint", 'C', required, of_the_job},
    {"container", 0, required, "set environment.image"},
    {"contiguous", 0, none, of_the_job},
    {"core-spec", 'S', required, of_the_job},
    {"cores-per-socket", 0, required},
    {"cpu-bind", 0, required, binding},
    {"cpu-freq", 0, required},
    {"cpus-per-gpu", 0, required, share},
    {"cpus-per-task", 'c', required, share},
    {"deadline", 0, required, of_the_job},
    {"delay-boot", 0, required, of_the_job},
    {"dependency", 'd', required, of_the_job},
    {"disable-status", 'X', none},
    {"distribution", 'm', required, binding},
    {"epilog", 0, required},
    {"error", 'e', required, output},
    {"exact", 0, none, share},
    {"exclude", 'x', required, of_the_job},
    {"exclusive", 0, optional, share},
    {"export", 0, required, variables},
    {"export-file", 0, required, variables},
    {"external-launcher", 0, none, tasks},
    {"extra", 0, required},
    {"extra-node-info", 'B', required},
    {"gpu-bind", 0, required, gpus},
    {"gpu-freq", 0, required},
    {"gpus", 'G', required, gpus},
    {"gpus-per-node", 0, required, gpus},
    {"gpus-per-socket", 0, required, gpus},
    {"gpus-per-task", 0, required, gpus},
    {"gres", 0, required, gpus},
    {"gres-flags", 0, required},
    {"help", 'h', none, for_people},
    {"hint", 0, required, binding},
    {"hold", 'H', none, of_the_job},
    {"immediate", 'I', optional, in_place},
    {"input", 'i', required, "remove it: the supervisor of the trial writes to the standard input of srun"},
    {"interactive", 0, none, in_place},
    {"jobid", 0, required, in_place},
    {"job-name", 'J', required, "remove it: the step has the name of the run"},
    {"kill-on-bad-exit", 'K', optional, ends},
    {"label", 'l', none, output},
    {"licenses", 'L', required, of_the_job},
    {"mail-type", 0, required, of_the_job},
    {"mail-user", 0, required, of_the_job},
    {"mcs-label", 0, required, of_the_job},
    {"mem", 0, required, share},
    {"mem-bind", 0, required},
    {"mem-per-cpu", 0, required, share},
    {"mem-per-gpu", 0, required, share},
    {"mincpus", 0, required, of_the_job},
    {"mpi", 0, required, "set slurm.mpi"},
    {"msg-timeout", 0, required},
    {"multi-prog", 0, none, "set entrypoint"},
    {"network", 0, required},
    {"nice", 0, optional, of_the_job},
    {"no-allocate", 'Z', none, in_place},
    {"no-kill", 'k', optional, ends},
    {"nodefile", 0, required, tasks},
    {"nodelist", 'w', required, tasks},
    {"nodes", 'N', required, tasks},
    {"ntasks", 'n', required, tasks},
    {"ntasks-per-core", 0, required, tasks},
    {"ntasks-per-gpu", 0, required, tasks},
    {"ntasks-per-node", 0, required, tasks},
    {"ntasks-per-socket", 0, required, tasks},
    {"ntasks-per-tres", 0, required, tasks},
    {"oom-kill-step", 0, optional},
    {"open-mode", 0, required, output},
    {"output", 'o', required, output},
    {"overcommit", 'O', none},
    {"overlap", 0, none, share},
    {"oversubscribe", 's', none, share},
    {"partition", 'p', required, pool},
    {"power", 0, required},
    {"prefer", 0, required, of_the_job},
    {"preserve-env", 'E', none, tasks},
    {"priority", 0, required, of_the_job},
    {"profile", 0, required},
    {"prolog", 0, required},
    {"propagate", 0, optional},
    {"pty", 0, optional, "remove it; 'det-submit trial shell' opens a terminal on a node"},
    {"qos", 'q', required, of_the_job},
    {"quiet", 'Q', none},
    {"quit-on-interrupt", 0, none, ends},
    {"reboot", 0, none, of_the_job},
    {"relative", 'r', required, tasks},
    {"reservation", 0, required, of_the_job},
    {"resv-ports", 0, optional},
    {"segment", 0, required, of_the_job},
    {"send-libs", 0, optional},
    {"signal", 0, required, "use 'slurm: {forward_signals: [USR1]}': a trial is told in time"},
    {"slurmd-debug", 0, required},
    {"sockets-per-node", 0, required},
    {"spread-job", 0, none, of_the_job},
    {"stepmgr", 0, none, of_the_job},
    {"switches", 0, required, of_the_job},
    {"task-epilog", 0, required},
    {"task-prolog", 0, required},
    {"tasks-per-node", 0, required, tasks},
    {"test-only", 0, none, in_place},
    {"thread-spec", 0, required, of_the_job},
    {"threads", 'T', required},
    {"threads-per-core", 0, required},
    {"time", 't', required, "a step has the time of its job: set it in slurm.sbatch_args"},
    {"time-min", 0, required, of_the_job},
    {"tmp", 0, required, of_the_job},
    {"tres-bind", 0, required, gpus},
    {"tres-per-task", 0, required, gpus},
    {"unbuffered", 'u', none},
    {"usage", 0, none, for_people},
    {"use-min-nodes", 0, none, of_the_job},
    {"verbose", 'v', none},
    {"version", 'V', none, for_people},
    {"wait", 'W', required, ends},
    {"wait-for-children", 0, none, ends},
    {"wckey", 0, required, of_the_job},
    {"whole", 0, none, share},
    {"x11", 0, optional},
};

}  // namespace
}  // namespace srun_table

std::span<SbatchOption const> srun_options() { return srun_table::srun_rows; }

}  // namespace det::config
