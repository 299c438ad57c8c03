/* Each rank prints its host and the number of ranks that an allreduce has counted. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, size, name_length, one = 1, sum = 0;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_processor_name(name, &name_length);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d on %s counts %d\n", rank, size, name, sum);
    MPI_Finalize();
    return 0;
}
