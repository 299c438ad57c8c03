// Estimates pi by random points in a square. Each rank draws a million points.
#include <cmath>
#include <cstdio>
#include <mpi.h>
#include <random>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, size = 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::mt19937_64 generator(static_cast<unsigned long>(rank) + 1);
    std::uniform_real_distribution<double> coordinate(0, 1);
    long const points = 1'000'000;
    long inside = 0;
    for (long i = 0; i < points; ++i) {
        if (std::hypot(coordinate(generator), coordinate(generator)) < 1) ++inside;
    }
    long total = 0;
    MPI_Reduce(&inside, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        double const estimate = 4.0 * static_cast<double>(total) / static_cast<double>(points * size);
        std::printf("pi is about %.2f, by %d ranks\n", estimate, size);
    }
    MPI_Finalize();
}
