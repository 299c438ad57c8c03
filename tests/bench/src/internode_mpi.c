/* bench-internode-mpi: what bench-internode-rank does, by MPI_Allreduce. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double measure(int rank, int ranks, long size_bytes, int iterations) {
    int const count = (int)(size_bytes / (long)sizeof(float));
    float* values = malloc((size_t)size_bytes);
    double total = 0, mean;
    for (int i = 0; i < iterations; ++i) {
        for (int k = 0; k < count; ++k) values[k] = (float)(rank + i);
        MPI_Barrier(MPI_COMM_WORLD);
        double const begin = MPI_Wtime();
        MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        total += MPI_Wtime() - begin;
        for (int k = 0; k < count; ++k) {
            if (values[k] != (float)(ranks * (ranks - 1) / 2 + ranks * i)) MPI_Abort(MPI_COMM_WORLD, 3);
        }
    }
    free(values);
    mean = total / iterations;
    MPI_Allreduce(MPI_IN_PLACE, &mean, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return mean;
}

int main(int argc, char** argv) {
    int rank, ranks;
    long command[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (;;) {
        command[0] = command[1] = 0;
        if (rank == 0 && scanf("%ld %ld", &command[0], &command[1]) != 2) command[1] = 0;
        MPI_Bcast(command, 2, MPI_LONG, 0, MPI_COMM_WORLD);
        if (command[1] == 0) break;
        double const seconds = measure(rank, ranks, command[0], (int)command[1]);
        if (rank == 0) printf("%.9f\n", seconds), fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
