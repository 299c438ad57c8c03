#include "dialect.hpp"

#include <algorithm>

namespace det::core {
namespace {

constexpr Dialect dialects[] = {
    // Under mpirun a batch job's RANK, if there is one, is that of the launcher. srun --mpi=pmix sets none of
    // its variables, so that a RANK beside them belongs to somebody else.
    {.marker = "OMPI_COMM_WORLD_RANK",
     .rank = "OMPI_COMM_WORLD_RANK",
     .size = "OMPI_COMM_WORLD_SIZE",
     .local_rank = "OMPI_COMM_WORLD_LOCAL_RANK",
     .local_size = "OMPI_COMM_WORLD_LOCAL_SIZE",
     .job = "PMIX_NAMESPACE",
     .numbers_nodes = false},
    // The mpirun of MPICH and Intel MPI. srun --mpi=pmi2 sets PMI_RANK too, and neither of the others.
    {.marker = "MPI_LOCALNRANKS",
     .rank = "PMI_RANK",
     .size = "PMI_SIZE",
     .local_rank = "MPI_LOCALRANKID",
     .local_size = "MPI_LOCALNRANKS",
     .numbers_nodes = false},
    // horovodrun without MPI. It counts nodes that have a rank of this local rank: fewer where they differ.
    // By ssh it starts each rank by itself.
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
    // deepspeed; and ranks of srun, which have both.
    {.marker = "LOCAL_SIZE",
     .rank = "RANK",
     .size = "WORLD_SIZE",
     .local_rank = "LOCAL_RANK",
     .local_size = "LOCAL_SIZE",
     .cross_rank = "CROSS_RANK",
     .cross_size = "CROSS_SIZE",
     .job = "MASTER_PORT"},
    // Others that speak as torchrun does.
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

Dialect const* find_dialect(Environment const& environment) {
    auto const* const found = std::ranges::find_if(dialects, [&](Dialect const& each) {
        return environment.find(each.marker) && environment.find(each.rank);
    });
    return found == std::end(dialects) ? nullptr : found;
}

}  // namespace det::core
