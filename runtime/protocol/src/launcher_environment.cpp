#include <det/protocol/launcher_environment.hpp>

#include <algorithm>

namespace det {
namespace {

constexpr LauncherEnvironment launcher_environments[] = {
    // Open MPI's mpirun comes first: a RANK that its processes inherit is that of the task which runs mpirun.
    // srun --mpi=pmix does not set these variables.
    {.marker = "OMPI_COMM_WORLD_RANK",
     .rank = "OMPI_COMM_WORLD_RANK",
     .size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = "PMIX_NAMESPACE",
     .numbers_nodes = false},
    // mpirun of MPICH and Intel MPI. srun --mpi=pmi2 sets PMI_RANK too, but not MPI_LOCALNRANKS and
    // MPI_LOCALRANKID.
    {.marker = "MPI_LOCALNRANKS",
     .rank = "PMI_RANK",
     .size = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS",
     .numbers_nodes = false},
    // horovodrun without MPI. Its cross size counts only the nodes that have this local rank, so it is too
    // small if nodes have different numbers of ranks. It starts each rank of another node with a separate
    // ssh.
    {.marker = "HOROVOD_RANK",
     .rank = "HOROVOD_RANK",
     .size = "HOROVOD_SIZE",
     .local_rank = "HOROVOD_LOCAL_RANK",
     .local_size = "HOROVOD_LOCAL_SIZE",
     .cross_rank = "HOROVOD_CROSS_RANK",
     .cross_size = "HOROVOD_CROSS_SIZE",
     .job = "HOROVOD_GLOO_RENDEZVOUS_PORT",
     .numbers_nodes = false,
     .starts_ranks_in_steps = true},
    // torchrun
    {.marker = "TORCHELASTIC_RUN_ID",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .cross_rank = "GROUP_RANK",
     .cross_size = "GROUP_WORLD_SIZE",
     .job = "MASTER_PORT"},
    // deepspeed, and ranks that srun starts with our plugin or wrapper: they set LOCAL_SIZE in addition to
    // RANK.
    {.marker = "LOCAL_SIZE",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_SIZE",
     .cross_rank = "CROSS_RANK",
     .cross_size = "CROSS_SIZE",
     .job = "MASTER_PORT"},
    // Other launchers with the variables of torchrun.
    {.marker = "RANK",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_WORLD_SIZE",
     .cross_rank = "GROUP_RANK",
     .cross_size = "GROUP_WORLD_SIZE",
     .job = "MASTER_PORT"},
};

}  // namespace

LauncherEnvironment const* find_launcher_environment(VariableLookup const& lookup) {
    auto const* const found = std::ranges::find_if(
        launcher_environments,
        [&](LauncherEnvironment const& each) { return lookup(each.marker) && lookup(each.rank); });
    return found == std::end(launcher_environments) ? nullptr : found;
}

std::optional<std::string> find_rank(VariableLookup const& lookup) {
    auto const* const launcher = find_launcher_environment(lookup);
    return launcher != nullptr ? lookup(launcher->rank) : std::nullopt;
}

}  // namespace det
