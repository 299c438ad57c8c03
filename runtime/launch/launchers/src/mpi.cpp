#include <det/launchers/mpi.hpp>
#include <det/protocol/host_list.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>

namespace det::launchers {

Result<LaunchPlan> plan_mpi(std::vector<std::string> const& arguments, RendezvousInfo const& rendezvous,
                            Environment environment, std::filesystem::path const& wrap_rank) {
    auto const separator = std::find(arguments.begin(), arguments.end(), "--");
    auto const command = separator == arguments.end() ? arguments.begin() : separator + 1;
    if (command == arguments.end()) {
        return Error{codes::usage, "det-launch mpi needs a command",
                     "det-launch mpi [MPIRUN_OPTION... --] CMD..."};
    }
    if (rendezvous.container_rank != 0) return LaunchPlan{};
    DET_TRY_ASSIGN(auto const slots, expand_counts(rendezvous.slot_counts));
    int const ranks = std::accumulate(slots.begin(), slots.end(), 0);

    LaunchPlan plan;
    plan.argv = {
        "mpirun", "-np", std::to_string(ranks), "--bind-to", "none",
        // By srun inside this job: no ssh is needed. A node's share of the step must not wait for ours.
        "--mca", "plm", "slurm", "--mca", "plm_slurm_args", "--overlap --cpu-bind=none",
        // Slurm gives its notice to the direct child of its daemon: that must not be Open MPI's.
        "--mca", "orte_launch_agent", fmt::format("{} --node orted", wrap_rank.string())};
    plan.argv.insert(plan.argv.end(), arguments.begin(),
                     separator == arguments.end() ? arguments.begin() : separator);
    plan.argv.insert(plan.argv.end(), {wrap_rank, "OMPI_COMM_WORLD_RANK,PMI_RANK"});
    plan.argv.insert(plan.argv.end(), command, arguments.end());

    // mpirun reads how many ranks a node takes from Slurm's tasks per node, and this step has one launcher on
    // each.
    environment.set("SLURM_TASKS_PER_NODE", rendezvous.slot_counts);
    environment.set("SLURM_STEP_TASKS_PER_NODE", rendezvous.slot_counts);
    for (auto const* name : {"SLURM_CPUS_PER_TASK", "SLURM_NTASKS_PER_NODE"}) environment.unset(name);
    plan.environment = std::move(environment);
    return plan;
}

}  // namespace det::launchers
