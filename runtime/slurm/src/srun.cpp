#include <det/protocol/host_list.hpp>
#include <det/slurm/srun.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace det::slurm {

std::vector<std::string> render_srun(StepRequest const& request) {
    int const tasks_per_node = request.launch == Launch::rank ? request.shape.ranks_per_node() : 1;
    std::vector<std::string> argv{
        "srun",
        fmt::format("--nodes={}", request.shape.nodes),
        fmt::format("--ntasks={}", request.shape.nodes * tasks_per_node),
        fmt::format("--ntasks-per-node={}", tasks_per_node),
        fmt::format("--cpus-per-task={}", std::max(1, request.cpus_per_node / tasks_per_node)),
        // The single task of a node must not be bound, because its ranks share all cores of the node. A rank
        // started by srun is bound to its share of the cores.
        request.launch == Launch::rank && request.binds_ranks ? "--cpu-bind=cores" : "--cpu-bind=none",
        // After the first task has ended, srun waits without limit for tasks that still write.
        "--wait=0",
        "--kill-on-bad-exit=1",
        "--export=ALL",
        // Requests of the supervisor reach the wrappers of all tasks, whatever SLURM_STDINMODE is.
        "--input=all",
    };
    if (request.mpi != mpi_of_slurm) argv.push_back("--mpi=" + request.mpi);
    // GPUs are numbered socket by socket. Slurm's default gives rank 1 to the second socket, far from GPU 1.
    if (request.launch == Launch::rank) argv.push_back("--distribution=*:block");
    if (!request.name.empty()) argv.push_back("--job-name=" + request.name);
    if (!request.hosts.empty()) argv.push_back("--nodelist=" + request.hosts);
    if (!request.share) {
        // If the slurmstepd of an earlier step has died, Slurm counts that step's CPUs as used until the job
        // ends, and would not start this step without --overlap.
        argv.push_back("--overlap");
    } else {
        argv.push_back("--exact");
        if (request.share->memory_mib > 0)
            argv.push_back(fmt::format("--mem={}M", request.share->memory_mib));
    }
    if (request.shape.slot_type != SlotType::cpu && request.has_gres) {
        argv.push_back(fmt::format("--gres=gpu:{}", request.shape.slots_per_node));
        // All ranks of a node see all GPUs of the step there, because peer-to-peer copies need that.
        argv.push_back("--gpu-bind=none");
    }
    argv.insert(argv.end(), request.options.begin(), request.options.end());
    argv.push_back("--");
    argv.insert(argv.end(), request.command.begin(), request.command.end());
    return argv;
}

std::vector<std::string> render_srun(CommandOnNodes const& request) {
    std::vector<std::string> argv{"srun", "--overlap", fmt::format("--nodes={}", request.nodes.size()),
                                  fmt::format("--ntasks={}", request.nodes.size()), "--ntasks-per-node=1",
                                  fmt::format("--nodelist={}", compress_host_list(request.nodes)),
                                  fmt::format("--cpus-per-task={}", request.cpus), "--mpi=none",
                                  "--export=ALL",
                                  // A single INT ends the step.
                                  "--quit-on-interrupt"};
    if (!request.directory.empty()) argv.push_back("--chdir=" + request.directory);
    if (!request.has_input) argv.push_back("--input=none");
    if (request.gpus > 0) {
        argv.push_back(fmt::format("--gres=gpu:{}", request.gpus));
        argv.push_back("--gpu-bind=none");
    }
    argv.insert(argv.end(), request.options.begin(), request.options.end());
    argv.push_back("--");
    argv.insert(argv.end(), request.command.begin(), request.command.end());
    return argv;
}

std::vector<std::string> render_srun(CommandInJob const& request) {
    std::vector<std::string> argv{
        "srun",        fmt::format("--jobid={}", request.job), "--overlap",  "--nodes=1",
        "--ntasks=1",  "--nodelist=" + request.node,           "--mpi=none", "--chdir=/",
        "--export=ALL"};
    if (request.gpus > 0) {
        argv.push_back(fmt::format("--gres=gpu:{}", request.gpus));
        argv.push_back("--gpu-bind=none");
    }
    if (request.has_terminal) argv.push_back("--pty");
    argv.push_back("--");
    argv.insert(argv.end(), request.command.begin(), request.command.end());
    return argv;
}

std::vector<std::string> required_slurm_commands() {
    return {"srun", "scontrol", "scancel", "squeue", "sbatch"};
}

}  // namespace det::slurm
