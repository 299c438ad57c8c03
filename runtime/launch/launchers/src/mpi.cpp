#include <fmt/format.h>

#include "arguments.hpp"
#include "ground.hpp"

namespace det::launchers {

Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, Ground ground) {
    DET_TRY_ASSIGN(auto const parts, split_arguments("mpi", arguments));
    DET_TRY_ASSIGN(auto const nodes, read_nodes(ground.rendezvous));
    if (!nodes.is_chief()) return wait_for_chief();

    std::vector<std::string> argv{
        "mpirun", "-np", std::to_string(nodes.ranks()), "--bind-to", "none",
        // By srun inside this job: no ssh is needed. A node's share of the step must not wait for ours.
        "--mca", "plm", "slurm", "--mca", "plm_slurm_args", "--overlap --cpu-bind=none",
        // Slurm gives its notice to the direct child of its daemon: that must not be Open MPI's.
        "--mca", "orte_launch_agent", fmt::format("{} --node orted", ground.wrap_rank.string())};
    argv.insert(argv.end(), parts.overrides.begin(), parts.overrides.end());
    auto const rank = watched_rank(ground, "OMPI_COMM_WORLD_RANK,PMI_RANK", parts.command);
    argv.insert(argv.end(), rank.begin(), rank.end());

    // mpirun reads how many ranks a node takes from Slurm's tasks per node, and this step has one launcher on
    // each.
    auto& environment = ground.environment;
    environment.set("SLURM_TASKS_PER_NODE", ground.rendezvous.slot_counts);
    environment.set("SLURM_STEP_TASKS_PER_NODE", ground.rendezvous.slot_counts);
    for (auto const* name : {"SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE"}) environment.unset(name);
    LaunchPlan plan;
    plan.waiting_nodes = nodes.all_but_chief();
    plan.processes.push_back({std::move(argv), std::move(environment)});
    return plan;
}

}  // namespace det::launchers
