#include <fmt/format.h>

#include "planning.hpp"

namespace det::launch::launchers {

Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, LaunchContext context) {
    DET_TRY_ASSIGN(auto const parts, split_arguments("mpi", arguments));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(context.rendezvous));
    if (!nodes.is_chief()) return plan_waiting_node();

    std::vector<std::string> argv{
        "mpirun", "-np", std::to_string(nodes.ranks()), "--bind-to", "none",
        // srun starts the daemons inside this job, without ssh. --overlap: their step must not wait until the
        // step of this process frees its CPUs.
        "--mca", "plm", "slurm", "--mca", "plm_slurm_args", "--overlap --cpu-bind=none",
        // Slurm sends its notice to slurmstepd's direct child, which must be det-wrap-rank and not orted.
        "--mca", "orte_launch_agent", fmt::format("{} --node orted", context.wrap_rank.string())};
    argv.insert(argv.end(), parts.overrides.begin(), parts.overrides.end());
    auto const rank = worker_command(context, "OMPI_COMM_WORLD_RANK,PMI_RANK", parts.command);
    argv.insert(argv.end(), rank.begin(), rank.end());

    // mpirun takes the number of ranks per node from Slurm's tasks per node, but this step has one task on
    // each node, the launcher.
    auto& environment = context.environment;
    environment.set("SLURM_TASKS_PER_NODE", context.rendezvous.slot_counts);
    environment.set("SLURM_STEP_TASKS_PER_NODE", context.rendezvous.slot_counts);
    for (auto const* name : {"SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE"}) environment.unset(name);
    LaunchPlan plan;
    plan.waiting_nodes = nodes.all_but_chief();
    plan.processes.push_back({std::move(argv), std::move(environment)});
    return plan;
}

}  // namespace det::launch::launchers
